// SPDX-License-Identifier: Apache-2.0
// The plugin "optim": optimizers and schedules.
#include "trivet/plugin.h"

#include "adafactor.h"
#include "adagrad.h"
#include "adam.h"
#include "lamb.h"
#include "lars.h"
#include "lion.h"
#include "rms_prop.h"
#include "schedules.h"
#include "sgd.h"

namespace optim = trivet::optim;

TRIVET_PLUGIN(
    ({.name = "optim",
      .version = "1.0.0",
      .license = "Apache-2.0",
      .doc = "Optimizers and schedules."}),
    trivet::optimizer<optim::Sgd>("Sgd", "Gradient descent, optional momentum."),
    trivet::optimizer<optim::Adam>("Adam", "Adam."),
    trivet::optimizer<optim::AdamW>("AdamW", "Adam with decoupled weight decay."),
    trivet::optimizer<optim::Lamb>("Lamb", "Adam, scaled by each variable's norm."),
    trivet::optimizer<optim::Lars>("Lars", "Momentum, scaled by each variable's norm."),
    trivet::optimizer<optim::Lion>("Lion", "Steps by the sign of a momentum."),
    trivet::optimizer<optim::Adagrad>("Adagrad", "Divides by the root of all squares."),
    trivet::optimizer<optim::Adafactor>("Adafactor", "Adam's second moment in little memory."),
    trivet::optimizer<optim::RmsProp>("RmsProp", "Divides by the root of recent squares."),
    trivet::schedule<optim::Constant>("Constant", "The same value at every step.",
                                      trivet::scalar_shorthand("value")),
    trivet::schedule<optim::Linear>("Linear", "A straight line, then constant."),
    trivet::schedule<optim::Cosine>("Cosine", "Half a cosine, then constant."),
    trivet::schedule<optim::Exponential>("Exponential", "Falls by a factor per number of steps."),
    trivet::schedule<optim::Polynomial>("Polynomial", "A power of the way that is left."),
    trivet::schedule<optim::Piecewise>("Piecewise", "A value for each range of steps."),
    trivet::schedule<optim::Power>("Power", "A power of the step."),
    trivet::schedule<optim::PowerLinear>("PowerLinear", "A power of the step, then a line to 0."),
    trivet::schedule<optim::PowerWithOffset>("PowerWithOffset",
                                             "Constant, then a power of the step."),
    trivet::schedule<optim::StepCosine>("StepCosine",
                                        "Half a cosine between each two of many values."))
