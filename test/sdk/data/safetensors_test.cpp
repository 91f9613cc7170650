// SPDX-License-Identifier: Apache-2.0
// safetensors files: written files are read back by a reader made from the published layout alone
// (huggingface/safetensors, README "Format"), and the reader refuses damaged and hostile files.
#include "trivet/data/safetensors.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/shell.h"
#include "trivet/error.h"

namespace fs = std::filesystem;
using trivet::DType;
using trivet::SafetensorsEntry;
using trivet::SafetensorsFile;
using trivet::Shape;
using trivet::test::TempDir;

namespace {

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void put(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string little_endian(std::uint64_t number) {
  std::string text(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) text[i] = static_cast<char>(number >> (8 * i) & 0xff);
  return text;
}

// A file with any header and data.
std::string file_of(const std::string& header, const std::string& data) {
  return little_endian(header.size()) + header + data;
}

std::string entry_json(const std::string& name, const std::string& dtype, const std::string& shape,
                       const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

// The error message of opening the file; empty without one.
std::string complaint(const fs::path& path) {
  try {
    SafetensorsFile file(path);
    return "";
  } catch (const trivet::Error& error) {
    return error.what();
  }
}

std::string complaint_about(const std::string& bytes) {
  TempDir dir;
  put(dir.path() / "f.safetensors", bytes);
  const std::string text = complaint(dir.path() / "f.safetensors");
  if (!text.empty()) CHECK_THAT(text, Catch::Contains("f.safetensors"));
  return text;
}

template <class T>
std::span<const std::byte> raw(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

struct Example {
  std::vector<float> weights = {1.5F, -2.0F, 0.0F, 3.25F, 1e-30F, 7.0F};
  std::vector<std::int32_t> steps = {-1, 2147483647};
  std::vector<std::uint8_t> bits = {0, 1, 255};
  std::vector<float> scalar = {42.0F};
  std::vector<SafetensorsEntry> entries() const {
    return {{"layer/w", DType::f32, Shape{2, 3}, raw(weights)},
            {"bits", DType::u8, Shape{3}, raw(bits)},
            {"none", DType::f32, Shape{0, 5}, {}},
            {"größe \"x\"", DType::f32, Shape{}, raw(scalar)},
            {"steps", DType::i32, Shape{2}, raw(steps)}};
  }
};

std::string message_of(const fs::path& path, const std::vector<SafetensorsEntry>& entries,
                       const std::map<std::string, std::string>& metadata = {}) {
  try {
    trivet::write_safetensors(path, entries, metadata);
    return "";
  } catch (const trivet::Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a written file reads back with names, types, shapes, values and metadata") {
  TempDir dir;
  const Example example;
  const auto entries = example.entries();
  trivet::write_safetensors(dir.path() / "a", entries, {{"format", "trivet"}, {"step", "7"}});
  const SafetensorsFile file(dir.path() / "a");
  CHECK(file.metadata() == std::map<std::string, std::string>{{"format", "trivet"}, {"step", "7"}});
  REQUIRE(file.entries().size() == entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const SafetensorsEntry* found = file.find(entries[i].name);
    REQUIRE(found != nullptr);
    CHECK(found == &file.entries()[i]);
    CHECK(found->dtype == entries[i].dtype);
    CHECK(found->shape == entries[i].shape);
    REQUIRE(found->data.size() == entries[i].data.size());
    CHECK(std::equal(found->data.begin(), found->data.end(), entries[i].data.begin()));
  }
  CHECK(file.find("layer") == nullptr);
  CHECK(file.find("__metadata__") == nullptr);
}

TEST_CASE("a reader made from the published layout alone reads our files") {
  TempDir dir;
  const Example example;
  trivet::write_safetensors(dir.path() / "a", example.entries(), {{"k", "v"}});
  const std::string bytes = bytes_of(dir.path() / "a");

  std::uint64_t size = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    size |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes.at(i))) << (8 * i);
  }
  const std::string text = bytes.substr(8, size), data = bytes.substr(8 + size);
  CHECK(text.front() == '{');
  CHECK((8 + size) % 8 == 0);
  CHECK(text.find_last_not_of(' ') == text.rfind('}'));
  const auto header = nlohmann::json::parse(text);
  CHECK(header.at("__metadata__") == nlohmann::json{{"k", "v"}});
  CHECK(header.size() == 6);

  const auto& weights = header.at("layer/w");
  CHECK(weights.at("dtype") == "F32");
  CHECK(weights.at("shape") == nlohmann::json::array({2, 3}));
  const std::size_t begin = weights.at("data_offsets").at(0);
  REQUIRE(weights.at("data_offsets").at(1) == begin + 24);
  std::vector<float> values(6);
  std::memcpy(values.data(), data.data() + begin, 24);
  CHECK(values == example.weights);
  CHECK(header.at("bits").at("dtype") == "U8");
  CHECK(header.at("steps").at("dtype") == "I32");
  CHECK(header.at("größe \"x\"").at("shape") == nlohmann::json::array());
  CHECK(header.at("none").at("shape") == nlohmann::json::array({0, 5}));

  std::uint64_t covered = 0;  // no hole, no overlap, nothing after it
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") {
      covered += entry.at("data_offsets").at(1).get<std::uint64_t>() -
                 entry.at("data_offsets").at(0).get<std::uint64_t>();
    }
  }
  CHECK(covered == data.size());
}

