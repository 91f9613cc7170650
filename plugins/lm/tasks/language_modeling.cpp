// SPDX-License-Identifier: Apache-2.0
#include "lm/tasks/language_modeling.h"

#include <memory>
#include <utility>

#include "lm/decoding/text_generation.h"
#include "lm/metrics/token_metrics.h"
#include "lm/tasks/batch_decoding.h"
#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet::lm {
namespace {

// Holds the model under evaluation, which all parts of the data share.
struct Evaluated final : AggregatedLogs {
  Model* model = nullptr;

  Value save_state() const override { return Value::table({}); }
  void merge(const Value&) override {}
};

// Samples are written once, not for each data set of an evaluation.
bool is_first_set(const Task& task) {
  if (task.eval_set().empty()) return true;
  const TaskConfig& config = task.config();
  return !config.eval_input.has_value() && task.eval_set() == config.eval_inputs.front().name;
}

const NextToken& next_token_of(const Model& model) {
  const auto* next = static_cast<const NextToken*>(model.extension(kModelNextToken));
  if (next == nullptr) {
    throw UsageError(
        "the model does not predict tokens from earlier tokens only, so it "
        "cannot continue texts");
  }
  return *next;
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
  check_decode(decode, diagnostics);
}

LanguageModeling::LanguageModeling(const Config& config, TaskContext& context)
    : TextTask(config, context),
      decode_(config.decode),
      add_bos_(config.add_bos.value_or(has_start_token())),
      prompt_end_(prompt_end_of(config, tokenizer().get())),
      sample_prompts_(config.sample_prompts) {
  if (!sample_prompts_.empty() && !logging_dir().empty()) {
    samples_ = std::make_unique<RunLog>(logging_dir(), "samples.jsonl", RunLog::Of::evaluation);
  }
  if (!config.tokenizer && !sample_prompts_.empty()) {
    throw ConfigError(Diagnostic{.path = "task.sample_prompts",
                                 .what = "is set, but the task has no tokenizer",
                                 .hint = "for example tokenizer = \"tokenizers/Bytes\""});
  }
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
  return with_losses(std::move(metrics));
}

StepOutput LanguageModeling::validation_step(const Batch& batch, StepState& state) {
  StepOutput step = TextTask::validation_step(batch, state);
  evaluated_ = &state.model;
  return step;
}

std::unique_ptr<AggregatedLogs> LanguageModeling::aggregate_logs(
    std::unique_ptr<AggregatedLogs> state, const StepOutput&) {
  if (samples_ == nullptr || !is_first_set(*this)) return state;
  if (state == nullptr) state = std::make_unique<Evaluated>();
  static_cast<Evaluated&>(*state).model = evaluated_;
  return state;
}

Logs LanguageModeling::reduce_aggregated_logs(AggregatedLogs& state, std::int64_t global_step) {
  write_samples(*static_cast<Evaluated&>(state).model, global_step);
  return {};
}

void LanguageModeling::write_samples(Model& model, std::int64_t global_step) {
  const std::vector<GeneratedText> texts = generate(model, sample_prompts_, {}, {});
  for (std::size_t i = 0; i < texts.size(); ++i) {
    samples_->append(global_step, Value::table({{"prompt", sample_prompts_[i]},
                                                {"text", texts[i].text},
                                                {"tokens", texts[i].tokens},
                                                {"log_probability", texts[i].log_probability},
                                                {"end", enum_name(texts[i].end)}}));
  }
}

const void* LanguageModeling::extension(std::string_view id) const noexcept {
  if (id == kTaskTextGenerator) return static_cast<const TextGenerator*>(this);
  if (id == kTaskBatchDecoder) return static_cast<const BatchDecoder*>(this);
  return TextTask::extension(id);
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
          .config = with_options(decode_, options),
          .bos = add_bos_ ? tokenizer()->bos_id() : std::nullopt,
          .prompt_end = prompt_end_,
          .eos = tokenizer()->eos_id(),
          .seed = options.seed,
          .draws = options.draws,
          .stop = options.stop};
}

std::vector<GeneratedText> LanguageModeling::generate(Model& model,
                                                      std::span<const std::string> prompts,
                                                      const GenerateOptions& options,
                                                      const OnText& on_text) const {
  return lm::generate(generation_of(model, options), prompts, on_text);
}

std::vector<std::optional<DecodedExample>> LanguageModeling::decode(
    const Batch& batch, Model& model, const BatchDecodeOptions& options) const {
  const Generation generation = generation_of(model, {});
  const std::vector<std::optional<PromptedRow>> rows = prompted_rows(batch);
  std::vector<TokenIds> prompts;
  std::vector<std::uint64_t> numbers;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!rows[row]) continue;
    prompts.push_back(rows[row]->prompt);
    numbers.push_back(options.first_example + row);
  }
  std::vector<DecodedExample> written = decode_prompts(generation, prompts, numbers, options);
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
