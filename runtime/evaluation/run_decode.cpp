// SPDX-License-Identifier: Apache-2.0
#include "evaluation/run_decode.h"

#include <optional>
#include <utility>

#include <fmt/core.h>

#include "step/batch_size.h"
#include "step/step_parts.h"
#include "trivet/error.h"
#include "trivet/plugin/plugin_call.h"
#include "trivet/plugin/registry.h"
#include "trivet/tape.h"

namespace trivet {
namespace {

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

}  // namespace

RunDecode::RunDecode(Task& task, const BatchDecoder& decoder, const EvalInputConfig& set,
                     std::uint64_t seed)
    : task_(task), decoder_(decoder), options_{.num_samples = set.num_samples, .seed = seed} {
  for (const ConfigOf<TextMetric>& config : set.text_metrics) {
    scores_.push_back({config, make(config)});
  }
  RunDecode::result(0);  // two metrics of one name are found before the run trains
}

void RunDecode::begin() {
  examples_ = 0;
  for (const Score& score : scores_) {
    in_plugin(item_of(*score.metric), "reset_state", score.config.path(),
              [&] { score.metric->reset_state(); });
  }
}

void RunDecode::add(const Batch& batch, const ProgramStep& step) {
  const NoGrad no_grad;
  BatchDecodeOptions options = options_;
  options.first_example = static_cast<std::uint64_t>(step.first_example);
  const std::vector<std::optional<DecodedExample>> decoded = in_task(task_, "decode", [&] {
    auto made = decoder_.decode(batch, step.model, options);
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
  for (std::size_t row = 0; row < decoded.size(); ++row) {
    if (!decoded[row]) continue;
    const std::int64_t number = step.first_example + static_cast<std::int64_t>(row);
    ++examples_;
    score(*decoded[row], number);
    if (step.take_output) step.take_output(number, columns_of(*decoded[row]));
  }
}

void RunDecode::score(const DecodedExample& example, std::int64_t number) {
  if (scores_.empty()) return;
  if (example.references.empty()) {
    throw InputError(fmt::format("example {} has no text to compare with", number),
                     {.path = scores_.front().config.path(),
                      .hint = "remove text_metrics to decode data without targets"});
  }
  for (const Score& score : scores_) {
    in_plugin(item_of(*score.metric), "add", score.config.path(),
              [&] { score.metric->add(example.samples.front(), example.references); });
  }
}

Logs RunDecode::result(std::int64_t) {
  Logs logs;
  for (const Score& score : scores_) {
    in_plugin(item_of(*score.metric), "result", score.config.path(),
              [&] { add_results(logs, score.metric->result(), score.config.path()); });
  }
  logs.set("examples", static_cast<double>(examples_));
  return logs;
}

}  // namespace trivet