TEST_CASE("the bytes match the published example layout") {
  TempDir dir;
  const std::vector<std::uint8_t> values = {1, 2, 3, 4};
  trivet::write_safetensors(dir.path() / "a",
                            std::vector<SafetensorsEntry>{{"x", DType::u8, Shape{4}, raw(values)}});
  // 53 bytes of JSON and 3 blanks.
  CHECK(bytes_of(dir.path() / "a") ==
        file_of("{\"x\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}   ",
                std::string("\1\2\3\4")));
}

TEST_CASE("equal entries make equal bytes, every type has a name, no entries make no file") {
  TempDir dir;
  const Example example;
  trivet::write_safetensors(dir.path() / "a", example.entries());
  put(dir.path() / "b", "something longer that was here before" + std::string(1000, 'x'));
  trivet::write_safetensors(dir.path() / "b", example.entries());
  CHECK(bytes_of(dir.path() / "a") == bytes_of(dir.path() / "b"));

  const std::vector<std::uint8_t> four(4);
  std::vector<SafetensorsEntry> all;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::i32, DType::u8,
                            DType::boolean, DType::u32, DType::i8}) {
    const auto bytes = raw(four).first(trivet::size_of(dtype));
    all.push_back({std::string(trivet::name_of(dtype)), dtype, Shape{1}, bytes});
  }
  trivet::write_safetensors(dir.path() / "c", all);
  const SafetensorsFile types(dir.path() / "c");
  for (const SafetensorsEntry& entry : types.entries()) {
    CHECK(entry.name == trivet::name_of(entry.dtype));
  }

  trivet::write_safetensors(dir.path() / "d", {});
  CHECK(bytes_of(dir.path() / "d") == file_of("{}      ", ""));
  CHECK(SafetensorsFile(dir.path() / "d").entries().empty());
}

TEST_CASE("files of others are read: any order, blanks, unaligned data, other field order") {
  TempDir dir;
  const std::string json =
      "{ \"b\": {\"data_offsets\": [1, 5], \"shape\": [1], \"dtype\": \"I32\"}," +
      entry_json("a", "U8", "[1]", "[0,1]") + "} \n";
  put(dir.path() / "a", file_of(json, std::string("\7\1\0\0\0", 5)));
  const SafetensorsFile file(dir.path() / "a");
  REQUIRE(file.entries().size() == 2);
  CHECK(file.entries()[0].name == "a");
  CHECK(file.entries()[1].data[0] == std::byte{1});
}

TEST_CASE("a file cut anywhere is refused, and so are bytes after its end") {
  TempDir dir;
  trivet::write_safetensors(dir.path() / "a", Example().entries(), {{"k", "v"}});
  const std::string whole = bytes_of(dir.path() / "a");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO("cut at " << size);
    CHECK(!complaint_about(whole.substr(0, size)).empty());
  }
  CHECK_THAT(complaint_about(whole + "x"), Catch::Contains("1 bytes of data after the last entry"));
  CHECK(complaint_about(whole).empty());
}

TEST_CASE(
    "no change of a single byte of the header crashes the reader or gets data out of location") {
  TempDir dir;
  trivet::write_safetensors(dir.path() / "a", Example().entries(), {{"k", "v"}});
  const std::string whole = bytes_of(dir.path() / "a");
  const fs::path path = dir.path() / "b";
  const std::size_t data = whole.size() - 24 - 3 - 4 - 8;
  int opened = 0;
  for (std::size_t i = 0; i < data; ++i) {
    for (const char c : {'\0', ' ', '"', '{', '}', '[', '9', '-', 'e', '\xff'}) {
      std::string changed = whole;
      changed[i] = c;
      put(path, changed);
      if (!complaint(path).empty()) continue;
      ++opened;  // another name, or another spelling of the same: all data must be there
      const SafetensorsFile file(path);
      std::size_t bytes = 0;
      for (const SafetensorsEntry& entry : file.entries()) bytes += entry.data.size();
      CHECK(bytes == 39);
    }
  }
  CHECK(opened > 0);
}

