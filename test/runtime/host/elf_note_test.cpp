// SPDX-License-Identifier: Apache-2.0
// The note reader with damaged files: it reports errors and never trusts a number in the file.
#include "host/elf_note.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <string>

#include <catch2/catch.hpp>

#include "host/manifest.h"
#include "support/plugin_folder.h"
#include "trivet/config/schema.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

using namespace trivet;

namespace {

PluginNote note_of(const std::string& bytes) {
  const UniqueFd file(memfd_create("note", MFD_CLOEXEC));
  REQUIRE(file.get() >= 0);
  REQUIRE(write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  return read_plugin_note(file.get());
}

// Reads a note like the host in a scan and for `explain`.
void use(const PluginNote& note) {
  if (!note.error.empty()) return;
  try {
    const Manifest manifest = parse_manifest(note.text);
    (void)abi_objection(manifest);
    for (const ManifestItem& item : manifest.items) {
      if (!item.schema_json.empty()) (void)schema_from_json(item.schema_json);
    }
  } catch (const Error&) {
    // Any other exception fails the test.
  }
}

std::size_t offset_of_note(const std::string& bytes) {
  const std::size_t at = bytes.find(std::string("trivet\0", 7) + '\0' + "{\"name\"");
  REQUIRE(at != std::string::npos);
  return at - sizeof(Elf64_Nhdr);
}

}  // namespace

TEST_CASE("the note of a plugin is read completely") {
  const PluginNote note = note_of(test::read_file(test::fixture("alpha")));
  CHECK(note.error.empty());
  const Manifest manifest = parse_manifest(note.text);
  CHECK(manifest.name == "alpha");
  CHECK(manifest.items.size() == 3);
  CHECK(manifest.find("schedule", "alpha/Sum") != nullptr);
  CHECK(abi_objection(manifest).empty());
}

TEST_CASE("an SDK version that is not a pair of integers is rejected, not truncated") {
  const std::string text = note_of(test::read_file(test::fixture("alpha"))).text;
  const std::size_t begin = text.find("\"sdk\":") + 6, end = text.find(']', begin) + 1;
  const auto with = [&](const std::string& sdk) {
    return text.substr(0, begin) + sdk + text.substr(end);
  };
  CHECK(parse_manifest(with("[1,0]")).sdk_major == 1);
  CHECK(parse_manifest(with("[65536,2]")).sdk_major == 65536);
  for (const char* sdk : {"[4294967297,0]", "[1,4294967296]", "[1.9,0.2]", "[1,-1]", "[1,1e30]",
                          "[1,18446744073709551617]", "[65537,0]", "[1]", "[\"1\",0]", "1", "[]"}) {
    INFO(sdk);
    CHECK_THROWS_AS(parse_manifest(with(sdk)), Error);
  }
}

TEST_CASE("the note is found through the section headers if its segment is missing") {
  std::string bytes = test::read_file(test::fixture("alpha"));
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    char* const at = bytes.data() + header.e_phoff + i * sizeof segment;
    std::memcpy(&segment, at, sizeof segment);
    if (segment.p_type == PT_NOTE) segment.p_type = PT_NULL;
    std::memcpy(at, &segment, sizeof segment);
  }
  CHECK(parse_manifest(note_of(bytes).text).name == "alpha");
}

TEST_CASE("sizes and offsets near the integer limits are handled") {
  const std::string good = test::read_file(test::fixture("alpha"));
  const std::size_t note = offset_of_note(good);
  for (const std::uint64_t value : {~0ULL, ~0ULL - 3, 1ULL << 63, 1ULL << 62, 0ULL, 1ULL}) {
    for (const std::size_t offset :
         {offsetof(Elf64_Ehdr, e_phoff), offsetof(Elf64_Ehdr, e_shoff)}) {
      std::string bytes = good;
      std::memcpy(bytes.data() + offset, &value, sizeof value);
      use(note_of(bytes));
    }
    for (const std::size_t offset : {std::size_t{0}, std::size_t{4}, std::size_t{8}}) {
      std::string bytes = good;
      const auto narrow = static_cast<std::uint32_t>(value);
      std::memcpy(bytes.data() + note + offset, &narrow, sizeof narrow);
      const PluginNote read = note_of(bytes);
      INFO(value << " at " << offset);
      CHECK(read.text.size() <= kLargestNote);
      use(read);
    }
  }
}

