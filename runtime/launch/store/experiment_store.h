// SPDX-License-Identifier: Apache-2.0
// The experiments below a root directory:
//
//   ROOT/.trivet/experiments/3    the directory of experiment 3, relative to ROOT
// ROOT/.trivet/lock             held (flock) while a number is assigned
//
// Files in the directory of an experiment:
//
//   experiment.json   facts: xid, name, author, note, tags, time and command of the launch;
//                     a launch writes it last: without it the experiment does not exist
//   launch.toml       [xp] and [sweep], resolved, based on config.toml; launching it again adds
//                     missing units
//   config.toml       the run's config from files and command line, references
//                     unresolved: the config of the jobs
//   unit.toml         the run's config from files only, if units vary the config and get the
//                     overrides of the launch as words, see unit_config.h
//   files/            copies of the jobs' files, see launch_files.h
//   units.jsonl, events.jsonl, requests.jsonl      see disk_records.h
//   supervisor.json, supervisor.log                see supervisor_process.h
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trivet/config/value.h"

namespace trivet {

// Whether the directory contains an experiment whose launch has completed.
bool holds_experiment(const std::filesystem::path& directory);

// Reads experiment.json. Throws RunError if it cannot be read.
Value experiment_facts(const std::filesystem::path& directory);
// The folders of --plugin-dir at the launch.
std::vector<std::string> recorded_plugin_dirs(const Value& facts);

// Whether a relative path stays below its directory.
bool stays_below(const std::filesystem::path& relative);

class ExperimentStore {
 public:
  // The root need not exist.
  explicit ExperimentStore(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }

  // Greater than all numbers in use, including those of runs in the same directory.
  std::int64_t next_xid() const;

  struct Location {
    std::int64_t xid = 0;
    std::filesystem::path directory;
  };
  // Assigns the next number and creates the directory that `directory_of` names for it. Safe while
  // several processes do this. Throws RunError if the directory exists or cannot be created.
  Location create(const std::function<std::filesystem::path(std::int64_t)>& directory_of) const;
  // The same for a chosen number that is not in use. Reuses the remains of a killed launch.
  Location create_as(std::int64_t xid, const std::filesystem::path& directory) const;

  // The directory of an experiment. Nothing if it does not exist, or if its file below .trivet is
  // invalid.
  std::optional<std::filesystem::path> find(std::int64_t xid) const;
  // Whether the number belongs to a launch that was killed before it completed.
  bool is_unfinished(std::int64_t xid) const;
  // By number: the experiments, and what such launches have left.
  std::vector<Location> all() const { return entries(Entry::experiment); }
  std::vector<Location> unfinished() const { return entries(Entry::left_by_launch); }

 private:
  enum class Entry { experiment, left_by_launch };
  std::filesystem::path index() const { return root_ / ".trivet" / "experiments"; }
  std::filesystem::path index_file(std::int64_t xid) const { return index() / std::to_string(xid); }
  std::optional<std::filesystem::path> entry(std::int64_t xid) const;
  std::vector<Location> entries(Entry wanted) const;
  void enter(const Location& location) const;

  std::filesystem::path root_;
};

}  // namespace trivet
