// SPDX-License-Identifier: Apache-2.0
// The plugin "tiny": only the backend of backend.cpp.
#include <trivet/plugin.h>

#include "backend.h"

// [plugin]
TRIVET_PLUGIN(
    ({.name = "tiny", .version = "1.0.0", .license = "Apache-2.0", .doc = "A backend to copy."}),
    trivet::backend<&tiny::get>("Backend", "The mandatory functions only, in plain loops."))
// [/plugin]
