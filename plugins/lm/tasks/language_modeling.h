// SPDX-License-Identifier: Apache-2.0
// LanguageModeling: a model learns to predict each token of a text from those before it, by the
// mean cross entropy over the tokens whose "weights" are not 0 (Praxis' LanguageModel as a task).
//
// Inputs without a tokenizer use the task's, and a model whose vocab_size is 0 takes the
// tokenizer's size. Metrics are those of TokenMetrics. After each evaluation the model continues
// `sample_prompts`; the texts are appended to samples.jsonl in the run's directory, once per
// evaluation.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lm/decoding/decode_config.h"
#include "lm/decoding/text_generation.h"
#include "lm/tasks/sample_log.h"
#include "lm/tasks/text_task.h"
#include "trivet/extensions/batch_decoder.h"
#include "trivet/extensions/predictor.h"
#include "trivet/extensions/text_generator.h"

namespace trivet::lm {

struct LanguageModelingConfig : TokenTaskConfig {
  DecodeConfig decode;
  std::optional<bool> add_bos;
  std::optional<bool> prompt_eos;
  std::vector<std::string> sample_prompts;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    LanguageModelingConfig, TokenTaskConfig, (decode, "Settings of text generation.", adjustable),
    (add_bos, "Prompts start with the tokenizer's start token; unset: if it has one.", adjustable),
    (prompt_eos, "Prompts end with the end token; unset: if train_input has inputs_eos.",
     adjustable),
    (sample_prompts, "Prompts to continue after each evaluation. The texts go to samples.jsonl.",
     adjustable))

class LanguageModeling : public TextTask,
                         public TextGenerator,
                         public BatchDecoder,
                         public Predictor {
 public:
  using Config = LanguageModelingConfig;
  LanguageModeling(const Config& config, TaskContext& context);

  Metrics build_metrics(Phase phase) override;
  StepOutput validation_step(const Batch& batch, StepState& state) override;
  std::unique_ptr<AggregatedLogs> aggregate_logs(std::unique_ptr<AggregatedLogs> state,
                                                 const StepOutput& step) override;
  Logs reduce_aggregated_logs(AggregatedLogs& state, std::int64_t global_step) override;
  const void* extension(std::string_view id) const noexcept override;
  std::vector<GeneratedText> generate(Model& model, std::span<const std::string> prompts,
                                      const GenerateOptions& options,
                                      const OnText& on_text) const override;
  const Tokenizer* text_tokenizer() const override { return tokenizer().get(); }
  // Prompts are the ids of a row up to its first label that counts.
  std::vector<std::optional<DecodedExample>> decode(
      const Batch& batch, Model& model, const BatchDecodeOptions& options) const override;
  // That of guessing by chance, with the model's entropy_loss_weight.
  Range expected_initial_loss() const override;
  // How likely a row is: "tokens" (the sum of their weights), their "log_probability" in nats, and
  // "log_pplx", the loss per token.
  std::vector<Value> predictions(const Batch& batch, const NestedMap& outputs) const override;

 private:
  // `options` must outlive it.
  Generation generation_of(const Model& model, const GenerateOptions& options) const;
  bool has_start_token() const;

  double entropy_loss_weight() const;

  DecodeConfig decode_;
  bool add_bos_;
  std::optional<std::int32_t> prompt_end_;
  SampleLog samples_;
};

}  // namespace trivet::lm
