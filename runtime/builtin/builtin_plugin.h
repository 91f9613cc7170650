// SPDX-License-Identifier: Apache-2.0
// The built-in plugin "trivet", with the items that every run needs.
#pragma once

namespace trivet {

// Registers the built-in items like those of any plugin. A second call does nothing. Call it before
// a config is resolved.
void register_builtin_plugin();

}  // namespace trivet
