// SPDX-License-Identifier: Apache-2.0
#include "data/sequences/language_model_input.h"

#include <algorithm>

#include "data/sources/given_lines.h"
#include "data/sources/text_template.h"
#include "data/tokens/special_tokens.h"

namespace trivet::data {
namespace {

std::vector<std::string> features_of(const LanguageModelConfig& config,
                                     const InputContext& context) {
  return context.phase == Phase::evaluation ? config.passthrough_features
                                            : std::vector<std::string>();
}

TextPipeline pipeline_of(const LanguageModelConfig& config, const InputContext& context) {
  TextPipeline pipeline = text_pipeline(own_source(config.source, context),
                                        required_tokenizer(config.tokenizer, context));
  pipeline.inputs = TextTemplate(config.inputs);
  pipeline.targets = TextTemplate(config.targets);
  pipeline.suffixes = TextTemplate(config.suffixes);
  pipeline.task_ids = TextTemplate(config.task_ids);
  pipeline.features = features_of(config, context);
  pipeline.inputs_len = config.inputs_len;
  if (config.inputs_eos) {
    pipeline.inputs_end = special_token(
        {.name = "eos", .add = true, .id = config.eos_id, .flag = "inputs_eos"},
        pipeline.tokenizer->eos_id(), pipeline.tokenizer->vocabulary_size(), context.name);
  }
  return pipeline;
}

}  // namespace

void LanguageModelConfig::validate(Diagnostics& diagnostics) const {
  SequenceConfig::validate(diagnostics);
  check_template(diagnostics, "inputs", inputs);
  check_template(diagnostics, "targets", targets);
  if (targets.empty()) diagnostics.add("targets", "is empty, so there is nothing to learn");
  check_template(diagnostics, "suffixes", suffixes);
  check_template(diagnostics, "task_ids", task_ids);
  if (!suffixes.empty() && weights_on_targets_only) {
    diagnostics.add("weights_on_targets_only", "has no effect with suffixes, which alone count");
  }
  if (!passthrough_features.empty() && pack) {
    diagnostics.add("passthrough_features", "are of one example, and a row has several",
                    "set pack = false");
  }
  for (std::size_t i = 0; i < passthrough_features.size(); ++i) {
    const auto end = passthrough_features.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(passthrough_features.begin(), end, passthrough_features[i]) == end) continue;
    diagnostics.add("passthrough_features[" + std::to_string(i) + "]",
                    "has '" + passthrough_features[i] + "' twice");
  }
  if (inputs.empty() && suffixes.empty() && weights_on_targets_only) {
    diagnostics.add("weights_on_targets_only", "has no effect without inputs");
  }
  if (inputs.empty() && inputs_eos) diagnostics.add("inputs_eos", "has no effect without inputs");
}

LanguageModelInput::LanguageModelInput(const Config& config, InputContext& context)
    : TextSequenceInput(
          config, context, pipeline_of(config, context),
          {.indicate_inputs = !config.inputs.empty(),
           .add_task_ids = !config.task_ids.empty(),
           .weights_on_targets_only = config.weights_on_targets_only || !config.suffixes.empty(),
           .features = features_of(config, context)}) {}

}  // namespace trivet::data
