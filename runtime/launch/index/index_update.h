// SPDX-License-Identifier: Apache-2.0
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

  // Whether there is something that the tables do not have yet.
  bool is_behind(const Scope& scope) { return pass(scope, Access::look); }
  // Within a transaction.
  void take(const Scope& scope) { pass(scope, Access::write); }

 private:
  enum class Access { look, write };
  bool pass(const Scope& scope, Access access);
  bool pass_gone(Access access);
  bool pass_experiments(const Scope& scope, Access access);
  bool pass_runs(const Scope& scope, Access access);

  Database& database_;
  const std::vector<ExperimentStore::Location>& locations_;
};

}  // namespace trivet
