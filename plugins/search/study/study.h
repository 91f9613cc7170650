// SPDX-License-Identifier: Apache-2.0
//
// Study: the trials of a search, kept in a journal, so that a search that was killed goes on with
// the same trials:
//
//   XP_DIR/search.jsonl
//   {"trial": 0, "state": "running", "point": {"trainer.learning_rate": 0.01}, "time": 1763690431.2}
//   {"trial": 0, "state": "complete", "wid": 1, "value": 0.25, "detail": "", "time": ...}
//
// A line is on the disk before anybody acts on it. A last line that is not whole, which a killed
// process has left, does not count and is overwritten. One process writes at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trivet/search/search_space.h"
#include "trivet/search/trial.h"

namespace trivet::search {

class Study {
 public:
  // Reads what there is. Throws RunError for a file that cannot be read, and for a line that does
  // not follow from those before it.
  Study(std::filesystem::path journal, const SearchSpace& space);

  // By number.
  std::span<const Trial> trials() const { return trials_; }
  // The unit of a trial that has ended (0: it got none) and why it ended, for people.
  struct Ending {
    std::int64_t wid = 0;
    std::string detail;
  };
  const Ending& ending(std::int64_t number) const;
  // As samplers want it: those that ended, in the order in which they did, then those that run.
  std::vector<Trial> history() const;
  // How many of the last trials that ended have failed, one after the other.
  std::int64_t failures_in_a_row() const;

  const Trial& begin(SearchPoint point);
  void set_measurements(std::int64_t number, std::vector<Measurement> measurements);
  // The trial must run.
  void end(std::int64_t number, TrialState state, std::optional<double> value, Ending ending);

 private:
  void read();
  void take(const Value& line, const std::string& where);
  SearchPoint point_from(const Value& table) const;
  void append(const Value& line);

  std::filesystem::path journal_;
  std::uint64_t size_ = 0;          // of its whole lines
  std::vector<std::string> paths_;  // of the space, in its order
  std::vector<Trial> trials_;
  std::vector<Ending> endings_;      // of each
  std::vector<std::int64_t> ended_;  // numbers
};

}  // namespace trivet::search
