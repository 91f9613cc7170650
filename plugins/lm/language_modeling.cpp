// SPDX-License-Identifier: Apache-2.0
#include "language_modeling.h"

#include <fstream>
#include <limits>
#include <utility>

#include "generate.h"
#include "token_metrics.h"
#include "trivet/enums.h"
#include "trivet/error.h"
#include "trivet/extensions/text.h"
#include "trivet/json.h"
#include "trivet/ops.h"
#include "trivet/registry.h"

namespace trivet::lm {
namespace {

// The model that is being evaluated.
struct Evaluated final : AggregatedLogs {
  Model* model = nullptr;
};

const NextToken& next_token_of(const Model& model) {
  const auto* next = static_cast<const NextToken*>(model.extension(kModelNextToken));
  if (next == nullptr) {
    throw UsageError(
        "the model does not predict tokens from those before them alone, so it "
        "cannot continue texts");
  }
  return *next;
}

std::string_view name_of(GeneratedText::End end) {
  switch (end) {
    case GeneratedText::End::end_token:
      return "end_token";
    case GeneratedText::End::stop_text:
      return "stop_text";
    case GeneratedText::End::model_length:
      return "model_length";
    case GeneratedText::End::max_tokens:
      break;
  }
  return "max_tokens";
}

}  // namespace

void LanguageModelingConfig::validate(Problems& problems) const {
  if (decode.min_decode_steps > decode.max_decode_steps) {
    problems.add("decode.min_decode_steps", "is more than max_decode_steps");
  }
}

LanguageModeling::LanguageModeling(const Config& config, TaskContext& context)
    : Task(config, context),
      tokenizer_(config.tokenizer ? make(config.tokenizer) : nullptr),
      decode_(config.decode),
      add_bos_(config.add_bos.value_or(has_start_token())),
      sample_prompts_(config.sample_prompts) {
  if (!tokenizer_ && !sample_prompts_.empty()) {
    throw ConfigError(Problem{.path = "task.sample_prompts",
                              .what = "is set, and the task has no tokenizer",
                              .hint = "for example tokenizer = \"tokenizers/Bytes\""});
  }
  if (add_bos_ && !has_start_token()) {
    throw ConfigError(
        Problem{.path = "task.add_bos", .what = "is set, and the tokenizer has no start token"});
  }
}

bool LanguageModeling::has_start_token() const {
  return tokenizer_ != nullptr && tokenizer_->bos_id().has_value();
}

std::unique_ptr<Model> LanguageModeling::build_model(const ConfigOf<Model>& config, Scope& scope) {
  std::unique_ptr<Model> model = Task::build_model(sized(config), scope);
  const auto* next = static_cast<const NextToken*>(model->extension(kModelNextToken));
  if (next == nullptr) return model;
  vocabulary_size_ = next->vocabulary_size();
  if (tokenizer_ && vocabulary_size_ < tokenizer_->vocabulary_size()) {
    throw ConfigError(Problem{.path = "task.model.vocab_size",
                              .what = "is " + std::to_string(vocabulary_size_) +
                                      ", and the tokenizer has " +
                                      std::to_string(tokenizer_->vocabulary_size()) + " tokens",
                              .hint = "leave it out, or make it at least that"});
  }
  return model;
}

// With the tokenizer's vocab_size where it has none.
ConfigOf<Model> LanguageModeling::sized(const ConfigOf<Model>& config) const {
  if (!tokenizer_ || !config.has_value()) return config;
  const Value* given = config.fields().find("vocab_size");
  if (given != nullptr && !(*given == Value(0))) return config;
  Value fields = config.fields();
  fields.set("vocab_size", tokenizer_->vocabulary_size());
  return {std::string(config.key()), std::move(fields)};
}

std::unique_ptr<Input> LanguageModeling::build_inputs(const ConfigOf<Input>& config,
                                                      InputContext& context) {
  context.tokenizer = tokenizer_;
  std::unique_ptr<Input> input = Task::build_inputs(config, context);
  const TextInput* text = text_input(*input);
  if (text != nullptr && vocabulary_size_ > 0 && text->vocabulary_size() > vocabulary_size_) {
    throw ConfigError(
        Problem{.path = context.name,
                .what = "has ids below " + std::to_string(text->vocabulary_size()) +
                        ", and the model knows " + std::to_string(vocabulary_size_),
                .hint = "give both the same tokenizer, or set task.model.vocab_size"});
  }
  return input;
}

Tensor LanguageModeling::build_losses(const Batch&, const NestedMap& outputs,
                                      const FpropContext& context, double& weight) {
  weight = outputs.at("total_weight").item();
  Tensor loss = outputs.at("avg_xent");
  for (const auto& [name, auxiliary] : context.aux_losses) loss = ops::add(loss, auxiliary);
  return loss;
}

Metrics LanguageModeling::build_metrics(bool) {
  Metrics metrics;
  metrics.push_back(std::make_unique<TokenMetrics>(TokenMetricsConfig{}));
  return metrics;
}

StepOutput LanguageModeling::validation_step(const Batch& batch, StepState& state) {
  StepOutput step = Task::validation_step(batch, state);
  evaluated_ = &state.model;
  return step;
}

std::unique_ptr<AggregatedLogs> LanguageModeling::aggregate_logs(
    std::unique_ptr<AggregatedLogs> state, const StepOutput&) {
  if (sample_prompts_.empty() || logging_dir().empty()) return state;
  if (state == nullptr) state = std::make_unique<Evaluated>();
  static_cast<Evaluated&>(*state).model = evaluated_;
  return state;
}

Logs LanguageModeling::reduce_aggregated_logs(AggregatedLogs& state, std::int64_t global_step) {
  write_samples(*static_cast<Evaluated&>(state).model, global_step);
  return {};
}

void LanguageModeling::write_samples(Model& model, std::int64_t global_step) const {
  const std::vector<GeneratedText> texts = generate(model, sample_prompts_, {}, {});
  std::ofstream file(logging_dir() / "samples.jsonl", std::ios::app);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    file << to_json(Value::table({{"step", global_step},
                                  {"prompt", sample_prompts_[i]},
                                  {"text", texts[i].text},
                                  {"tokens", texts[i].tokens},
                                  {"log_probability", texts[i].log_probability},
                                  {"end", name_of(texts[i].end)}}))
         << '\n';
  }
  if (!file.flush()) {
    throw RunError("cannot write " + (logging_dir() / "samples.jsonl").string());
  }
}

