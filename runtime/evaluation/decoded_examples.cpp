// SPDX-License-Identifier: Apache-2.0
#include "evaluation/decoded_examples.h"

#include <fmt/core.h>

#include "step/batch_size.h"
#include "step/step_parts.h"
#include "trivet/error.h"
#include "trivet/tape.h"

namespace trivet {

std::vector<std::optional<DecodedExample>> decoded_examples(Task& task, const BatchDecoder& decoder,
                                                            const Batch& batch, Model& model,
                                                            const BatchDecodeOptions& options) {
  const NoGrad no_grad;
  return in_task(task, "decode", [&] {
    auto made = decoder.decode(batch, model, options);
    if (std::ssize(made) != size_of(batch).rows) {
      throw PluginError(fmt::format("its decode gave {} examples, and the batch has {}",
                                    made.size(), size_of(batch).rows));
    }
    for (const std::optional<DecodedExample>& example : made) {
      if (!example) continue;
      if (example->samples.empty() || example->samples.size() != example->scores.size()) {
        throw PluginError(fmt::format("its decode gave {} texts and {} scores of an example",
                                      example->samples.size(), example->scores.size()));
      }
    }
    return made;
  });
}

Value columns_of(const DecodedExample& example) {
  Value columns = Value::table({{"prompt", example.prompt}});
  if (example.samples.size() == 1) {
    columns.set("decoded", example.samples.front());
    columns.set("score", example.scores.front());
  } else {
    columns.set("decoded", Value::array_of(example.samples));
    columns.set("scores", Value::array_of(example.scores));
  }
  if (!example.references.empty()) {
    columns.set("references", Value::array_of(example.references));
  }
  return columns;
}

}  // namespace trivet
