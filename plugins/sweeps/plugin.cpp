// SPDX-License-Identifier: Apache-2.0
#include "trivet/plugin.h"

#include "named_sweep.h"
#include "simple_sweep.h"

TRIVET_PLUGIN(({.name = "sweeps",
                .version = "1.0.0",
                .license = "Apache-2.0",
                .doc = "Sweeps: what work units of an experiment differ in."}),
              trivet::sweep<trivet::sweeps::SimpleSweep>("SimpleSweep",
                                                         "Every work unit written down."),
              trivet::sweep<trivet::sweeps::ConfigSweep>(
                  "ConfigSweep", "The [sweep.NAME] tables of a config, as arguments of the jobs."),
              trivet::sweep<trivet::sweeps::TrainerSweep>(
                  "TrainerSweep",
                  "The [sweep.NAME] tables of a config, as changes of the run's config."))
