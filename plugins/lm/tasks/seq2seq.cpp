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

// Only a cache tells the rows of several sources apart.
bool has_cache(const TargetDecoding& decoding, const Tensor& source) {
  return decoding.with_sources({&source, 1})->make_cache(1, 1) != nullptr;
}

bool is_same_source(const Tensor& a, const Tensor& b) {
  return a.to_host<std::int32_t>() == b.to_host<std::int32_t>();
}

}  // namespace

void Seq2SeqConfig::validate(Diagnostics& diagnostics) const {
  TokenTaskConfig::validate(diagnostics);
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
      eos_id_(config.eos_id),
      samples_(config.sample_prompts, logging_dir(), bool(config.tokenizer)) {}

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

StepOutput Seq2Seq::validation_step(const Batch& batch, StepState& state) {
  StepOutput step = TextTask::validation_step(batch, state);
  samples_.evaluates(state.model);
  return step;
}

std::unique_ptr<AggregatedLogs> Seq2Seq::aggregate_logs(std::unique_ptr<AggregatedLogs> state,
                                                        const StepOutput&) {
  return is_first_set(*this) ? samples_.start(std::move(state)) : std::move(state);
}

Logs Seq2Seq::reduce_aggregated_logs(AggregatedLogs& state, std::int64_t global_step) {
  samples_.write(state, *this, global_step);
  return {};
}

const void* Seq2Seq::extension(std::string_view id) const noexcept {
  if (id == kTaskTextGenerator) return static_cast<const TextGenerator*>(this);
  if (id == kTaskBatchDecoder) return static_cast<const BatchDecoder*>(this);
  return TextTask::extension(id);
}

std::vector<std::int32_t> Seq2Seq::source_of(const std::string& text,
                                             const std::string& name) const {
  std::vector<std::int32_t> ids = source_with_end(text);
  if (text.empty() || ids.empty()) {
    throw UsageError(name + " is empty, so there is no source",
                     {.hint = "give a prompt of at least one character"});
  }
  return ids;
}

std::vector<std::int32_t> Seq2Seq::source_with_end(const std::string& text) const {
  std::vector<std::int32_t> ids = tokenizer()->encode(text);
  const std::optional<std::int32_t> eos = eos_id_ ? eos_id_ : tokenizer()->eos_id();
  if (eos) ids.push_back(*eos);
  return ids;
}

// May be the end token alone.
Tensor Seq2Seq::unconditional_source() const {
  const std::vector<std::int32_t> ids = source_with_end(decode_.unconditional_prompt);
  if (ids.empty()) {
    throw UsageError("task.decode.unconditional_prompt is empty, and sources have no end token",
                     {.hint = "set it to a text of at least one character"});
  }
  return source_tensor(ids);
}

Tensor Seq2Seq::source_tensor(const std::vector<std::int32_t>& source) const {
  return Tensor::from<std::int32_t>(device(), source, {1, std::ssize(source)});
}

void Seq2Seq::require_tokenizer() const {
  if (target_tokenizer_) return;
  throw UsageError("the run's task has no tokenizer, so it cannot read text",
                   {.hint = "name one: --set task.tokenizer=tokenizers/Bytes"});
}

std::vector<GeneratedText> Seq2Seq::generate(Model& model, std::span<const std::string> prompts,
                                             const GenerateOptions& options,
                                             const OnText& on_text) const {
  require_tokenizer();
  std::vector<Tensor> sources;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    sources.push_back(
        source_tensor(source_of(prompts[i], name_of_prompt(options, i, prompts.size()))));
  }
  return write_targets(model, sources, options, on_text);
}

