// SPDX-License-Identifier: Apache-2.0
// Tar archives written byte by byte (POSIX.1-2017, pax), also wrong ones.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace trivet::test {

struct TarEntry {
  std::string name;  // 100 bytes at most
  std::string contents{};
  char type = '0';
  std::string prefix{};         // 155 bytes at most
  std::string size{};           // 12 bytes in place of the contents' number
  std::string magic = "ustar";  // with "00" behind it; "ustar  " is GNU's
};

// A header with the right checksum, then the contents in whole blocks.
std::string tar_entry(const TarEntry& entry);
// The entries, then the end of the archive.
std::string tar(const std::vector<TarEntry>& entries);
// Two zero blocks.
std::string tar_end();
// Records of a pax header.
std::string pax_records(const std::vector<std::pair<std::string, std::string>>& records);

}  // namespace trivet::test
