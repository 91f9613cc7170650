// SPDX-License-Identifier: Apache-2.0
// Seq2Seq: a model learns to write a target for a source, by the mean cross entropy over the
// target's tokens whose weights are not 0, each predicted from the true tokens before it (teacher
// forcing; Praxis' SequenceModel as a task). Its input is data/SequenceToSequence.
//
// The metrics are those of TokenMetrics. `trivet generate` takes sources as prompts and writes
// targets. After each evaluation the targets of `sample_prompts` go to samples.jsonl in the run's
// directory, once per evaluation.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lm/decoding/decode_config.h"
#include "lm/tasks/sample_log.h"
#include "lm/tasks/text_task.h"
#include "trivet/extensions/batch_decoder.h"
#include "trivet/extensions/text_generator.h"

namespace trivet::lm {

struct Seq2SeqConfig : TokenTaskConfig {
  ConfigOf<Tokenizer> target_tokenizer;
  DecodeConfig decode;
  std::optional<std::int32_t> bos_id;
  std::optional<std::int32_t> eos_id;
  std::vector<std::string> sample_prompts;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(Seq2SeqConfig, TokenTaskConfig,
              (target_tokenizer, "Tokenizer of the targets; none: that of the sources."),
              (decode, "Settings of the generation of targets.", adjustable),
              (bos_id, "Id that targets start with; unset: the tokenizer's BOS.", at_least(0)),
              (eos_id, "Id that ends both sides; unset: EOS of their tokenizers.", at_least(0)),
              (sample_prompts,
               "Sources whose targets are written after each evaluation, to samples.jsonl.",
               adjustable))

class Seq2Seq final : public TextTask, public TextGenerator, public BatchDecoder {
 public:
  using Config = Seq2SeqConfig;
  Seq2Seq(const Config& config, TaskContext& context);

  std::unique_ptr<Model> build_model(const ConfigOf<Model>& config, Scope& scope) override;
  std::unique_ptr<Input> build_inputs(const ConfigOf<Input>& config,
                                      InputContext& context) override;
  Metrics build_metrics(Phase phase) override;
  StepOutput validation_step(const Batch& batch, StepState& state) override;
  std::unique_ptr<AggregatedLogs> aggregate_logs(std::unique_ptr<AggregatedLogs> state,
                                                 const StepOutput& step) override;
  Logs reduce_aggregated_logs(AggregatedLogs& state, std::int64_t global_step) override;
  void process_metrics(Metrics& metrics, const Batch& batch, const NestedMap& outputs) override;
  const void* extension(std::string_view id) const noexcept override;
  std::vector<GeneratedText> generate(Model& model, std::span<const std::string> prompts,
                                      const GenerateOptions& options,
                                      const OnText& on_text) const override;
  bool continues_prompts() const override { return false; }
  // Writes targets for the sources of a batch, which need not have any.
  std::vector<std::optional<DecodedExample>> decode(
      const Batch& batch, Model& model, const BatchDecodeOptions& options) const override;

 private:
  const Tokenizer* told_tokenizer() const override { return target_tokenizer_.get(); }
  // Throws UsageError, naming the text, if it is empty.
  std::vector<std::int32_t> source_of(const std::string& text, const std::string& name) const;
  std::vector<std::int32_t> source_with_end(const std::string& text) const;
  Tensor unconditional_source() const;
  void require_tokenizer() const;
  // The targets of sources [1, S].
  std::vector<GeneratedText> write_targets(Model& model, const std::vector<Tensor>& all,
                                           const GenerateOptions& options,
                                           const OnText& on_text) const;
  // [1, S].
  Tensor source_tensor(const std::vector<std::int32_t>& source) const;

  std::shared_ptr<const Tokenizer> target_tokenizer_;  // null if there is none
  DecodeConfig decode_;
  std::optional<std::int32_t> bos_id_, eos_id_;
  SampleLog samples_;
  std::int64_t source_vocabulary_ = 0;  // of the model; 0: unknown
};

}  // namespace trivet::lm