std::vector<std::optional<DecodedExample>> Seq2Seq::decode(
    const Batch& batch, Model& model, const BatchDecodeOptions& options) const {
  require_tokenizer();
  const auto ids = unpadded_rows(batch, "src/ids", "src/paddings");
  std::vector<std::optional<PromptedRow>> targets;
  if (Batch given = batch.child("tgt"); !given.empty()) {
    if (const Tensor* weight = batch.find("weight")) given.set("weight", *weight);
    targets = prompted_rows(given);
  }
  std::vector<Tensor> sources;
  std::vector<std::uint64_t> numbers;
  for (std::size_t row = 0; row < ids.size(); ++row) {
    if (!ids[row]) continue;
    const Tensor source = source_tensor(*ids[row]);
    sources.insert(sources.end(), static_cast<std::size_t>(options.num_samples), source);
    numbers.push_back(options.first_example + row);
  }
  const GenerateOptions samples = options_of_samples(options, numbers, decode_.beam_size);
  std::vector<DecodedExample> written =
      grouped(write_targets(model, sources, samples, {}), options.num_samples);
  const auto eos = [&](const Tokenizer& tokenizer) {
    return eos_id_ ? eos_id_ : tokenizer.eos_id();
  };
  std::vector<std::optional<DecodedExample>> examples(ids.size());
  std::size_t next = 0;
  for (std::size_t row = 0; row < ids.size(); ++row) {
    if (!ids[row]) continue;
    DecodedExample& example = examples[row].emplace(std::move(written[next++]));
    example.prompt = text_of(*tokenizer(), *ids[row], std::nullopt, eos(*tokenizer()));
    if (targets.empty()) continue;
    example.references = {text_of(*target_tokenizer_, targets[row]->reference, std::nullopt,
                                  eos(*target_tokenizer_))};
  }
  return examples;
}

std::vector<GeneratedText> Seq2Seq::write_targets(Model& model, const std::vector<Tensor>& all,
                                                  const GenerateOptions& options,
                                                  const OnText& on_text) const {
  const auto bos = bos_id_ ? bos_id_ : target_tokenizer_->bos_id();
  if (!bos) {
    throw UsageError("targets start with BOS, but the tokenizer has none",
                     {.hint = "set task.bos_id to the bos_id of the run's train_input"});
  }
  const TargetDecoding& decoding = target_decoding_of(model);
  if (options.draft.model != nullptr) {
    throw UsageError("a draft guesses for language models; this task reads a source");
  }
  const DecodeConfig config = with_options(decode_, options);
  const bool guided = config.cf_guidance_scale != 1;
  const bool searches = config.beam_size > 1;
  const auto decode = [&](std::size_t first, std::size_t count) {
    std::vector<Tensor> sources(all.begin() + static_cast<std::ptrdiff_t>(first),
                                all.begin() + static_cast<std::ptrdiff_t>(first + count));
    if (searches) sources.resize(1);
    if (guided) sources.insert(sources.end(), count, unconditional_source());
    const auto target = decoding.with_sources(sources);
    DecodeConfig own = decode_;
    own.unconditional_prompt.clear();  // is a source
    const GenerateOptions part = part_of(options, first, count);
    const Generation generation{.model = *target,
                                .device = device(),
                                .tokenizer = *target_tokenizer_,
                                .config = own,
                                .bos = bos,
                                .eos = eos_id_ ? eos_id_ : target_tokenizer_->eos_id(),
                                .options = part};
    const OnText piece_of = [&](std::size_t i, std::string_view piece) {
      if (on_text) on_text(first + i, piece);
    };
    const std::vector<std::string> starts(count);
    std::vector<GeneratedText> texts = lm::generate(generation, starts, piece_of);
    for (std::size_t i = 0; i < count; ++i) texts[i].prompt_tokens = all[first + i].dim(1);
    return texts;
  };
  auto batch = static_cast<std::size_t>(config.num_cache_slots);
  if (!all.empty() && !searches && !has_cache(decoding, all[0])) {
    if (guided) {
      throw UsageError(
          "task.decode.cf_guidance_scale needs a decoder with a cache, and a layer of "
          "the model has none");
    }
    batch = 1;
  }
  std::vector<GeneratedText> texts;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t count = std::min(batch, all.size() - i);
    if (searches) {  // samples of one source are of one search
      count = 1;
      while (i + count < all.size() && is_same_source(all[i], all[i + count])) ++count;
    }
    for (GeneratedText& text : decode(i, count)) texts.push_back(std::move(text));
    i += count;
  }
  return texts;
}

}  // namespace trivet::lm
