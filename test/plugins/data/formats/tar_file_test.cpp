// SPDX-License-Identifier: Apache-2.0
// Tar archives: those that GNU tar writes in each of its formats, every header by hand, and every
// kind of damage.
#include "data/formats/tar_file.h"

#include <catch2/catch.hpp>

#include "plugins/data/files.h"
#include "plugins/data/tars.h"

namespace tar_file_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

std::string refused(const std::string& bytes) {
  return input_error([&] { data::tar_members(bytes, "a.tar"); });
}
std::string refused_one(const TarEntry& entry) {
  return refused(tar({entry}));
}

// "name=contents;" of each member.
std::string all_of(const std::string& bytes) {
  std::string all;
  for (const data::TarMember& member : data::tar_members(bytes, "a.tar")) {
    all += member.name + "=" + bytes.substr(member.offset, member.size) + ";";
  }
  return all;
}

}  // namespace

TEST_CASE("archives of GNU tar in each format are read as it lists them", "[tar]") {
  const TempDir temp;
  const std::string deep = std::string(60, 'd') + "/" + std::string(60, 'e'),
                    longest = std::string(200, 'n');
  temp.write("in/a.txt", "alpha");
  temp.write("in/" + deep + "/b.txt", std::string(512, 'b'));
  temp.write("in/\xC3\xA4.txt", "");
  temp.write("in/long/" + longest, std::string(1000, 'c'));
  const std::string short_names = " a.txt '" + deep + "/b.txt'",
                    all_names = short_names + " long '\xC3\xA4.txt'";
  for (const std::string format : {"v7", "ustar", "oldgnu", "gnu", "pax"}) {
    CAPTURE(format);
    const bool is_short = format == "v7", has_prefix = format == "ustar";
    const std::string file = (temp / (format + ".tar")).string();
    const std::string names = is_short ? " a.txt" : has_prefix ? short_names : all_names;
    const auto made = shell("tar --format=" + format + " -C " + quoted((temp / "in").string()) +
                            " -cf " + quoted(file) + names);
    INFO(made.output);
    REQUIRE(made.exit_code == 0);
    std::string wanted = "a.txt=alpha;";
    if (!is_short) wanted += deep + "/b.txt=" + std::string(512, 'b') + ";";
    if (!is_short && !has_prefix) {
      wanted += "long/" + longest + "=" + std::string(1000, 'c') + ";\xC3\xA4.txt=;";
    }
    CHECK(all_of(read_file(file)) == wanted);
    // A folder as a whole, with "./" before each name.
    if (format == "pax" || format == "gnu") {
      REQUIRE(shell("tar --format=" + format + " -C " + quoted((temp / "in/long").string()) +
                    " -cf " + quoted(file) + " .")
                  .exit_code == 0);
      CHECK(all_of(read_file(file)) == longest + "=" + std::string(1000, 'c') + ";");
    }
  }
}