TEST_CASE("a hostile header is refused with the entry's name") {
  const std::string eight(8, 'x');
  const auto entry = [&](const std::string& dtype, const std::string& shape,
                         const std::string& offsets) {
    return complaint_about(file_of("{" + entry_json("evil", dtype, shape, offsets) + "}", eight));
  };
  struct Case {
    std::string got, expected;
  };
  const Case cases[] = {
      {entry("F32", "[3]", "[0,8]"), "has 8 bytes where its shape [3] needs 12"},
      {entry("F64", "[1]", "[0,8]"), "element type \"F64\""},
      {entry("F32", "[2]", "[8,0]"), "ends before it begins"},
      {entry("F32", "[4]", "[0,16]"), "ends at byte 16 of 8"},
      {entry("F32", "[1]", "[4,8]"), "leaves a hole"},
      {entry("F32", "[1]", "[0,4]"), "4 bytes of data after the last entry"},
      {entry("U8", "[8]", "[0,8,9]"), "more than two data_offsets"},
      {entry("U8", "[8]", "[0]"), "does not have two data_offsets"},
      {entry("U8", "[8]", "[-1,8]"), "a negative number"},
      {entry("U8", "[8]", "[0,8.0]"), "no 64-bit integer"},
      {entry("U8", "[8]", "[0,99999999999999999999999]"), "no 64-bit integer"},
      {entry("U8", "[8]", "[18446744073709551615,8]"), "ends before it begins"},
      {entry("F32", "[1,1,1,1,1,1,2]", "[0,8]"), "more than 6 axes"},
      {entry("F32", "[4611686018427387904,4]", "[0,0]"), "a shape beyond 63 bits"},
      {entry("F32", "[0,4611686018427387904,4]", "[0,0]"), "a shape beyond 63 bits"},
      {entry("U8", "[18446744073709551615]", "[0,8]"), "an extent beyond 63 bits"},
      {entry("U8", "[[8]]", "[0,8]"), "an array where it does not belong"},
      {entry("U8", "{}", "[0,8]"), "an object where it does not belong"},
      {entry("U8", "null", "[0,8]"), "null where it does not belong"},
      {entry("U8", "true", "[0,8]"), "a boolean where it does not belong"},
      {entry("U8", "8", "[0,8]"), "a number where it does not belong"},
      {entry("U8", "\"8\"", "[0,8]"), "a text where it does not belong"},
  };
  for (const Case& tried : cases) {
    CHECK_THAT(tried.got, Catch::Contains(tried.expected));
    if (tried.expected.find("after the last") == std::string::npos) {
      CHECK_THAT(tried.got, Catch::Contains("entry \"evil\""));
    }
  }
}

TEST_CASE("entries that overlap, repeat, lack fields or have odd names are refused") {
  const std::string a = entry_json("a", "U8", "[4]", "[0,4]");
  const std::string overlap = entry_json("b", "U8", "[4]", "[2,6]");
  CHECK_THAT(complaint_about(file_of("{" + a + "," + overlap + "}", "123456")),
             Catch::Contains("\"b\" overlaps the entry before it"));
  CHECK_THAT(complaint_about(file_of("{" + a + "," + a + "}", "1234")),
             Catch::Contains("\"a\" is there twice"));
  CHECK_THAT(complaint_about(file_of("{\"a\":{\"dtype\":\"U8\",\"shape\":[4]}}", "1234")),
             Catch::Contains("\"a\" lacks data_offsets"));
  CHECK_THAT(complaint_about(file_of("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", "1234")),
             Catch::Contains("\"dtype\" twice"));
  CHECK_THAT(complaint_about(file_of("{\"a\":{\"color\":1}}", "1234")),
             Catch::Contains("unknown field \"color\""));
  CHECK_THAT(complaint_about(file_of("{\"a\":7}", "")), Catch::Contains("a number where"));
  CHECK_THAT(complaint_about(file_of("{" + entry_json("", "U8", "[4]", "[0,4]") + "}", "1234")),
             Catch::Contains("has no name"));
  CHECK_THAT(complaint_about(
                 file_of("{" + entry_json("a\\u001b[31m", "U8", "[4]", "[0,4]") + "}", "1234")),
             Catch::Contains("control character") && !Catch::Contains("\x1b"));
  CHECK_THAT(complaint_about(file_of("{\"__metadata__\":{\"k\":1}}", "")),
             Catch::Contains("a number where"));
  CHECK_THAT(complaint_about(file_of("{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", "")),
             Catch::Contains("\"k\" twice"));
}

TEST_CASE("zero bytes instead of blanks after a header are refused") {
  TempDir temp;
  const fs::path file = temp / "f.safetensors";
  put(file, file_of("{}      ", ""));
  CHECK(SafetensorsFile(file).entries().empty());
  put(file, file_of("{}" + std::string(6, '\0'), ""));
  CHECK_THAT(complaint(file), Catch::Contains("the header has a zero byte at byte 10"));
}

