// SPDX-License-Identifier: Apache-2.0
// Study: the trials of a search, kept in a journal, so that a killed search resumes with the same
// trials:
//
//   XP_DIR/search.jsonl
//   {"trial": 0, "state": "running", "point": {"trainer.learning_rate": 0.01}, "time": 1763690431.2}
//   {"trial": 0, "state": "complete", "wid": 1, "value": 0.25, "detail": "", "time": ...}
//
// With several objectives the end has "values", too, of which "value" is the first. A trial at a
// point that the user gave has "enqueued" in its start: what the user gave of it.
//
// A line is on the disk before the search acts on it. An incomplete last line, left by a killed
// process, is ignored and overwritten. One process writes at a time.
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
  // Reads the journal. Throws RunError if it cannot be read, or if a line does not follow from the
  // lines before it.
  Study(std::filesystem::path journal, const SearchSpace& space);

  // By number.
  std::span<const Trial> trials() const { return trials_; }
  // The unit of an ended trial (0: none) and the reason of its end, for people.
  struct Ending {
    std::int64_t wid = 0;
    std::string detail;
  };
  const Ending& ending(std::int64_t number) const;
  // The order for samplers: ended trials in the order in which they ended, then running ones.
  std::vector<Trial> history() const;
  // The number of most recently ended trials in a row that failed.
  std::int64_t failures_in_a_row() const;

  // What was enqueued for the trials so far; tables.
  std::span<const Value> enqueued() const { return enqueued_; }

  // `enqueued`: the table for which the point was made; null for one of the sampler.
  const Trial& begin(SearchPoint point, const Value& enqueued = {});
  void set_measurements(std::int64_t number, std::vector<Measurement> measurements);
  // The trial must be running. `values` of the objectives; empty if it has none.
  void end(std::int64_t number, TrialState state, const std::vector<double>& values, Ending ending);

 private:
  void read();
  void take(const Value& line, const std::string& where);
  SearchPoint point_from(const Value& table) const;
  void append(const Value& line);

  std::filesystem::path journal_;
  std::uint64_t size_ = 0;          // of its complete lines
  std::vector<std::string> paths_;  // of the space, in its order
  std::vector<Trial> trials_;
  std::vector<Value> enqueued_;
  std::vector<Ending> endings_;      // per trial
  std::vector<std::int64_t> ended_;  // numbers
};

}  // namespace trivet::search
