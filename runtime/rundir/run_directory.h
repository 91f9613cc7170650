// SPDX-License-Identifier: Apache-2.0
// RunDirectory: the directory of one run: config.toml, metrics.jsonl, log.jsonl, status.json,
// summary.json, checkpoints/, and evals/N/ with the same files for each standalone evaluation. One
// process at a time holds its lock (flock of `.lock`, whose text names the process). The system
// releases the lock when the process ends. The text in the file has no effect: a copied directory
// is not locked, and no clock is used.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/os/file.h"

namespace trivet {

class RunDirectory {
 public:
  // Uses this directory and creates it if it is missing. Throws RunError with the other process if
  // one uses it.
  static RunDirectory at(std::filesystem::path path);
  // Creates a directory root/N-NAME, N one above the highest number. Safe while several processes
  // do this. Characters of `name` other than letters, digits, '.', '_' and '-' become '-'.
  static RunDirectory next(const std::filesystem::path& root, std::string_view name);
  // The same for root/N, for numbered directories of one run.
  static RunDirectory next_number(const std::filesystem::path& root);

  // Absolute: the working directory may change later.
  const std::filesystem::path& path() const { return path_; }
  // As given by the user, for messages.
  const std::filesystem::path& shown() const { return shown_; }
  std::filesystem::path file(std::string_view name) const { return path_ / name; }

  // Throws RunError if the directory was removed or replaced since this object was made: what is
  // written there now is not whole.
  void check_in_place() const;

  // Removes the directory if this object created it, and its created parent folders if they are
  // empty, unless `keep` was called. For runs that fail before they do anything.
  void remove_if_made() noexcept;
  // The directory contains files that must not be removed.
  void keep() const noexcept { made_ = false; }

 private:
  enum class Found { made, there };
  RunDirectory(std::filesystem::path path, Found found,
               std::vector<std::filesystem::path> made_above);
  static RunDirectory next_after(const std::filesystem::path& root, std::string_view behind);
  void lock();
  void remove_leftovers() const noexcept;

  std::filesystem::path shown_, path_;
  std::vector<std::filesystem::path> made_above_;  // the nearest first
  mutable bool made_ = false;
  UniqueFd lock_;
};

// The directories of a process.
struct RunLocation {
  const RunDirectory& directory;     // receives all output files
  std::filesystem::path followed{};  // the run whose checkpoints are evaluated; empty: none
};

}  // namespace trivet
