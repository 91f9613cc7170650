// SPDX-License-Identifier: Apache-2.0
//
// ExperimentIndex: what the files of all experiments below a root say, in a form that is looked up
// quickly: ROOT/.trivet/index.sqlite. The files are the truth; the index is brought up to date with
// them, by what stat() tells, before anything is read from it, and can be deleted. One that is
// damaged or of another version is made anew; where it is locked or cannot be written, one in
// memory replaces it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/database.h"
#include "launch/index/index_queries.h"
#include "launch/index/index_update.h"
#include "launch/store/experiment_id.h"
#include "launch/store/experiment_store.h"
#include "launch/store/experiment_view.h"
#include "trivet/os/file.h"

namespace trivet {

class ExperimentIndex {
 public:
  explicit ExperimentIndex(std::filesystem::path root);
  // For the experiment that this names: of its root or, where it was named by its directory, in
  // memory of it alone.
  explicit ExperimentIndex(const ExperimentId& id);
  ~ExperimentIndex();

  // Forgets everything and reads it again. Throws RunError when the file cannot be written.
  void rebuild();

  // All of them, by number, without their units.
  std::vector<ExperimentView> experiments();
  // With its units, or one of them, and their jobs. Throws UsageError when there is no experiment
  // or unit of this number.
  ExperimentView experiment(std::int64_t xid, std::optional<std::int64_t> wid = {});

  // Units of all experiments or of one, by number, with their runs. The functions below are for
  // after a call of it: they do not look for changes.
  std::vector<UnitRun> units(std::optional<std::int64_t> xid = {});

  // The number of this name of every unit that has one. `kind` is train or eval, or nothing: that
  // of evaluations, else of training.
  UnitNumbers numbers(const std::string& name, std::optional<RecordKind> kind, WhichNumber which);
  // The names of values of a kind, over the units of one experiment or of all.
  std::vector<std::string> number_names(RecordKind kind, std::optional<std::int64_t> xid = {});
  // All numbers of all units, or of one.
  std::map<UnitId, RunNumbers> all_numbers(std::optional<UnitId> unit = {});

  // Units of all experiments with jobs that run now, by number.
  std::vector<UnitAtWork> at_work();

 private:
  template <class Action>
  auto guarded(const Action& action);
  void open();
  void step_down(const DatabaseError& failure);
  bool remove_damaged();
  enum class StartWith { nothing, file };  // what the tables in memory hold at first
  void use_memory(StartWith start);
  void sync(const IndexUpdate::Scope& scope);
  std::filesystem::path file(const char* name) const;
  std::vector<ExperimentStore::Location> locations(std::optional<std::int64_t> xid) const;

  std::filesystem::path root_;
  std::optional<ExperimentStore::Location> only_;
  UniqueFd lock_;
  std::unique_ptr<Database> database_;
  bool replaced_ = false, in_memory_ = false;
  bool lost_ = false;  // what was there before has to be read again
  std::string why_in_memory_;
};

}  // namespace trivet
