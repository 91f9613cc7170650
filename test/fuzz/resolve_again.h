// SPDX-License-Identifier: Apache-2.0
// What must hold of any config that is resolved, whatever it came from.
#pragma once

#include <filesystem>

#include "config/resolver.h"
#include "config/tree/config_catalog.h"

namespace trivet::test {

// False when the config is refused, every problem with a text. A config that is resolved is written
// to `again` and resolved from there: to the same tree.
bool resolves(const ConfigRequest& request, ConfigCatalog& catalog,
              const std::filesystem::path& again);

}  // namespace trivet::test