TEST_CASE("names and sizes come from the header, its prefix, or what precedes it", "[tar]") {
  CHECK(all_of(tar({{"x", "1"}, {"y", "", '7'}, {"z", "3", '\0'}})) == "x=1;y=;z=3;");
  CHECK(all_of(tar({{"x", "1", '0', "pre/fix"}})) == "pre/fix/x=1;");
  // GNU's header has other things where the prefix is.
  CHECK(all_of(tar({{"x", "1", '0', "01234567012", "", "ustar  "}})) == "x=1;");
  CHECK(all_of(tar({{"", std::string("long/name\0", 10), 'L'}, {"short", "1"}, {"next", "2"}})) ==
        "long/name=1;next=2;");
  const std::string records =
      pax_records({{"mtime", "1.5"}, {"path", "p/q"}, {"size", "3"}, {"comment", "a=b\nc"}});
  CHECK(
      all_of(tar({{"", records, 'x'}, {"short", "123", '0', "", "00000000000"}, {"next", "2"}})) ==
      "p/q=123;next=2;");
  CHECK(all_of(tar({{"", pax_records({{"path", ""}}), 'x'}, {"own", "1"}})) == "own=1;");
  CHECK(all_of(tar({{"", pax_records({{"comment", "of git"}}), 'g'}, {"x", "1"}})) == "x=1;");
  const std::string base256 = "\x80" + std::string(10, '\0') + "\x05";
  CHECK(all_of(tar({{"x", "12345", '0', "", base256}})) == "x=12345;");
  CHECK(all_of(tar({{"./folder/", "", '5'}, {"v7/", "", '\0'}, {"././a", "1"}})) == "a=1;");
  CHECK(all_of(tar_end()).empty());
  // One zero block ends an archive, and zeros may fill it up.
  CHECK(all_of(tar_entry({"x", "1"}) + std::string(512, '\0')) == "x=1;");
  CHECK(all_of(tar({{"x", "1"}}) + std::string(8192, '\0')) == "x=1;");
}

TEST_CASE("the sum of a header may be that of signed bytes", "[tar]") {
  std::string bytes = tar({{"\xC3\xA4", "1"}});
  const auto sum = std::stoul(bytes.substr(148, 6), nullptr, 8) - 512;  // two bytes above 127
  char text[16];
  std::snprintf(text, sizeof text, "%06lo", sum);
  bytes.replace(148, 6, text);
  CHECK(all_of(bytes) == "\xC3\xA4=1;");
  std::snprintf(text, sizeof text, "%06lo", sum + 1);
  bytes.replace(148, 6, text);
  CHECK_THAT(refused(bytes), Contains("a.tar: is no tar file: the checksum of its first header"));
}

TEST_CASE("links, devices and names that leave the archive are refused by name", "[tar]") {
  CHECK_THAT(refused_one({"d/x", "", '1'}),
             Contains("a.tar:d/x: is a hard link") && Contains("--hard-dereference"));
  CHECK_THAT(refused_one({"x", "", '2'}),
             Contains("a.tar:x: is a link") && Contains("--dereference"));
  for (const char type : {'3', '4', '6'}) {
    CHECK_THAT(refused_one({"x", "", type}), Contains("a.tar:x: is a device or a pipe"));
  }
  CHECK_THAT(refused_one({"x", "", 'S'}), Contains("is a sparse file") && Contains("--sparse"));
  CHECK_THAT(refused(tar({{"", pax_records({{"GNU.sparse.major", "1"}}), 'x'}, {"x", ""}})),
             Contains("a.tar: the extended header at byte 0 is of a sparse file"));
  CHECK_THAT(refused_one({"x", "", 'V'}), Contains("a.tar:x: has the type 86"));
  CHECK_THAT(refused_one({"../x", "1"}), Contains("a.tar:../x: the name leads out of the archive"));
  CHECK_THAT(refused_one({"a/../../x", "1"}), Contains("leads out of the archive"));
  CHECK_THAT(refused_one({"/etc/x", "1"}), Contains("a.tar:/etc/x: the name is absolute"));
  CHECK_THAT(refused(tar({{"", "/abs", 'L'}, {"x", "1"}})), Contains("the name is absolute"));
  CHECK_THAT(refused_one({"\xFF.jpg", "1"}), Contains("a.tar:?.jpg: the name is not UTF-8"));
  CHECK_THAT(refused_one({"", "1"}), Contains("header at byte 0 has no name"));
  CHECK_THAT(refused(tar({{"", pax_records({{"path", std::string("a\0b", 3)}}), 'x'}, {"x", ""}})),
             Contains("has a zero byte"));
  CHECK(refused_one({"..a/b..", "1"}).empty());
}

