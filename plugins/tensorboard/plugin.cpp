// SPDX-License-Identifier: Apache-2.0
// The plugin "tensorboard": writes event files of runs.
#include "trivet/plugin.h"

#include "events.h"

TRIVET_PLUGIN(({.name = "tensorboard",
                .version = "1.0.0",
                .license = "Apache-2.0",
                .doc = "Event files for TensorBoard."}),
              trivet::summary_writer<trivet::tensorboard::Events>(
                  "Events", "Writes events/ in the run's directory: scalars, histograms, images."))
