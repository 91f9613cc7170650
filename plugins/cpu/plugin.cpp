// SPDX-License-Identifier: Apache-2.0
// The plugin "cpu": the backend on OpenBLAS and Highway.
#include <trivet/plugin.h>

#include "backend.h"

TRIVET_PLUGIN(
    ({.name = "cpu", .version = "1.0.0", .license = "Apache-2.0", .doc = "The default backend."}),
    trivet::backend<&cpu::get>("OpenBlas",
                               "Matrix products by OpenBLAS, all other kernels by Highway."))
