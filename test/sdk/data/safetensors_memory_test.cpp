// SPDX-License-Identifier: Apache-2.0
// What a mapped safetensors file has in memory.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include <catch2/catch.hpp>

#include "support/shell.h"
#include "trivet/data/safetensors.h"

using trivet::DType;
using trivet::SafetensorsEntry;
using trivet::SafetensorsFile;
using trivet::test::TempDir;

TEST_CASE("released data leave the memory of the process, and are read again") {
  const TempDir temp;
  const std::vector<std::byte> numbers(32 << 20, std::byte{7});
  const auto entry = [&](const char* name, std::size_t size) {
    return SafetensorsEntry{
        name, DType::u8, {static_cast<std::int64_t>(size)}, std::span(numbers).first(size)};
  };
  const std::vector<SafetensorsEntry> entries{entry("odd", 5001), entry("large", numbers.size())};
  trivet::write_safetensors(temp.path() / "a.safetensors", entries);
  const SafetensorsFile file(temp.path() / "a.safetensors");
  const auto data = file.find("large")->data;
  const auto is_whole = [&] { return std::ranges::equal(data, numbers); };
  const auto resident = [] {  // of files, in pages
    std::int64_t size = 0, all = 0, shared = 0;
    std::ifstream("/proc/self/statm") >> size >> all >> shared;
    return shared;
  };
  const std::int64_t pages = static_cast<std::int64_t>(data.size()) / ::sysconf(_SC_PAGESIZE);
  CHECK(is_whole());
  const std::int64_t before = resident();
  file.release(data.subspan(3, data.size() / 2));
  CHECK(before - resident() > pages / 2 - 64);
  file.release(data);
  CHECK(before - resident() > pages - 64);
  CHECK(is_whole());
  file.release(data.first(10));  // less than a page
  file.release(data.last(0));
  file.release(numbers);  // not of the file
  CHECK(is_whole());
  CHECK(numbers.front() == std::byte{7});
  CHECK(std::ranges::equal(file.find("odd")->data, std::span(numbers).first(5001)));
}
