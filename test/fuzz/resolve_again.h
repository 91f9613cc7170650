// SPDX-License-Identifier: Apache-2.0
// The property that must hold for any resolved config.
#pragma once

#include <filesystem>

#include "config/resolver.h"
#include "config/tree/config_catalog.h"

namespace trivet::test {

// Returns false if the config is refused; every problem must have a text. A resolved config is
// written to `again` and must resolve from there to the same tree.
bool resolves(const ConfigRequest& request, ConfigCatalog& catalog,
              const std::filesystem::path& again);

}  // namespace trivet::test
