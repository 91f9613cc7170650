// SPDX-License-Identifier: Apache-2.0
#include "lm/tasks/language_modeling.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "lm/decoding/text_generation.h"
#include "lm/metrics/real_rows.h"
#include "lm/metrics/token_metrics.h"
#include "lm/tasks/batch_decoding.h"
#include "lm/tasks/model_fields.h"
#include "trivet/error.h"
#include "trivet/ops/host_array.h"

namespace trivet::lm {
namespace {

constexpr const char* kEntropyMean = "avg_entropy_loss";  // as lm/LanguageModel names it
constexpr const char* kEntropyWeight = "entropy_loss_weight";

const NextToken& next_token_of(const Model& model) {
  const auto* next = static_cast<const NextToken*>(model.extension(kModelNextToken));
  if (next == nullptr) {
    throw UsageError(
        "the model does not predict tokens from earlier tokens only, so it "
        "cannot continue texts");
  }
  return *next;
}

// Null without a draft. Throws UsageError unless its ids are those of `own`.
const NextToken* draft_of(const DraftModel& draft, const Tokenizer& own) {
  if (draft.model == nullptr) return nullptr;
  const Tokenizer* const other =
      draft.generator != nullptr ? draft.generator->text_tokenizer() : nullptr;
  if (other == nullptr) throw UsageError("the draft's task has no tokenizer to compare");
  if (other->vocabulary_size() != own.vocabulary_size()) {
    throw UsageError(
        fmt::format("the draft has {} tokens, and the model {}: they must have the same tokenizer",
                    other->vocabulary_size(), own.vocabulary_size()));
  }
  for (std::int32_t id = 0; id < own.vocabulary_size(); ++id) {
    if (other->token_text(id) == own.token_text(id)) continue;
    throw UsageError(fmt::format(
        "token {} of the draft is another text than that of the model: they must have the "
        "same tokenizer",
        id));
  }
  return &next_token_of(*draft.model);
}

// The token that ends prompts, as it ended inputs in training. Empty if inputs had no end token.
std::optional<std::int32_t> prompt_end_of(const LanguageModelingConfig& config,
                                          const Tokenizer* tokenizer) {
  const Value* inputs_eos = config.train_input.fields().find("inputs_eos");
  const bool trained =
      inputs_eos != nullptr && inputs_eos->is_boolean() && inputs_eos->as_boolean();
  if (tokenizer == nullptr || !config.prompt_eos.value_or(trained)) return std::nullopt;
  const Value* own = config.train_input.fields().find("eos_id");
  if (own != nullptr && own->is_integer()) return static_cast<std::int32_t>(own->as_integer());
  if (tokenizer->eos_id()) return tokenizer->eos_id();
  throw ConfigError(Diagnostic{.path = "task.prompt_eos",
                               .what = "is true, but the tokenizer has no end token",
                               .hint = "set prompt_eos = false, or name a tokenizer that has one"});
}

}  // namespace

void LanguageModelingConfig::validate(Diagnostics& diagnostics) const {
  TokenTaskConfig::validate(diagnostics);
  check_decode(decode, diagnostics);
}

LanguageModeling::LanguageModeling(const Config& config, TaskContext& context)
    : TextTask(config, context),
      decode_(config.decode),
      add_bos_(config.add_bos.value_or(has_start_token())),
      prompt_end_(prompt_end_of(config, tokenizer().get())),
      samples_(config.sample_prompts, logging_dir(), bool(config.tokenizer)) {
  if (tokenizer() == nullptr && config.tokenizer) return;  // on a meta device
  if (add_bos_ && !has_start_token()) {
    throw ConfigError(
        Diagnostic{.path = "task.add_bos", .what = "is set, but the tokenizer has no start token"});
  }
}

bool LanguageModeling::has_start_token() const {
  return tokenizer() != nullptr && tokenizer()->bos_id().has_value();
}

Metrics LanguageModeling::build_metrics(Phase) {
  Metrics metrics;
  metrics.push_back(std::make_unique<TokenMetrics>(TokenMetricsConfig{}));
  if (entropy_loss_weight() != 0) {
    metrics.push_back(std::make_unique<LossTermMeans>(std::vector<LossTerm>{{kEntropyMean}}));
  }
  return with_losses(std::move(metrics));
}

double LanguageModeling::entropy_loss_weight() const {
  return config().model ? config().model.fields().float_or(kEntropyWeight, 0) : 0;
}

ExpectedInitialLoss::Range LanguageModeling::expected_initial_loss() const {
  Range range = TextTask::expected_initial_loss();
  const double weight = entropy_loss_weight();
  if (weight == 0) return range;
  // The entropy lies below that of chance by as much as the cross entropy lies above it.
  const double chance = 2 * range.low, least = chance - 2;
  range.low -= std::max(weight * chance, weight * least);
  range.high -= std::min(weight * chance, weight * least);
  range.reason += ", and entropy_loss_weight times as much negative entropy";
  return range;
}

StepOutput LanguageModeling::validation_step(const Batch& batch, StepState& state) {
  StepOutput step = TextTask::validation_step(batch, state);
  samples_.evaluates(state.model);
  return step;
}

std::unique_ptr<AggregatedLogs> LanguageModeling::aggregate_logs(
    std::unique_ptr<AggregatedLogs> state, const StepOutput&) {
  return is_first_set(*this) ? samples_.start(std::move(state)) : std::move(state);
}

Logs LanguageModeling::reduce_aggregated_logs(AggregatedLogs& state, std::int64_t global_step) {
  samples_.write(state, *this, global_step);
  return {};
}

const void* LanguageModeling::extension(std::string_view id) const noexcept {
  if (id == kTaskTextGenerator) return static_cast<const TextGenerator*>(this);
  if (id == kTaskBatchDecoder) return static_cast<const BatchDecoder*>(this);
  if (id == kTaskPredictor) return static_cast<const Predictor*>(this);
  return TextTask::extension(id);
}

std::vector<Value> LanguageModeling::predictions(const Batch& batch,
                                                 const NestedMap& outputs) const {
  const Tensor& weights = batch.at("weights");
  const HostArray<float> losses(outputs.at("per_example_xent")), counts(weights);
  const std::int64_t length = weights.dim(1);
  std::vector<Value> columns;
  for (const bool is_real : real_rows(batch, weights.dim(0))) {
    const std::int64_t begin = std::ssize(columns) * length;
    Value& row = columns.emplace_back();
    if (!is_real) continue;
    double sum = 0, tokens = 0;
    for (std::int64_t i = begin; i < begin + length; ++i) {
      if (counts[i] == 0) continue;
      sum += static_cast<double>(counts[i]) * losses[i];
      tokens += counts[i];
    }
    row = Value::table({{"tokens", tokens}, {"log_probability", -sum}});
    row.set("log_pplx", tokens > 0 ? Value(sum / tokens) : Value());
  }
  return columns;
}

Generation LanguageModeling::generation_of(const Model& model,
                                           const GenerateOptions& options) const {
  if (!tokenizer()) {
    throw UsageError("the run's task has no tokenizer, so it cannot read text",
                     {.hint = "name one: --set task.tokenizer=tokenizers/Bytes"});
  }
  return {.model = next_token_of(model),
          .device = device(),
          .tokenizer = *tokenizer(),
          .config = decode_,
          .bos = add_bos_ ? tokenizer()->bos_id() : std::nullopt,
          .prompt_end = prompt_end_,
          .eos = tokenizer()->eos_id(),
          .draft = draft_of(options.draft, *tokenizer()),
          .options = options};
}

std::vector<GeneratedText> LanguageModeling::generate(Model& model,
                                                      std::span<const std::string> prompts,
                                                      const GenerateOptions& options,
                                                      const OnText& on_text) const {
  return lm::generate(generation_of(model, options), prompts, on_text);
}

std::vector<std::optional<DecodedExample>> LanguageModeling::decode(
    const Batch& batch, Model& model, const BatchDecodeOptions& options) const {
  const std::vector<std::optional<PromptedRow>> rows = prompted_rows(batch);
  std::vector<TokenIds> prompts;
  std::vector<std::uint64_t> numbers;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!rows[row]) continue;
    for (std::int64_t i = 0; i < options.num_samples; ++i) prompts.push_back(rows[row]->prompt);
    numbers.push_back(options.first_example + row);
  }
  const GenerateOptions samples = options_of_samples(options, numbers, decode_.beam_size);
  const Generation generation = generation_of(model, samples);
  std::vector<DecodedExample> written =
      grouped(generate_after(generation, std::move(prompts), {}), options.num_samples);
  std::vector<std::optional<DecodedExample>> examples(rows.size());
  std::size_t next = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!rows[row]) continue;
    DecodedExample& example = examples[row].emplace(std::move(written[next++]));
    example.prompt =
        text_of(*tokenizer(), rows[row]->prompt, generation.bos, generation.prompt_end);
    example.references = {
        text_of(*tokenizer(), rows[row]->reference, std::nullopt, generation.eos)};
  }
  return examples;
}

}  // namespace trivet::lm
