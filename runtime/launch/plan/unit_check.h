// SPDX-License-Identifier: Apache-2.0
//
// UnitCheck: whether the runs of work units will have the configs that the launch tells. It does
// what their processes will do: it reads the same words and resolves the same text.
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
  // `config_file` and `words`: as units get them (ExperimentLocation, UnitConfig). `texts`: what
  // files will hold that are not written yet. `told`: what the launch was told, whose locations
  // messages name; null where only its record is left, else it must outlive this.
  UnitCheck(ConfigCatalog& catalog, std::filesystem::path config_file,
            std::vector<std::string> words, std::map<std::filesystem::path, std::string> texts,
            const ConfigRequest* told);

  // Of each job that is a run of this program; of the config that other programs get where none
  // is. `number`: that of the unit's item in its sweep.
  void check(const launch::WorkUnit& unit, std::size_t number);

  // So many that more would help nobody.
  bool has_enough() const;
  // Throws ConfigError with each mistake once: a misspelt path is the same in every item.
  void throw_if_any() const;

 private:
  void check_job(const launch::WorkUnit& unit, const launch::Job& job, std::size_t number);
  void check_config(const launch::WorkUnit& unit, const ConfigRequest& request, std::size_t number);
  // The same mistake at the location where the user made it.
  void tell(const launch::WorkUnit& unit, std::size_t number, const ConfigError& error);

  ConfigCatalog& catalog_;
  std::filesystem::path config_file_;
  std::vector<std::string> words_;
  std::map<std::filesystem::path, std::string> texts_;
  const ConfigRequest* told_;
  Diagnostics diagnostics_;
};

}  // namespace trivet
