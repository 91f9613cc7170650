// SPDX-License-Identifier: Apache-2.0
#include "data/formats/file_list.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "trivet/error.h"
#include "trivet/os/input_file.h"

namespace trivet::data {
namespace {

void add_matches(const std::string& pattern, std::vector<std::string>& files) {
  std::error_code ignored;
  if (std::filesystem::exists(pattern, ignored)) {
    files.push_back(pattern);
    return;
  }
  struct Matches : glob_t {
    Matches() : glob_t{} {}
    ~Matches() { ::globfree(this); }
  } matches;
  const int result = ::glob(pattern.c_str(), GLOB_ERR, nullptr, &matches);
  if (result == GLOB_NOMATCH) {
    throw InputError(pattern + ": no such file",
                     {.hint = "relative names are relative to the working directory"});
  }
  if (result != 0) {
    throw InputError(pattern + (result == GLOB_NOSPACE ? ": matches too many files"
                                                       : ": cannot read one of its folders"));
  }
  files.insert(files.end(), matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
}

}  // namespace

std::vector<std::string> list_files(const std::vector<Path>& patterns) {
  std::vector<std::string> files;
  for (const Path& pattern : patterns) add_matches(pattern.text, files);
  if (files.empty()) throw InputError("files: the list is empty");
  std::sort(files.begin(), files.end());
  std::set<std::pair<dev_t, ino_t>> seen;
  std::erase_if(files, [&](const std::string& file) {
    struct stat status;
    // Keeps files that stat() cannot read: reading them reports the reason.
    return ::stat(file.c_str(), &status) == 0 && !seen.emplace(status.st_dev, status.st_ino).second;
  });
  return files;
}

std::string summary_of(const std::vector<std::string>& files) {
  if (files.size() == 1) return files[0];
  return files[0] + " and " + std::to_string(files.size() - 1) + " more";
}

namespace {

// Stores nothing, so the count also works for a file that is larger than memory when decompressed.
std::uint64_t contents_of(const std::string& file, std::uint64_t size) {
  std::uint64_t total = 0;
  try {
    InputFile input(file);
    if (input.compression() == Compression::none) return size;
    std::vector<char> piece(std::size_t{1} << 17);
    while (const std::size_t count = input.read(piece)) total += count;
  } catch (const InputError&) {
    // The reader of the file reports why it cannot be read.
  }
  return total;
}

}  // namespace

std::uint64_t bytes_of(const std::vector<std::string>& files) {
  std::uint64_t total = 0;
  for (const std::string& file : files) {
    std::error_code failed;
    const std::uintmax_t size = std::filesystem::file_size(file, failed);
    if (!failed) total += contents_of(file, size);
  }
  return total;
}

bool is_empty(const std::string& file) {
  std::error_code failed;
  return std::filesystem::is_regular_file(file, failed) &&
         std::filesystem::file_size(file, failed) == 0;
}

}  // namespace trivet::data
