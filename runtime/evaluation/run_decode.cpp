// SPDX-License-Identifier: Apache-2.0
#include "evaluation/run_decode.h"

#include <optional>
#include <utility>

#include <fmt/core.h>

#include "evaluation/decoded_examples.h"
#include "step/step_parts.h"
#include "trivet/error.h"
#include "trivet/plugin/plugin_call.h"
#include "trivet/plugin/registry.h"

namespace trivet {

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
  BatchDecodeOptions options = options_;
  options.first_example = static_cast<std::uint64_t>(step.first_example);
  const auto decoded = decoded_examples(task_, decoder_, batch, step.model, options);
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
