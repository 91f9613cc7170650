// SPDX-License-Identifier: Apache-2.0
#include "lm/tasks/seq2seq.h"

#include <algorithm>
#include <string>
#include <utility>

#include "lm/decoding/text_generation.h"
#include "lm/metrics/token_metrics.h"
#include "lm/tasks/batch_decoding.h"
#include "lm/tasks/model_fields.h"
#include "trivet/error.h"
#include "trivet/extensions/target_decoding.h"
#include "trivet/plugin/registry.h"

namespace trivet::lm {
namespace {

const TargetDecoding& target_decoding_of(const Model& model) {
  const auto* decoding = static_cast<const TargetDecoding*>(model.extension(kModelTargetDecoding));
  if (decoding != nullptr) return *decoding;
  throw UsageError("the model has no decoder for targets of a source");
}

}  // namespace

void Seq2SeqConfig::validate(Diagnostics& diagnostics) const {
  check_decode(decode, diagnostics);
  if (target_tokenizer && !tokenizer) {
    diagnostics.add("tokenizer", "is not set, but target_tokenizer is");
  }
}

Seq2Seq::Seq2Seq(const Config& config, TaskContext& context)
    : TextTask(config, context),
      target_tokenizer_(config.target_tokenizer ? make(config.target_tokenizer) : tokenizer()),
      decode_(config.decode),
      bos_id_(config.bos_id),
      eos_id_(config.eos_id) {}

// Sets the size of the sources' vocabulary if it differs and the config does not set it.
std::unique_ptr<Model> Seq2Seq::build_model(const ConfigOf<Model>& config, Scope& scope) {
  const bool own = tokenizer() != target_tokenizer_;
  const ConfigOf<Model> sized =
      own ? with_integer(config, "source_vocab_size", tokenizer()->vocabulary_size()) : config;
  std::unique_ptr<Model> model = TextTask::build_model(sized, scope);
  source_vocabulary_ = integer_field(sized, "source_vocab_size");
  if (source_vocabulary_ == 0) source_vocabulary_ = vocabulary_size();
  return model;
}

std::unique_ptr<Input> Seq2Seq::build_inputs(const ConfigOf<Input>& config, InputContext& context) {
  std::unique_ptr<Input> input = TextTask::build_inputs(config, context);
  check_known_ids(*input, TextInput::Side::source, source_vocabulary_, context.name);
  const TextInput* text = text_input(*input);
  const Tokenizer* written = text != nullptr ? text->tokenizer(TextInput::Side::target) : nullptr;
  if (written != nullptr && target_tokenizer_ &&
      written->fingerprint() != target_tokenizer_->fingerprint()) {
    throw ConfigError(Diagnostic{.path = context.name + ".target_tokenizer",
                                 .what = "differs from the tokenizer of the task's targets",
                                 .hint = "target_tokenizer = \"${task.target_tokenizer}\""});
  }
  return input;
}

Metrics Seq2Seq::build_metrics(Phase) {
  Metrics metrics;
  metrics.push_back(std::make_unique<TokenMetrics>(TokenMetricsConfig{}));
  return with_losses(std::move(metrics));
}

void Seq2Seq::process_metrics(Metrics& metrics, const Batch& batch, const NestedMap& outputs) {
  const Batch target = batch.child("tgt");
  for (const auto& metric : metrics) metric->update_state(target, outputs);
}

const void* Seq2Seq::extension(std::string_view id) const noexcept {
  if (id == kTaskTextGenerator) return static_cast<const TextGenerator*>(this);
  if (id == kTaskBatchDecoder) return static_cast<const BatchDecoder*>(this);
  return TextTask::extension(id);
}

std::vector<std::int32_t> Seq2Seq::source_of(const std::string& text,
                                             const std::string& name) const {
  std::vector<std::int32_t> ids = tokenizer()->encode(text);
  if (ids.empty()) {
    throw UsageError(name + " is empty, so there is no source",
                     {.hint = "give a prompt of at least one character"});
  }
  const std::optional<std::int32_t> eos = eos_id_ ? eos_id_ : tokenizer()->eos_id();
  if (eos) ids.push_back(*eos);
  return ids;
}

Generation Seq2Seq::generation_of(const NextToken& target, const GenerateOptions& options) const {
  if (!target_tokenizer_) {
    throw UsageError("the run's task has no tokenizer, so it cannot read text",
                     {.hint = "name one: --set task.tokenizer=tokenizers/Bytes"});
  }
  const auto bos = bos_id_ ? bos_id_ : target_tokenizer_->bos_id();
  if (!bos) {
    throw UsageError("targets start with BOS, but the tokenizer has none",
                     {.hint = "set task.bos_id to the bos_id of the run's train_input"});
  }
  return {.model = target,
          .device = device(),
          .tokenizer = *target_tokenizer_,
          .config = with_options(decode_, options),
          .bos = bos,
          .eos = eos_id_ ? eos_id_ : target_tokenizer_->eos_id(),
          .seed = options.seed,
          .stop = options.stop};
}

std::vector<GeneratedText> Seq2Seq::generate(Model& model, std::span<const std::string> prompts,
                                             const GenerateOptions& options,
                                             const OnText& on_text) const {
  const TargetDecoding& decoding = target_decoding_of(model);
  const std::string nothing;
  std::vector<GeneratedText> texts;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const std::vector<std::int32_t> source =
        source_of(prompts[i], name_of_prompt(options.draws, i, prompts.size()));
    const auto target =
        decoding.with_source(Tensor::from<std::int32_t>(device(), source, {1, std::ssize(source)}));
    Generation generation = generation_of(*target, options);
    generation.draws = {draw_of(options.draws, i)};
    const OnText piece_of = [&](std::size_t, std::string_view piece) {
      if (on_text) on_text(i, piece);
    };
    GeneratedText text = lm::generate(generation, {&nothing, 1}, piece_of).at(0);
    text.prompt_tokens = std::ssize(source);
    texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<std::optional<DecodedExample>> Seq2Seq::decode(
    const Batch& batch, Model& model, const BatchDecodeOptions& options) const {
  const TargetDecoding& decoding = target_decoding_of(model);
  Batch targets = batch.child("tgt");
  if (const Tensor* weight = batch.find("weight")) targets.set("weight", *weight);
  const auto rows = prompted_rows(targets);
  const auto sources = unpadded_rows(batch, "src/ids", "src/paddings");
  std::vector<std::optional<DecodedExample>> examples(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!rows[row]) continue;
    const TokenIds& source = *sources[row];
    const auto target =
        decoding.with_source(Tensor::from<std::int32_t>(device(), source, {1, std::ssize(source)}));
    const Generation generation = generation_of(*target, {});
    DecodedExample& example = examples[row].emplace(
        decode_prompts(generation, {rows[row]->prompt}, {options.first_example + row}, options)
            .front());
    const std::optional<std::int32_t> source_eos = eos_id_ ? eos_id_ : tokenizer()->eos_id();
    example.prompt = text_of(*tokenizer(), source, std::nullopt, source_eos);
    example.references = {
        text_of(*target_tokenizer_, rows[row]->reference, std::nullopt, generation.eos)};
  }
  return examples;
}

}  // namespace trivet::lm
