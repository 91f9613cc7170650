// SPDX-License-Identifier: Apache-2.0
// CSV text as a table: RFC 4180 text is read, other text is refused with its location.
#include <sys/stat.h>

#include <filesystem>
#include <random>

#include <catch2/catch.hpp>

#include "plugins/data/csv_files.h"

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

namespace {

Cells read(const std::string& text) {
  return cells_of(CsvFile(text).input());
}

std::string complaint(const std::string& text) {
  return complaint_about(CsvFile(text));
}

// As RFC 4180 writes a cell that may hold anything.
std::string quoted_cell(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

TEST_CASE("cells in quotes may hold delimiters, line ends and doubled quotes") {
  const Cells want = {{"1", "a,b"}, {"2", "say \"hi\""}, {"3", "two\nlines"}, {"4", ""}};
  CHECK(read("n,text\n1,\"a,b\"\n2,\"say \"\"hi\"\"\"\n3,\"two\nlines\"\n4,\"\"\n") == want);
  CHECK(read("n,text\n\"1\",\"\"\"\"\n") == Cells{{"1", "\""}});
}

TEST_CASE("lines end with LF or CRLF, the last one need not end, empty ones are skipped") {
  const Cells want = {{"1", "x"}, {"2", ""}};
  CHECK(read("a,b\n1,x\n2,\n") == want);
  CHECK(read("a,b\r\n1,x\r\n2,\r\n") == want);
  CHECK(read("a,b\n1,x\n2,") == want);
  CHECK(read("\n\na,b\n\r\n1,x\n\n2,\n\n\n") == want);
}

TEST_CASE("spaces belong to cells unless they are trimmed") {
  CsvFile file("a, b\n 1 ,x y \n\"2\" , \" z \"\n");
  CHECK_THAT(complaint_about(file), Contains("unexpected text after the closing quote"));
  file.config.trim = true;
  CHECK(file.input().columns() == std::vector<std::string>{"a", "b"});
  CHECK(cells_of(file.input()) == Cells{{"1", "x y"}, {"2", " z "}});
  CHECK(read("a,b\n 1 ,x \n") == Cells{{" 1 ", "x "}});
}

TEST_CASE("the config can select semicolons, tabs and bars as delimiters") {
  for (const char delimiter : {';', '\t', '|'}) {
    CsvFile file(std::string("a") + delimiter + "b\n1,5" + delimiter + "\n");
    file.config.delimiter = std::string(1, delimiter);
    file.config.trim = true;  // a tab as the delimiter is not trimmed
    CHECK(cells_of(file.input()) == Cells{{"1,5", ""}});
  }
}

TEST_CASE("a row with too few or too many cells is refused by line, row and column") {
  CHECK_THAT(complaint("a,b,c\n1,2,3\n\n4,5\n"),
             Contains("table.csv:4: row 2 has 2 cells, the table 3 columns") &&
                 Contains("no cell for column 'c'"));
  CHECK_THAT(complaint("a,b\n1,2\n3,4,5\n"),
             Contains("table.csv:3: row 2 has 3 cells") && Contains("the last column is 'b'") &&
                 Contains("then '5'") && Contains("must be in quotes"));
  CHECK_THAT(complaint("a,b\n1,\"x\ny\"\n3\n"), Contains("table.csv:4: row 2 has 1 cell,"));
}

TEST_CASE("quotes that do not match are refused where they open") {
  CHECK_THAT(complaint("a,b\n1,2\n3,\"cut off\n4,5\n"),
             Contains("table.csv:3: the quote that opens a cell here is never closed"));
  CHECK_THAT(complaint("a,b\n1,\"x\"y\n"),
             Contains("table.csv:2: unexpected text after the closing") && Contains("doubled"));
  CHECK_THAT(complaint("a,b\n1,5\" pipe\n"),
             Contains("table.csv:2: a quote inside a cell") && Contains("\"5\"\" pipe\""));
  CHECK_THAT(complaint("a,b\r1,2\r"), Contains("a carriage return without a line feed"));
}

TEST_CASE("text that is not UTF-8 is refused with its line, a byte order mark is skipped") {
  CHECK(read("\xEF\xBB\xBF"
             "a,b\n1,\xC3\xA9\n") == Cells{{"1", "\xC3\xA9"}});
  CHECK_THAT(complaint("a,b\n1,caf\xE9\n"),
             Contains("table.csv:2: the byte 0xE9 is not UTF-8") && Contains("CSV UTF-8"));
  CHECK_THAT(complaint(std::string("a,b\n1,2\n3,\0\n", 12)), Contains("table.csv:3: a zero byte"));
  CHECK_THAT(complaint(std::string("\xFF\xFE"
                                   "a\0",
                                   4)),
             Contains("is UTF-16"));
  CHECK_THAT(complaint("\xEF\xBB\xBF\xEF\xBB\xBF"
                       "a,b\n1,2\n"),
             Contains("table.csv: starts with two byte order marks"));
}

TEST_CASE("a column is named by its header, its number, or the config") {
  CsvFile file("a,,c\n1,2,3\n");
  CHECK(file.input().columns() == std::vector<std::string>{"a", "column_2", "c"});
  file.config.column_names = {"x", "y", "z"};
  CHECK(file.input().columns() == std::vector<std::string>{"x", "y", "z"});
  CHECK(file.input().rows() == 1);
  file.config.header = false;
  CHECK(file.input().rows() == 2);
  CHECK(cells_of(file.input())[0] == std::vector<std::string>{"a", "", "c"});
  file.config.column_names.clear();
  CHECK(file.input().columns()[2] == "column_3");
  file.config.column_names = {"x"};
  CHECK_THAT(complaint_about(file), Contains("column_names has 1 name, the table 3 columns"));
}

TEST_CASE("lines before the header can be skipped, with any contents") {
  CsvFile file("made on \"Monday\nno,table,here\na,b\n1,2\n");
  file.config.skip_lines = 2;
  CHECK(cells_of(file.input()) == Cells{{"1", "2"}});
  file.config.skip_lines = 9;
  CHECK_THAT(complaint_about(file), Contains("the file has no rows") && Contains("skip_lines"));
}

TEST_CASE("two columns of one name are refused, empty names included") {
  CHECK_THAT(complaint("a,b,a\n1,2,3\n"),
             Contains("table.csv:1: columns 1 and 3 are both named 'a'") && Contains("rename"));
  CHECK_THAT(complaint("column_2,\n1,2\n"), Contains("columns 1 and 2 are both named 'column_2'"));
}

TEST_CASE("a missing file and a file without rows are errors") {
  CHECK_THAT(complaint(""), Contains("the file is empty"));
  CHECK_THAT(complaint("\n\n"), Contains(": the file has no rows (is skip_lines right?)"));
  CHECK_THAT(complaint("a,b\n"), Contains("no rows below the header"));
  CsvFile file("a\n1\n");
  file.config.file = (file.folder() / "missing.csv").string();
  CHECK_THAT(complaint_about(file), Contains("missing.csv: cannot open: No such file"));
  file.config.file = file.folder().string();
  CHECK_THAT(complaint_about(file), Contains("a directory, not a file"));
}

TEST_CASE("an unreadable file is an error with the reason") {
  CsvFile file("a\n1\n");
  const std::filesystem::path loop = file.folder() / "loop.csv", pipe = file.folder() / "pipe.csv";
  std::filesystem::create_symlink(loop, loop);
  file.config.file = loop.string();
  CHECK_THAT(complaint_about(file), Contains("loop.csv: cannot open: Too many levels"));
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  file.config.file = pipe.string();
  CHECK_THAT(complaint_about(file), Contains("pipe.csv: not a regular file"));
}

TEST_CASE("a line of 100 MB is refused, and so is a file above the limit", "[slow]") {
  const std::string long_line(100 << 20, 'x');
  CHECK_THAT(complaint("a,b\n1,2\n" + long_line), Contains("table.csv:3: the row that starts here "
                                                           "is longer than 16 MiB"));
  CHECK_THAT(complaint("a\n\"" + long_line), Contains("table.csv:2: the row that starts here"));
  CsvFile file("a\n1\n");
  file.config.limit = 3;
  CHECK_THAT(complaint_about(file), Contains("has 4 bytes, more than limit = 3"));
}

TEST_CASE("cells with a marker are missing, and rows can be left out for it") {
  CsvFile file("a,b\nNA,1\n2,\n\"\",3\nnull,4\nNone,5\n");
  const auto missing = [&] {
    std::string marks;
    file.input().scan([&](const TableRow& row) {
      for (const TableCell& cell : row.cells) marks += cell.missing ? 'x' : '.';
    });
    return marks;
  };
  CHECK(missing() == "x..xx.x...");
  file.config.missing = {"None"};
  CHECK(missing() == "........x.");
  file.config.missing = {"NA", ""};
  file.config.drop_missing = {"a"};
  CHECK(cells_of(file.input()) == Cells{{"2", ""}, {"null", "4"}, {"None", "5"}});
  file.config.drop_missing = {"a", "bb"};
  CHECK_THAT(complaint_about(file), Contains("no column 'bb'") && Contains("'b'"));
}

TEST_CASE("rows keep their line and number when others are left out") {
  CsvFile file("a,b\n\"x\ny\",1\nNA,2\n\nz,3\n");
  file.config.drop_missing = {"a"};
  std::vector<std::pair<std::int64_t, std::int64_t>> locations;
  file.input().scan([&](const TableRow& row) { locations.emplace_back(row.line, row.number); });
  CHECK(locations == std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 1}, {6, 3}});
}