TEST_CASE("a file of another machine or kind is reported as such") {
  std::string bytes = test::read_file(test::fixture("alpha"));
  std::string other = bytes;
  other[EI_CLASS] = ELFCLASS32;
  CHECK_THAT(note_of(other).error, Catch::Contains("another machine"));
  other = bytes;
  const std::uint16_t executable = ET_EXEC;
  std::memcpy(other.data() + offsetof(Elf64_Ehdr, e_type), &executable, sizeof executable);
  CHECK(note_of(other).error == "an ELF file, but not a shared library");
}

TEST_CASE("damaged headers and notes are reported, never followed", "[fuzz]") {
  const std::string good = test::read_file(test::fixture("alpha"));
  const std::size_t note = offset_of_note(good);
  std::mt19937_64 random(20240811);
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  int read = 0;
  constexpr int kRounds = 3000;
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes = good;
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
      // The ELF header and the program headers, or the note.
      const bool in_note = below(2) == 0;
      const std::size_t at = in_note ? note + below(2000) : below(64 + 12 * sizeof(Elf64_Phdr));
      if (at < bytes.size()) bytes[at] = static_cast<char>(random());
    }
    if (below(8) == 0) bytes.resize(below(bytes.size()));
    const PluginNote result = note_of(bytes);
    CHECK(result.error.empty() != result.text.empty());
    use(result);
    read += result.error.empty() ? 1 : 0;
  }
  // Both outcomes must occur, or the mutations test nothing.
  CHECK(read > kRounds / 20);
  CHECK(read < kRounds * 19 / 20);
}

TEST_CASE("notes whose JSON is not a manifest are rejected with a reason") {
  const char* const texts[] = {
      "",
      "{",
      "[]",
      "{\"name\":\"x\"}",
      "{\"name\":5,\"version\":\"1\",\"sdk\":[1,0],\"abi\":{},\"items\":[]}",
      "{\"name\":\"../x\",\"version\":\"1\",\"sdk\":[1,0],\"abi\":{},\"items\":[]}",
      "{\"name\":\"x\",\"version\":\"1\",\"sdk\":[1],\"abi\":{},\"items\":[]}",
      "{\"name\":\"x\",\"version\":\"1\",\"sdk\":[1,0],\"abi\":{},\"items\":[{\"kind\":\"layer\","
      "\"key\":\"y/Stolen\"}]}",
      "{\"name\":\"x\",\"version\":\"1\",\"sdk\":[1,0],\"abi\":{},\"items\":[{\"kind\":\"layer\","
      "\"key\":\"x/\"}]}",
  };
  for (const char* text : texts) {
    INFO(text);
    CHECK_THROWS_WITH(parse_manifest(text), Catch::StartsWith("its trivet note is damaged"));
  }
  CHECK_THROWS_WITH(parse_manifest("{"), "its trivet note is damaged: it is not JSON");
}

TEST_CASE("a note with unlimited nesting is rejected, at any location") {
  const std::string start =
      "{\"name\":\"x\",\"version\":\"1\",\"sdk\":[1,0],\"abi\":{},\"items\":"
      "[{\"kind\":\"layer\",\"key\":\"x/A\",\"schema\":";
  constexpr std::size_t kDeep = 1000000;
  for (const auto& [open, close] : {std::pair("[", "]"), std::pair("{\"a\":", "}")}) {
    std::string deep;
    for (std::size_t i = 0; i < kDeep; ++i) deep += open;
    deep += "1";
    for (std::size_t i = 0; i < kDeep; ++i) deep += close;
    CHECK_THROWS_WITH(parse_manifest(start + deep + "}]}"), Catch::Contains("nested too deeply"));
    CHECK_THROWS_WITH(parse_manifest(deep), Catch::Contains("nested too deeply"));
  }
}
