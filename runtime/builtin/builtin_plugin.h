// SPDX-License-Identifier: Apache-2.0
// The plugin that is part of the program: "trivet", with what no run can do without.
#pragma once

namespace trivet {

// Registers the built-in items like those of any plugin. A second call does nothing. Call it before
// a config is resolved.
void register_builtin_plugin();

}  // namespace trivet
