// SPDX-License-Identifier: Apache-2.0
//
// The experiments below a root directory:
//
//   ROOT/.trivet/experiments/3    the directory of experiment 3, relative to ROOT
//   ROOT/.trivet/lock             held (flock) while a number is given
//
// and what lies in the directory of one:
//
//   experiment.json   what it is: xid, name, author, note, tags, when and by what it was launched;
//                     the last file a launch writes: without it there is no experiment yet
//   launch.toml       [xp] and [sweep], resolved, above config.toml; launching it again adds what is
//                     missing
//   config.toml       the run's config as files and command line say it, references as they are
//                     written: what the jobs start from
//   unit.toml         the same as files say it, where units vary the config and say the overrides
//                     of the launch themselves, see unit_config.h
//   files/            copies of what the jobs use, see launch_files.h
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

// Whether an experiment lies there whose launch came to its end.
bool holds_experiment(const std::filesystem::path& directory);

// Its experiment.json. Throws RunError when that cannot be read.
Value experiment_facts(const std::filesystem::path& directory);
// The folders of --plugin-dir at its launch.
std::vector<std::string> recorded_plugin_dirs(const Value& facts);

// Whether a relative path names something below the directory that it is relative to.
bool stays_below(const std::filesystem::path& relative);

class ExperimentStore {
 public:
  // The root need not exist.
  explicit ExperimentStore(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }

  // Above all numbers in use, those of runs in the same directory included.
  std::int64_t next_xid() const;

  struct Location {
    std::int64_t xid = 0;
    std::filesystem::path directory;
  };
  // Gives the next number and makes the directory that `directory_of` names for it. Several
  // processes may do this at the same time. Throws RunError when it cannot be made, or is there.
  Location create(const std::function<std::filesystem::path(std::int64_t)>& directory_of) const;
  // The same for a number that somebody chose and that is not in use. What a launch that was killed
  // has left of it is used.
  Location create_as(std::int64_t xid, const std::filesystem::path& directory) const;

  // Where an experiment lies; nothing when there is none, or when its file below .trivet says
  // nothing of use.
  std::optional<std::filesystem::path> find(std::int64_t xid) const;
  // Whether the number was given to a launch that was killed before its end.
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
