// SPDX-License-Identifier: Apache-2.0
// The plugin "examples": one item of each kind, each in a header of its own. A plugin of yours has
// the same form: classes in headers, and one source file with TRIVET_PLUGIN that lists them.
#include <trivet/plugin.h>

#include "command.h"
#include "experiment.h"
#include "input.h"
#include "layer.h"
#include "metric.h"
#include "model.h"
#include "optimizer.h"
#include "orchestrator.h"
#include "sweep.h"
#include "task.h"
#include "tokenizer.h"
#include "trainer.h"

// [plugin]
TRIVET_PLUGIN(
    ({.name = "examples",
      .version = "1.0.0",
      .license = "Apache-2.0",
      .doc = "One item of each kind, to copy from."}),
    trivet::command<acme::Norms>("norms", "Prints the norm of each variable of a run"),
    // [experiment]
    trivet::experiment<&acme::wave, &acme::has_whole_batches>("wave", "A network learns a sine."),
    // [/experiment]
    trivet::input<acme::Wave>("Wave", "Points of a sine with noise."),
    trivet::layer<acme::Swish>("Swish", "x sigmoid(beta x) with a learned beta."),
    trivet::metric<acme::RSquared>("RSquared", "The coefficient of determination."),
    trivet::model<acme::Regressor>("Regressor", "Linear layers with an activation between them."),
    trivet::optimizer<acme::Adadelta>("Adadelta", "Zeiler 2012; needs no scale of the gradients."),
    trivet::orchestrator<acme::OneByOne>("OneByOne", "One job after the other, on this machine."),
    trivet::sweep<acme::LogUniform>("LogUniform", "Random points, log-uniform in their ranges."),
    trivet::task<acme::Regression>("Regression", "The mean squared error of numbers."),
    trivet::tokenizer<acme::Pieces>("Pieces", "Bytes, and the longest of the listed texts."),
    trivet::trainer<acme::ZeroStart>("ZeroStart", "Some variables start at 0."))
// [/plugin]
