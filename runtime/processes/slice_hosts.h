// SPDX-License-Identifier: Apache-2.0
// The machines of a slice of a mesh (mesh.slice_of).
#pragma once

#include <string>
#include <vector>

#include "config/resolver.h"
#include "processes/world.h"
#include "trivet/backend/mesh.h"

namespace trivet {

// The text of an error where a slice has processes on more machines than it needs, with those that
// have most processes; empty: there is none. `hosts` has the machine of each process.
std::string wrong_slice(const MeshConfig& mesh, const std::vector<std::string>& hosts);

// With mesh.slice_of = "host" all processes make this call, and it throws ConfigError on each where
// a slice is wrong.
void check_slices(const ResolvedConfig& config, World& world);

}  // namespace trivet