TEST_CASE("a file that is not a safetensors file is refused at once") {
  CHECK_THAT(complaint_about(""), Catch::Contains("0 bytes are too few"));
  CHECK_THAT(complaint_about(std::string(7, '\0')), Catch::Contains("7 bytes are too few"));
  CHECK_THAT(complaint_about(std::string(8, '\0')), Catch::Contains("not a JSON object"));
  CHECK_THAT(complaint_about(std::string(8, '\xff')),
             Catch::Contains("more than the format allows"));
  CHECK_THAT(complaint_about(little_endian(100'000'001) + "{}"),
             Catch::Contains("more than the format allows"));
  CHECK_THAT(complaint_about(little_endian(3) + "{}"), Catch::Contains("but only 2 follow"));
  CHECK_THAT(complaint_about(file_of(" {}", "")), Catch::Contains("not a JSON object"));
  CHECK_THAT(complaint_about(file_of("[]", "")), Catch::Contains("not a JSON object"));
  CHECK_THAT(complaint_about(file_of("{} {}", "")), Catch::Contains("not valid JSON"));
  CHECK_THAT(complaint_about(file_of("{\"a\xff\":1}", "")),
             Catch::Contains("not valid JSON at byte"));
  CHECK_THAT(complaint_about(file_of(std::string(100'000, '{'), "")),
             Catch::Contains("not valid JSON"));
  const std::string deep = "{\"a\":{\"shape\":" + std::string(100'000, '[');
  CHECK_THAT(complaint_about(file_of(deep, "")), Catch::Contains("does not belong"));
}

TEST_CASE("missing files, directories and pipes are refused without hanging") {
  TempDir dir;
  CHECK_THAT(complaint(dir.path() / "absent"), Catch::Contains("No such file"));
  CHECK_THAT(complaint(dir.path()), Catch::Contains("not a file"));
  REQUIRE(mkfifo((dir.path() / "pipe").c_str(), 0600) == 0);
  CHECK_THAT(complaint(dir.path() / "pipe"), Catch::Contains("not a file"));
}

TEST_CASE("invalid entries are refused before a file is made") {
  TempDir dir;
  const fs::path path = dir.path() / "a";
  const std::vector<float> one = {1.0F};
  const auto refused = [&](const std::vector<SafetensorsEntry>& entries, const std::string& text,
                           const std::map<std::string, std::string>& metadata = {}) {
    CHECK_THAT(message_of(path, entries, metadata), Catch::Contains(text));
    CHECK(!fs::exists(path));
  };
  refused({{"x", DType::f32, Shape{2}, raw(one)}}, "entry \"x\" has 4 bytes of data");
  refused({{"", DType::f32, Shape{1}, raw(one)}}, "has no name");
  refused({{"__metadata__", DType::f32, Shape{1}, raw(one)}}, "kept for metadata");
  refused({{"a\xff", DType::f32, Shape{1}, raw(one)}}, "not UTF-8");
  refused({{"x", DType::f32, Shape{1}, raw(one)}, {"x", DType::f32, Shape{1}, raw(one)}}, "twice");
  refused({}, "not UTF-8", {{"k", "\xff"}});
}

TEST_CASE("a full disk and a folder that is none are reported with the system's text") {
  const Example example;
  CHECK_THAT(message_of("/dev/full", example.entries()),
             Catch::Contains("/dev/full: cannot write: No space left on device"));
  CHECK(fs::exists("/dev/full"));
  TempDir dir;
  CHECK_THAT(message_of(dir.path() / "absent" / "a", example.entries()),
             Catch::Contains("cannot create: No such file or directory"));
  CHECK_THAT(message_of(dir.path(), example.entries()), Catch::Contains("Is a directory"));
}

TEST_CASE("a file that outgrows its limit is taken away again") {
  TempDir dir;
  const fs::path path = dir.path() / "a";
  // In a child: the limit on file sizes applies to the whole process.
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::vector<std::uint8_t> large(100'000);
    const std::string text = message_of(path, {{"x", DType::u8, Shape{100'000}, raw(large)}});
    _exit(text.find("cannot write: File too large") != std::string::npos ? 7 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
  CHECK(!fs::exists(path));
}

TEST_CASE("a read-only folder is reported") {
  TempDir dir;
  fs::permissions(dir.path(), fs::perms::owner_read | fs::perms::owner_exec);
  // In a child that is not root, since root may write anywhere.
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
    const std::string text = message_of(dir.path() / "a", Example().entries());
    _exit(text.find("cannot create: Permission denied") != std::string::npos ? 7 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
  fs::permissions(dir.path(), fs::perms::owner_all);
}
