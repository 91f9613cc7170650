// SPDX-License-Identifier: Apache-2.0
#include "lm/tasks/text_task.h"

#include <array>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "lm/tasks/meta_input.h"
#include "lm/tasks/model_fields.h"
#include "lm/tasks/stored_tokenizer.h"
#include "trivet/error.h"
#include "trivet/extensions/next_token.h"
#include "trivet/plugin/registry.h"
#include "trivet/tensor/meta_device.h"

namespace trivet::lm {
namespace {

// Returns 0 if neither the model nor its config knows the size.
std::int64_t vocabulary_of(const Model& model, const ConfigOf<Model>& config) {
  if (const auto* next = static_cast<const NextToken*>(model.extension(kModelNextToken))) {
    return next->vocabulary_size();
  }
  return integer_field(config, "vocab_size");
}

// Returns the stored tokenizer of a run that is resumed or inspected; a new run stores its own.
// Null if none exists or none is needed.
std::shared_ptr<const Tokenizer> tokenizer_for(const TextTaskConfig& config,
                                               const TaskContext& context) {
  const bool needless = is_meta(context.device) && integer_field(config.model, "vocab_size") > 0 &&
                        meta_input(config.train_input) != nullptr;
  if (!config.tokenizer || needless) return nullptr;
  const bool follows = !context.followed_dir.empty();
  const std::filesystem::path run = follows ? context.followed_dir : context.logging_dir;
  auto tokenizer = tokenizer_of_run(config.tokenizer, run);
  if (!follows && !run.empty() && !keeps_tokenizer(run)) store_tokenizer(*tokenizer, run);
  return tokenizer;
}

}  // namespace

void check_known_ids(const Input& input, TextInput::Side side, std::int64_t known,
                     const std::string& name) {
  const TextInput* text = text_input(input);
  if (text == nullptr || known == 0 || text->vocabulary_size(side) <= known) return;
  throw ConfigError(
      Diagnostic{.path = name,
                 .what = "has ids below " + std::to_string(text->vocabulary_size(side)) +
                         ", but the model has " + std::to_string(known),
                 .hint = "give both the same tokenizer, or set task.model.vocab_size"});
}

void TextTaskConfig::validate(Diagnostics& diagnostics) const {
  check_task_ids(*this, diagnostics);
}

TextTask::TextTask(const TextTaskConfig& config, TaskContext& context, std::vector<LossTerm> losses)
    : Task(config, context),
      tokenizer_config_(config.tokenizer),
      tokenizer_(tokenizer_for(config, context)),
      losses_(std::move(losses)) {}

Metrics TextTask::with_losses(Metrics metrics) const {
  if (!losses_.empty()) metrics.push_back(std::make_unique<LossTermMeans>(losses_));
  return metrics;
}

std::unique_ptr<Model> TextTask::build_model(const ConfigOf<Model>& config, Scope& scope) {
  const Tokenizer* told = told_tokenizer();
  const ConfigOf<Model> sized =
      told != nullptr ? with_integer(config, "vocab_size", told->vocabulary_size()) : config;
  std::unique_ptr<Model> model = Task::build_model(sized, scope);
  vocabulary_size_ = vocabulary_of(*model, sized);
  if (told != nullptr && vocabulary_size_ > 0 && vocabulary_size_ < told->vocabulary_size()) {
    throw ConfigError(Diagnostic{.path = "task.model.vocab_size",
                                 .what = "is " + std::to_string(vocabulary_size_) +
                                         ", but the tokenizer has " +
                                         std::to_string(told->vocabulary_size()) + " tokens",
                                 .hint = "remove it, or make it at least that"});
  }
  return model;
}

void TextTask::initialize(ParameterStore& store) {
  Task::initialize(store);
  check_loaded_embeddings();
}

void TextTask::check_loaded_embeddings() const {
  if (!init_report() || !tokenizer_) return;
  // Names of layers of this plugin's models that have a row per token; the sources' first.
  constexpr std::array<std::string_view, 4> kLayers = {"encoder_embedding", "decoder_embedding",
                                                       "embedding", "softmax"};
  const bool is_of_sources = told_tokenizer() != tokenizer_.get();
  check_loaded_tokens(*tokenizer_, tokenizer_config_, *init_report(),
                      std::span(kLayers).first(is_of_sources ? 1 : kLayers.size()));
}

std::unique_ptr<Input> TextTask::build_inputs(const ConfigOf<Input>& config,
                                              InputContext& context) {
  context.tokenizer = tokenizer_;
  if (is_meta(device())) {
    if (auto input = meta_input(config, row_prefixes(), loss_columns())) return input;
  }
  std::unique_ptr<Input> input = Task::build_inputs(config, context);
  for (const auto side : {TextInput::Side::only, TextInput::Side::target}) {
    check_known_ids(*input, side, vocabulary_size_, context.name);
  }
  return input;
}

WeightedScalar TextTask::build_losses(const Batch&, const NestedMap& outputs,
                                      const FpropContext& context) {
  Tensor loss = losses_.empty() ? outputs.at("avg_xent") : sum_of(losses_, outputs);
  return {add_aux_losses(std::move(loss), context), outputs.at("total_weight").item()};
}

const void* TextTask::extension(std::string_view id) const noexcept {
  if (id == kTaskExpectedInitialLoss) return static_cast<const ExpectedInitialLoss*>(this);
  if (id == kTaskTokenCount) return static_cast<const TokenCount*>(this);
  return Task::extension(id);
}

std::int64_t TextTask::tokens(const Batch& batch) const {
  std::int64_t tokens = 0;
  for (const char* ids :
       {"ids", "src/ids", "tgt/ids", "left/ids", "right/ids", "chosen/ids", "rejected/ids"}) {
    if (const Tensor* found = batch.find(ids)) tokens += found->size();
  }
  return tokens;
}

ExpectedInitialLoss::Range TextTask::expected_initial_loss() const {
  if (vocabulary_size_ > 0) return chance_of(vocabulary_size_);
  if (const Tokenizer* told = told_tokenizer()) return chance_of(told->vocabulary_size());
  return {0, std::numeric_limits<double>::infinity(), "a loss of unknown size"};
}

}  // namespace trivet::lm
