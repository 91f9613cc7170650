// SPDX-License-Identifier: Apache-2.0
// JSON Schema (draft-07) for editors: with  #:schema trivet.schema.json  in the first line of a
// config, Taplo and VS Code complete its keys, show their docs and mark mistakes.
//
// The schema of a config file does not require required keys or types below the top level: base
// files may set them. The schema of one type does.
#pragma once

#include <string>

#include "config/tree/config_catalog.h"
#include "trivet/config/schema.h"

namespace trivet {

// The schema of config files, with every registered type of every kind.
std::string config_json_schema(const Schema& root, ConfigCatalog& catalog);

// The schema of any type of a kind.
std::string kind_json_schema(const std::string& kind, ConfigCatalog& catalog);

// The schema of one registered type. Throws ConfigError if it does not exist.
std::string type_json_schema(const std::string& key, ConfigCatalog& catalog);

}  // namespace trivet
