// SPDX-License-Identifier: Apache-2.0
#include "tars.h"

#include <cstdio>

namespace trivet::test {

std::string tar_entry(const TarEntry& entry) {
  std::string header(512, '\0');
  const auto put = [&](std::size_t at, const std::string& text) {
    header.replace(at, text.size(), text);
  };
  char size[16];
  std::snprintf(size, sizeof size, "%011zo", entry.contents.size());
  put(0, entry.name);
  put(100, "0000644");
  put(124, entry.size.empty() ? size : entry.size);
  put(136, "00000000000");
  header[156] = entry.type;
  put(257, entry.magic);
  if (entry.magic == "ustar") put(263, "00");
  put(345, entry.prefix);
  put(148, std::string(8, ' '));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  char checksum[16];
  std::snprintf(checksum, sizeof checksum, "%06o", sum);
  put(148, checksum + std::string("\0 ", 2));
  std::string contents = entry.contents;
  contents.resize((contents.size() + 511) / 512 * 512);
  return header + contents;
}

std::string tar_end() {
  return std::string(1024, '\0');
}

std::string tar(const std::vector<TarEntry>& entries) {
  std::string all;
  for (const TarEntry& entry : entries) all += tar_entry(entry);
  return all + tar_end();
}

std::string pax_records(const std::vector<std::pair<std::string, std::string>>& records) {
  std::string all;
  for (const auto& [keyword, value] : records) {
    const std::string rest = " " + keyword + "=" + value + "\n";
    std::size_t length = rest.size();
    while (std::to_string(length).size() + rest.size() != length) ++length;
    all += std::to_string(length) + rest;
  }
  return all;
}

}  // namespace trivet::test
