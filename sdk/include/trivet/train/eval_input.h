// SPDX-License-Identifier: Apache-2.0
// EvalInputConfig: one of several named data sets of a run, beside task.eval_input, and the program
// that the run executes on it: an evaluation, decoding, or inference (Pax' eval, decode and infer
// programs).
//
//   [[task.eval_inputs]]
//   name = "test"                # metrics are "test/accuracy" and so on
//   interval = 1000              # steps; not set: trainer.validation_interval
//   input = { type = "data/Csv", ... }
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trivet/config.h"
#include "trivet/input.h"
#include "trivet/text_metric.h"

namespace trivet {

enum class EvalProgram {
  eval,    // losses and metrics
  decode,  // the model writes texts, which text_metrics compare with those of the data
  infer,   // predictions for each example, no losses: examples need no labels
};
TRIVET_ENUM(EvalProgram, eval, decode, infer)

struct EvalInputConfig {
  std::string name;
  ConfigOf<Input> input;
  EvalProgram program = EvalProgram::eval;
  std::optional<std::int64_t> interval;
  std::int64_t steps = -1;
  bool outputs = false;
  std::int64_t num_samples = 1;
  std::vector<ConfigOf<TextMetric>> text_metrics;

  TRIVET_API void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    EvalInputConfig, trivet::NoBase,
    (name, "Prefix of its metrics, as in \"test/accuracy\", and the folder of its files.",
     required),
    (input, "Where its batches come from.", required),
    (program,
     "eval: losses and metrics; decode: the model writes texts, which text_metrics score; infer: "
     "predictions alone. decode and infer always write their outputs.",
     adjustable),
    (interval,
     "Steps between its evaluations in train_and_eval; 0: only at the end; not set: "
     "trainer.validation_interval.",
     at_least(0), adjustable),
    (steps, "Batches per evaluation; -1: all.", at_least(-1), adjustable),
    (outputs,
     "Writes what the task predicts for each example to eval_inputs/NAME/outputs_step_N.jsonl in "
     "the run.",
     adjustable),
    (num_samples, "Texts that decode writes for each example.", at_least(1), at_most(1024),
     adjustable),
    (text_metrics, "Scores of decoded texts, such as \"lm/Bleu\".", adjustable))

// For Config::validate of a struct with a list of them that is not resolved yet, at `path`: adds
// the error of a name that stands twice. Null and values of other types have none.
TRIVET_API void check_eval_input_names(const Value* sets, const std::string& path,
                                       Diagnostics& diagnostics);

}  // namespace trivet
