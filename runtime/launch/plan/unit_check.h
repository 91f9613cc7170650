// SPDX-License-Identifier: Apache-2.0
// UnitCheck: checks that the runs of work units will have the planned configs. Like their
// processes, it reads the same words and resolves the same text.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/resolver.h"
#include "config/tree/config_catalog.h"
#include "trivet/config/schema.h"
#include "trivet/launch/job.h"

namespace trivet {

class UnitCheck {
 public:
  // `config_file` and `words`: those of the units (ExperimentLocation, UnitConfig). `texts`: the
  // contents of files that are not written yet. `told`: the launch's input, for locations in
  // messages; null if only its record is left, else it must outlive this object.
  UnitCheck(ConfigCatalog& catalog, std::filesystem::path config_file,
            std::vector<std::string> words, std::map<std::filesystem::path, std::string> texts,
            const ConfigRequest* told);

  // Checks each job that is a run of this program; if none is, the config for other programs.
  // `number`: that of the unit's sweep item.
  void check(const launch::WorkUnit& unit, std::size_t number);

  // The limit of reported errors is reached.
  bool has_enough() const;
  // Throws ConfigError with each error once: a misspelled path is the same in every item.
  void throw_if_any() const;

 private:
  void check_job(const launch::WorkUnit& unit, const launch::Job& job, std::size_t number);
  // `job`: the run that has this config; null for that of other programs.
  void check_config(const launch::WorkUnit& unit, const launch::Job* job,
                    const ConfigRequest& request, std::size_t number);
  // A run with a range of processes is the same run with each number of them.
  void check_counts(const launch::WorkUnit& unit, const launch::Job& job, std::size_t number);
  // The same error at the location where the user made it.
  void tell(const launch::WorkUnit& unit, std::size_t number, const ConfigError& error);

  ConfigCatalog& catalog_;
  std::filesystem::path config_file_;
  std::vector<std::string> words_;
  std::map<std::filesystem::path, std::string> texts_;
  const ConfigRequest* told_;
  Diagnostics diagnostics_;
};

}  // namespace trivet
