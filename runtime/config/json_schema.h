// SPDX-License-Identifier: Apache-2.0
//
// JSON Schema (draft-07) for editors: with  #:schema trivet.schema.json  in the first line of a
// config, Taplo and VS Code complete its keys, show their docs and mark mistakes.
//
// The schema of a whole config file does not insist on required keys below the top, nor on types:
// a file may leave both to the files it is based on. The schema of one type does.
#pragma once

#include <string>

#include "config/tree/config_catalog.h"
#include "trivet/config/schema.h"

namespace trivet {

// Of config files, with every registered type of every kind.
std::string config_json_schema(const Schema& root, ConfigCatalog& catalog);

// Of any type of a kind.
std::string kind_json_schema(const std::string& kind, ConfigCatalog& catalog);

// Of one registered type. Throws ConfigError when there is none.
std::string type_json_schema(const std::string& key, ConfigCatalog& catalog);

}  // namespace trivet
