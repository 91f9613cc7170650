// SPDX-License-Identifier: Apache-2.0
// StudyRunner: one step of a search, to run after any change. Reads the curves of running trials,
// records ended ones, stops hopeless ones, and makes units of new ones.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/study/measurements.h"
#include "search/study/search_records.h"
#include "search/study/study.h"
#include "search/study/trial_value.h"
#include "trivet/launch/job.h"
#include "trivet/search/sampler.h"
#include "trivet/search/stopper.h"

namespace trivet::search {

struct StudyPlan {
  std::vector<std::string> objectives;  // stoppers see the first, or the combined value
  std::int64_t trials = 0;
  std::int64_t parallel = 1;
  std::int64_t max_failures = 0;  // in a row; 0: no limit
  std::vector<Value> enqueued{};  // points, or parts of one, to try first; tables
  ValueRule rule{};
};

// Operations on units. The first two are called with recorded units.
struct UnitCalls {
  std::function<void(const launch::WorkUnit&)> launch;
  std::function<void(std::int64_t wid)> cancel;
  // Called with the metrics.jsonl of a running trial before a stopper reads it. May be empty.
  std::function<void(const std::filesystem::path& curve)> follow{};
};

class StudyRunner {
 public:
  // `stopper` may be null. All references must outlive the runner.
  StudyRunner(const StudyPlan& plan, Study& study, const SearchSpace& space, const Sampler& sampler,
              const Stopper* stopper, SearchRecords& records, UnitCalls calls);

  // Checks everything once. Does nothing if it is called from within its own callbacks. Throws what
  // the sampler, the stopper and the records throw.
  void step();
  // Whether all trials have ended and no more are wanted.
  bool is_done() const;
  // Returns why a finished search has no value; empty if it has one.
  std::string failure() const;

 private:
  struct Unit {
    launch::WorkUnit unit;
    std::vector<UnitCurve> curves;  // of what the trial's values need
  };

  bool wants_more() const;
  void take_up();
  void add_unit(std::int64_t number);
  void keep(std::int64_t number, const launch::WorkUnit& unit);
  void look_at(std::int64_t number);
  void read_curve(std::int64_t number);
  void note_end(std::int64_t number, launch::JobState state);
  void stop_if_hopeless(std::int64_t number);
  void cancel(const launch::WorkUnit& unit, const std::string& why);
  void ask();
  const Value* next_enqueued() const;
  static TrialValue::Curves curves_of(const Unit& unit);
  TrialValue::Outcome outcome(const Unit& unit) const;
  std::optional<launch::JobState> final_state(const launch::WorkUnit& unit) const;
  std::int64_t open_units() const;

  const StudyPlan plan_;
  Study& study_;
  const SearchSpace& space_;
  const Sampler& sampler_;
  const Stopper* stopper_;
  SearchRecords& records_;
  const UnitCalls calls_;
  const TrialValue value_;
  std::map<std::int64_t, Unit> units_;  // by trial number
  bool taken_up_ = false, busy_ = false;
};

}  // namespace trivet::search
