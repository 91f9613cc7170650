// SPDX-License-Identifier: Apache-2.0
// The plugin that is part of the program: "trivet", with what no run can do without.
#pragma once

namespace trivet {

// Registers its items as any plugin's; a second call does nothing. To be called before a config is
// resolved.
void register_builtin_plugin();

}  // namespace trivet