TEST_CASE("numbers are decimal, finite, and written with the configured mark") {
  const auto number = [](std::string text, char mark) {
    const std::vector<TableCell> cells = {{text, false}};
    return TableRow{cells, nullptr, 1, 1, mark}.number_in(0);
  };
  CHECK(number("1.5", '.') == 1.5);
  CHECK(number(" -2e-3\t", '.') == -0.002);
  CHECK(number("+7", '.') == 7.0);
  CHECK(number(".5", '.') == 0.5);
  for (const char* text : {"", " ", "1,5", "1e999", "-1e999", "nan", "inf", "-Infinity", "0x10",
                           "1_0", "1 000", "12a", "+-1", "++1", "-+1", "1.5.", "$5", "5%", "--1"}) {
    INFO(text);
    CHECK_FALSE(number(text, '.').has_value());
  }
  CHECK(number("1,5", ',') == 1.5);
  CHECK(number("-3", ',') == -3.0);
  CHECK_FALSE(number("1.234,5", ',').has_value());
  CHECK_FALSE(number("1.234", ',').has_value());
}

TEST_CASE("cells survive a round trip through RFC 4180 text") {
  std::mt19937_64 bits(3);
  const std::string letters = "a,;\"\r\n\t \xC3\xA9";
  for (int round = 0; round < 200; ++round) {
    Cells cells;
    std::string text = "x,y,z\r\n";
    for (std::size_t row = 0; row < 1 + bits() % 4; ++row) {
      cells.emplace_back();
      for (int column = 0; column < 3; ++column) {
        std::string cell;
        for (std::size_t i = bits() % 6; i > 0; --i) cell += letters[bits() % 8];
        if (bits() % 4 == 0) cell += "\xC3\xA9";
        text += (column > 0 ? "," : "") + quoted_cell(cell);
        cells.back().push_back(std::move(cell));
      }
      text += "\r\n";
    }
    INFO(text);
    REQUIRE(read(text) == cells);
  }
}

TEST_CASE("any bytes parse to rows or an InputError") {
  std::mt19937_64 bits(4);
  const std::string letters("a1,;\"\r\n\t \0\xC3\xA9\xFF\xEF\xBB\xBF", 16);
  int tables = 0, errors = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string text = round % 2 == 0 ? "a,b\n" : "";
    // Few kinds of bytes in most files, so that some of them are tables.
    const std::size_t kinds = 3 + bits() % (round % 8 == 0 ? 14 : 5);
    for (std::size_t i = bits() % 24; i > 0; --i) text += letters[bits() % kinds];
    CsvFile file(text);
    file.config.trim = round % 3 == 0;
    (complaint_about(file).empty() ? tables : errors) += 1;
  }
  CHECK(tables > 50);
  CHECK(errors > 100);
}
