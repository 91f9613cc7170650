// SPDX-License-Identifier: Apache-2.0
//
// IndexUpdate: brings the tables of the index up to date with the files of experiments. Files that
// have not changed since they were read are not opened; what is damaged is noted, and the rest goes
// on.
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
    std::optional<std::int64_t> xid{};  // of one experiment; nothing: of all, and those that are
                                        // gone are forgotten
    bool runs = false;                  // status.json and metrics.jsonl of units, too
  };
  // Both outlive it.
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
