// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/launch_files.h"

#include <unistd.h>

#include <string>
#include <system_error>
#include <utility>

#include "trivet/config/digest.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostCopied = std::uint64_t{1} << 30;

std::string digest_of(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored) || fs::file_size(file, ignored) > kMostCopied ||
      ::access(file.c_str(), R_OK) != 0) {
    return {};
  }
  return digest(read_text_file(file, kMostCopied));
}

// Users who may read the file may execute it.
void make_executable(const fs::path& file) {
  const auto readable = static_cast<unsigned>(fs::status(file).permissions()) & 0444u;
  fs::permissions(file, static_cast<fs::perms>(readable >> 2), fs::perm_options::add);
}

// Creates the copy atomically: jobs of another launch may be reading it. Only one launch at a time
// copies files in an experiment.
void make_copy(const LaunchFile& file, const fs::path& to) {
  const std::string text = read_text_file(file.original, kMostCopied);
  if (digest(text) != file.digest) {
    throw RunError("cannot copy " + file.original.string() + ": it changed during the launch");
  }
  const bool is_program =
      (fs::status(file.original).permissions() & fs::perms::owner_exec) != fs::perms::none;
  make_directories(to.parent_path());
  fs::path part = to;
  part += ".tmp";
  try {
    write_file(part, text, Durability::synced);
    if (is_program) make_executable(part);
    rename_path(part, to);
  } catch (...) {
    std::error_code ignored;
    fs::remove(part, ignored);
    throw;
  }
  sync_directory(to.parent_path());
}

}  // namespace

LaunchFiles::LaunchFiles(fs::path working_directory)
    : working_directory_(std::move(working_directory)) {}

LaunchFiles::LaunchFiles(fs::path working_directory, const fs::path& directory,
                         const Value& recorded)
    : working_directory_(std::move(working_directory)), directory_(directory) {
  if (!recorded.is_table()) return;
  for (const Value::Member& member : recorded.members()) {
    const fs::path copy = member.value.as_string();
    LaunchFile file{member.key, copy.parent_path().filename().string(), copy};
    files_.emplace(file.original, std::move(file));
  }
}

fs::path LaunchFiles::absolute(const fs::path& file) const {
  return (working_directory_ / file).lexically_normal();
}

fs::path LaunchFiles::content(const fs::path& file) const {
  const auto found = files_.find(absolute(file));
  const bool copied = found != files_.end() && !directory_.empty() && !found->second.copy.empty();
  return copied ? directory_ / found->second.copy : absolute(file);
}

LaunchFile LaunchFiles::take(const fs::path& file, Use use) {
  const bool copied = use == Use::copy;
  const fs::path original = absolute(file);
  auto found = files_.find(original);
  if (found == files_.end()) {
    found = files_.emplace(original, LaunchFile{original, digest_of(original), {}}).first;
  }
  LaunchFile& taken = found->second;
  // Files that an older version did not record are used in place.
  if (copied && taken.copy.empty() && !taken.digest.empty() && directory_.empty()) {
    taken.copy = fs::path("files") / taken.digest / original.filename();
  }
  // Another job may use the copy of a file that this job uses in place.
  return copied ? taken : LaunchFile{original, taken.digest, {}};
}

void LaunchFiles::copy_into(const fs::path& directory) const {
  for (const auto& entry : files_) {
    const LaunchFile& file = entry.second;
    std::error_code ignored;
    if (file.copy.empty() || fs::exists(directory / file.copy, ignored)) continue;
    make_copy(file, directory / file.copy);
  }
}

Value LaunchFiles::to_value() const {
  Value table = Value::table();
  for (const auto& [original, file] : files_) {
    if (!file.copy.empty()) table.set(original.string(), file.copy.string());
  }
  return table;
}

}  // namespace trivet