const void* LanguageModeling::extension(std::string_view id) const noexcept {
  if (id == kTaskFirstLoss) return static_cast<const FirstLoss*>(this);
  if (id == kTaskTextGenerator) return static_cast<const TextGenerator*>(this);
  return Task::extension(id);
}

FirstLoss::Range LanguageModeling::first_loss() const {
  const bool known = vocabulary_size_ > 0 || tokenizer_ != nullptr;
  if (!known) return {0, std::numeric_limits<double>::infinity(), "a loss of unknown size"};
  return chance_of(vocabulary_size_ > 0 ? vocabulary_size_ : tokenizer_->vocabulary_size());
}

std::vector<GeneratedText> LanguageModeling::generate(Model& model,
                                                      std::span<const std::string> prompts,
                                                      const GenerateOptions& options,
                                                      const OnText& on_text) const {
  if (!tokenizer_) {
    throw UsageError("the run's task has no tokenizer, so it has no texts",
                     {.hint = "name one: --set task.tokenizer=tokenizers/Bytes"});
  }
  const Generation generation{.model = next_token_of(model),
                              .device = device(),
                              .tokenizer = *tokenizer_,
                              .config = with_options(decode_, options),
                              .add_bos = add_bos_,
                              .seed = options.seed,
                              .stop = options.stop};
  return lm::generate(generation, prompts, on_text);
}

}  // namespace trivet::lm