TEST_CASE("archives that are cut or damaged are refused where they are", "[tar]") {
  const std::string whole =
      tar({{"first", std::string(700, 'f')}, {"second", std::string(100, 's')}});
  const std::size_t end = whole.size() - 1024;
  for (std::size_t size = 0; size < end + 512; size += 37) {
    CAPTURE(size);
    const std::string text = refused(whole.substr(0, size));
    CHECK_THAT(text, Contains("cut off") || Contains("less than 512 bytes"));
  }
  CHECK_THAT(refused(whole.substr(0, 1000)),
             Contains("a.tar:first: is cut off: it has 700 bytes, but only 488 follow"));
  CHECK_THAT(refused(whole.substr(0, end)),
             Contains("is cut off at byte 2560, after second: it has no end of archive"));
  std::string damaged = whole;
  damaged[1536 + 3] = 'X';
  CHECK_THAT(refused(damaged),
             Contains("the checksum of the header at byte 1536, after first is wrong"));
  CHECK_THAT(refused(std::string(2048, 'a')), Contains("is no tar file"));
  CHECK_THAT(
      refused(whole + tar({{"third", "3"}})),
      Contains("data follow the end of the archive, at byte 3584") && Contains("--concatenate"));
  CHECK_THAT(refused_one({"x", "1", '0', "", "77777777777"}),
             Contains("has 8589934591 bytes, but only"));
  CHECK_THAT(refused_one({"x", "1", '0', "", "0000000z001"}), Contains("its size is no number"));
  CHECK_THAT(refused_one({"x", "1", '0', "", std::string(12, '\xFF')}),
             Contains("its size is no number"));
  const std::string most = "\x80" + std::string(3, '\0') + "\x7F" + std::string(7, '\xFF');
  CHECK_THAT(refused_one({"x", "1", '0', "", most}), Contains("bytes, but only"));
  CHECK_THAT(refused(tar({{"", "", 'x', "", "00010000001"}})), Contains("more than 2^20"));
  for (const std::string records : {"x", "5 a=b\n", "6 a=b\n7", "3 a\n", "99 a=b\n", "5 a b\n",
                                    "99999999999999999999 a=b\n", " a=b\n", "0 a=b\n", "1 \n"}) {
    CAPTURE(records);
    CHECK_THAT(refused(tar({{"", records, 'x'}, {"x", "1"}})), Contains("the extended header at"));
  }
  CHECK_THAT(refused(tar({{"", pax_records({{"size", "-1"}}), 'x'}, {"x", "1"}})),
             Contains("has a size that is no number"));
  CHECK_THAT(refused(tar({{"", pax_records({{"path", "p"}}), 'g'}, {"x", "1"}})),
             Contains("gives all members one path"));
  CHECK_THAT(refused(tar({{"", "name", 'L'}})), Contains("is cut off after an extended header"));
}

TEST_CASE("a compressed archive is decompressed up to a limit", "[tar]") {
  const TempDir temp;
  const std::string plain = tar({{"x", "contents"}});
  for (const auto& [name, bytes] :
       {std::pair("a.tar", plain), std::pair("a.tar.gz", gzip(plain))}) {
    data::TarFile file(temp.write(name, bytes).string(), plain.size());
    REQUIRE(file.members().size() == 1);
    CHECK(file.contents(file.members()[0]) == "contents");
    CHECK(file.location(file.members()[0]) == (temp / name).string() + ":x");
    CHECK(file.decompressed() == (bytes == plain ? 0 : plain.size()));
    file.close();
    CHECK(file.contents(file.members()[0]).empty());
  }
  CHECK_THAT(input_error([&] { data::TarFile((temp / "a.tar.gz").string(), plain.size() - 1); }),
             Contains("has more than limit = " + std::to_string(plain.size() - 1)));
  CHECK(input_error([&] { data::TarFile((temp / "a.tar").string(), 1); }).empty());
  CHECK_THAT(input_error([&] { data::TarFile(temp.write("e", "").string(), 1); }),
             Contains("the file is empty"));
}

}  // namespace tar_file_test
