// SPDX-License-Identifier: Apache-2.0
// The plugin "optim": optimizers and schedules.
#include "trivet/plugin.h"

#include "adafactor.h"
#include "adagrad.h"
#include "adam.h"
#include "lamb.h"
#include "lars.h"
#include "lion.h"
#include "optim/around/ewc.h"
#include "optim/around/pruned.h"
#include "optim/around/regularized.h"
#include "rms_prop.h"
#include "schedules/schedules.h"
#include "schedules/sequence.h"
#include "sgd.h"
#include "shampoo/shampoo.h"

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
    trivet::optimizer<optim::Adagrad>("Adagrad",
                                      "Divides by the root of the sum of all squared gradients."),
    trivet::optimizer<optim::Adafactor>(
        "Adafactor", "Adam with a factored second moment, which needs little memory."),
    trivet::optimizer<optim::Ewc>(
        "Ewc", "Any optimizer with a pull back to the weights that the training started from."),
    trivet::optimizer<optim::Pruned>(
        "Pruned", "Any optimizer with magnitude pruning: the smallest weights become 0."),
    trivet::optimizer<optim::Regularized>(
        "Regularized", "Any optimizer with l1 and l2 penalties and decoupled weight decay."),
    trivet::optimizer<optim::RmsProp>(
        "RmsProp", "Divides by the root of a moving average of squared gradients."),
    trivet::optimizer<optim::Shampoo>("Shampoo",
                                      "Preconditions gradients by the statistics of each axis."),
    trivet::schedule<optim::Constant>("Constant", "Constant value.",
                                      trivet::scalar_shorthand("value")),
    trivet::schedule<optim::Linear>("Linear", "Linear decay, then constant."),
    trivet::schedule<optim::Cosine>("Cosine", "Cosine decay, then constant."),
    trivet::schedule<optim::Exponential>("Exponential", "Falls by a factor per number of steps."),
    trivet::schedule<optim::InverseTime>("InverseTime",
                                         "Falls as 1 / (1 + a multiple of the steps)."),
    trivet::schedule<optim::Polynomial>("Polynomial", "Polynomial decay."),
    trivet::schedule<optim::Piecewise>("Piecewise", "A value for each range of steps."),
    trivet::schedule<optim::Power>("Power", "Power decay of the step."),
    trivet::schedule<optim::PowerLinear>("PowerLinear",
                                         "Power decay of the step, then linear decay to 0."),
    trivet::schedule<optim::PowerWithOffset>("PowerWithOffset",
                                             "Constant, then power decay of the step."),
    trivet::schedule<optim::StepCosine>("StepCosine",
                                        "Cosine interpolation between values at given steps."),
    trivet::schedule<optim::Sequence>("Sequence", "Schedules one after another."))
