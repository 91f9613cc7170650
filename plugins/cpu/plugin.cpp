// SPDX-License-Identifier: Apache-2.0
// The plugin "cpu": the backend on Highway.
#include <trivet/plugin.h>

#include "backend.h"

TRIVET_PLUGIN(
    ({.name = "cpu", .version = "1.0.0", .license = "Apache-2.0", .doc = "The default backend."}),
    trivet::backend<&cpu::get>("Highway",
                               "All kernels in vectors of the processor, by the library Highway."),
    trivet::backend<&cpu::get>("OpenBlas",
                               "The former name of cpu/Highway, for older configs and "
                               "runs. OpenBLAS is no longer used."))
