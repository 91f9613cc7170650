// SPDX-License-Identifier: Apache-2.0
// ExperimentIndex: a cache of the files of all experiments below a root for fast lookup,
// ROOT/.trivet/index.sqlite. The files are authoritative. Each read first updates the index from
// files that changed according to stat(). The index can be deleted. A damaged index or one of
// another version is rebuilt. If it is locked or read-only, an index in memory replaces it.
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
  // The index for the named experiment: that of its root or, if the experiment is named by its
  // directory, one in memory for it alone.
  explicit ExperimentIndex(const ExperimentId& id);
  ~ExperimentIndex();

  // Clears the index and reads all files again. Throws RunError if the file cannot be written.
  void rebuild();

  // All experiments by number, without their units.
  std::vector<ExperimentView> experiments();
  // One experiment with all units or one unit, and their jobs. Throws UsageError if the experiment
  // or unit does not exist.
  ExperimentView experiment(std::int64_t xid, std::optional<std::int64_t> wid = {});

  // Units of all experiments or of one, by number, with their runs. Call this before the functions
  // below: they do not update the index.
  std::vector<UnitRun> units(std::optional<std::int64_t> xid = {});

  // The metric of this name of every unit that has it. `kind` is train or eval. Without `kind`:
  // that of evaluations, else of training.
  UnitNumbers numbers(const std::string& name, std::optional<RecordKind> kind, WhichNumber which);
  // The names of the metrics of a kind, in the units of one experiment or of all.
  std::vector<std::string> number_names(RecordKind kind, std::optional<std::int64_t> xid = {});
  // All metrics of all units, or of one.
  std::map<UnitId, RunNumbers> all_numbers(std::optional<UnitId> unit = {});

  // Units of all experiments with running jobs, by number.
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
  bool lost_ = false;  // all earlier rows must be read again
  std::string why_in_memory_;
};

}  // namespace trivet
