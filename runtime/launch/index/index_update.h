// SPDX-License-Identifier: Apache-2.0
//
// IndexUpdate: updates the tables of the index from the files of experiments. Files that have not
// changed since they were read are not opened. Damaged files are recorded and skipped.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/database.h"
#include "launch/store/experiment_store.h"

namespace trivet {

class IndexUpdate {
 public:
  struct Scope {
    std::optional<std::int64_t> xid{};  // only this experiment; nothing: all, and rows of
                                        // removed ones are deleted
    bool runs = false;                  // also status.json and metrics.jsonl of units
  };
  // Both must outlive this object.
  IndexUpdate(Database& database, const std::vector<ExperimentStore::Location>& locations)
      : database_(database), locations_(locations) {}

  // Whether the files contain data that the tables lack.
  bool is_behind(const Scope& scope) { return pass(scope, false); }
  // Call this within a transaction.
  void take(const Scope& scope) { pass(scope, true); }

 private:
  bool pass(const Scope& scope, bool write);
  bool pass_gone(bool write);
  bool pass_experiments(const Scope& scope, bool write);
  bool pass_runs(const Scope& scope, bool write);

  Database& database_;
  const std::vector<ExperimentStore::Location>& locations_;
};

}  // namespace trivet
