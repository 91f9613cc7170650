// SPDX-License-Identifier: Apache-2.0
// Describes one location of a config: its field, its value and the origin of the value.
#pragma once

#include <string>
#include <vector>

#include "config/resolver.h"
#include "config/tree/config_catalog.h"
#include "trivet/config/value.h"

namespace trivet {

// Parses a path that a user typed. Throws UsageError if it is malformed.
std::vector<PathStep> steps_of(const std::string& path);

// Throws UsageError with the nearest names if the config has no such location.
std::string explain_value(const std::string& path, const ResolvedConfig& config,
                          ConfigCatalog& catalog);

}  // namespace trivet
