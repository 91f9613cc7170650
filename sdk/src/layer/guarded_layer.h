// SPDX-License-Identifier: Apache-2.0
// The layer of a config inside one that says whose code runs, should it crash or throw, and that
// passes no missing tensor to the next layer.
#pragma once

#include <memory>

#include "trivet/layer.h"

namespace trivet::detail {

// Throws as make() does.
std::unique_ptr<Layer> make_guarded(const ConfigOf<Layer>& config, Scope& scope);

}  // namespace trivet::detail
