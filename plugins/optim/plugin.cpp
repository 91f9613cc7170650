// SPDX-License-Identifier: Apache-2.0
// The plugin "optim": optimizers and schedules.
#include "trivet/plugin.h"

#include "adam.h"
#include "schedules.h"
#include "sgd.h"

namespace optim = trivet::optim;

TRIVET_PLUGIN(({.name = "optim",
                .version = "1.0.0",
                .license = "Apache-2.0",
                .doc = "Optimizers and schedules."}),
              trivet::optimizer<optim::Sgd>("Sgd", "Gradient descent, optional momentum."),
              trivet::optimizer<optim::Adam>("Adam", "Adam."),
              trivet::optimizer<optim::AdamW>("AdamW", "Adam with decoupled weight decay."),
              trivet::schedule<optim::Constant>("Constant", "The same value at every step.",
                                                trivet::from_number("value")),
              trivet::schedule<optim::Linear>("Linear", "A straight line, then constant."),
              trivet::schedule<optim::Cosine>("Cosine", "Half a cosine, then constant."),
              trivet::schedule<optim::Exponential>("Exponential",
                                                   "Falls by a factor per number of steps."),
              trivet::schedule<optim::Polynomial>("Polynomial", "A power of the way that is left."),
              trivet::schedule<optim::Piecewise>("Piecewise", "A value for each range of steps."))
