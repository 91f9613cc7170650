// SPDX-License-Identifier: Apache-2.0
// The plugin "multitask": trains several tasks together.
#include "trivet/plugin.h"

#include "multi_task.h"

namespace multitask = trivet::multitask;

TRIVET_PLUGIN(({.name = "multitask",
                .version = "1.0.0",
                .license = "Apache-2.0",
                .doc = "Several tasks trained together."}),
              trivet::task<multitask::Interleaved>("Interleaved", "A step for one task at a time."),
              trivet::task<multitask::Joint>("Joint",
                                             "Steps for all tasks, by the sum of their losses."))
