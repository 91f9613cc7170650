// SPDX-License-Identifier: Apache-2.0
// RunDirectory: where one run keeps everything: config.toml, metrics.jsonl, log.jsonl, status.json,
// summary.json, checkpoints/, and evals/N/ with the same of each evaluation that was asked for
// later. Held by one process at a time through a lock (flock of `.lock`, whose
// text names the process) that the system gives back however the process ends. The lock is of the
// file, not of the text in it: a copied directory is free, and no clock is asked.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/os/file.h"

namespace trivet {

class RunDirectory {
 public:
  // This directory, made if it is missing. Throws RunError naming the other process when one has
  // it.
  static RunDirectory at(std::filesystem::path path);
  // A new directory root/N-NAME, N one above the highest there is. Several processes may do this at
  // the same time. Characters of `name` other than letters, digits, '.', '_' and '-' become '-'.
  static RunDirectory next(const std::filesystem::path& root, std::string_view name);
  // The same of root/N, for what one run has many of.
  static RunDirectory next_number(const std::filesystem::path& root);

  // Absolute: the working directory may be another one later.
  const std::filesystem::path& path() const { return path_; }
  // As it was given, for people.
  const std::filesystem::path& shown() const { return shown_; }
  std::filesystem::path file(std::string_view name) const { return path_ / name; }

  // Takes away a directory that this object made, and the folders made for it that are empty then,
  // unless `keep` was called. For runs that fail before they do anything.
  void remove_if_made() noexcept;
  // There is something in it that nobody may take away.
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

// Where a process works.
struct RunLocation {
  const RunDirectory& directory;     // takes everything that is written
  std::filesystem::path followed{};  // the run whose checkpoints are evaluated; empty: none
};

}  // namespace trivet
