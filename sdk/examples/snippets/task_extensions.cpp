// SPDX-License-Identifier: Apache-2.0
// What the headers of extensions of tasks show: the expected loss, the tokens of a batch, and
// texts.
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/extensions/batch_decoder.h>
#include <trivet/extensions/expected_initial_loss.h>
#include <trivet/extensions/predictor.h>
#include <trivet/extensions/subtasks.h>
#include <trivet/extensions/text_generator.h>
#include <trivet/extensions/token_count.h>
#include <trivet/task.h>

#include "fixtures.h"

namespace task_extensions_example {

using namespace trivet;

namespace {

// What the tasks below do not show.
class OwnTask : public Task {
 public:
  explicit OwnTask(TaskContext& context) : Task({}, context) {}
  WeightedScalar build_losses(const Batch&, const NestedMap&, const FpropContext&) override {
    return {};
  }
};

class Classes final : public OwnTask, public ExpectedInitialLoss {
 public:
  using OwnTask::OwnTask;

  // [expected_initial_loss]
  const void* extension(std::string_view id) const noexcept override {
    if (id != kTaskExpectedInitialLoss) return nullptr;
    return static_cast<const ExpectedInitialLoss*>(this);
  }
  Range expected_initial_loss() const override { return chance_of(num_classes_); }
  // [/expected_initial_loss]

 private:
  std::int64_t num_classes_ = 10;
};

class Tokens final : public OwnTask, public TokenCount {
 public:
  using OwnTask::OwnTask;

  // [token_count]
  const void* extension(std::string_view id) const noexcept override {
    return id == kTaskTokenCount ? static_cast<const TokenCount*>(this) : nullptr;
  }
  std::int64_t tokens(const Batch& batch) const override { return batch.at("ids").size(); }
  // [/token_count]
};

class Echo final : public OwnTask, public TextGenerator {
 public:
  using OwnTask::OwnTask;

  // [text_generator]
  const void* extension(std::string_view id) const noexcept override {
    return id == kTaskTextGenerator ? static_cast<const TextGenerator*>(this) : nullptr;
  }
  // [/text_generator]

  std::vector<GeneratedText> generate(Model&, std::span<const std::string> prompts,
                                      const GenerateOptions&, const OnText&) const override {
    std::vector<GeneratedText> texts;
    for (const std::string& prompt : prompts) texts.push_back({.text = prompt});
    return texts;
  }
};

class Guesses final : public OwnTask, public Predictor {
 public:
  using OwnTask::OwnTask;

  // [predictor]
  const void* extension(std::string_view id) const noexcept override {
    return id == kTaskPredictor ? static_cast<const Predictor*>(this) : nullptr;
  }
  // [/predictor]

  std::vector<Value> predictions(const Batch& batch, const NestedMap& outputs) const override {
    return class_predictions(batch, outputs.at("logits"), names_);
  }

 private:
  std::vector<std::string> names_ = {"cat", "dog"};
};

class Mirror final : public OwnTask, public BatchDecoder {
 public:
  using OwnTask::OwnTask;

  // [batch_decoder]
  const void* extension(std::string_view id) const noexcept override {
    return id == kTaskBatchDecoder ? static_cast<const BatchDecoder*>(this) : nullptr;
  }
  // [/batch_decoder]

  std::vector<std::optional<DecodedExample>> decode(
      const Batch& batch, Model&, const BatchDecodeOptions& options) const override {
    const auto samples = static_cast<std::size_t>(options.num_samples);
    DecodedExample one{.prompt = "a",
                       .samples = std::vector<std::string>(samples, "a"),
                       .scores = std::vector<double>(samples, -1.0),
                       .references = {}};
    return std::vector<std::optional<DecodedExample>>(
        static_cast<std::size_t>(batch.at("ids").dim(0)), one);
  }
};

// Two tasks of one model.
class Pair final : public OwnTask, public Subtasks {
 public:
  Pair(TaskContext& context, Task& left, Task& right)
      : OwnTask(context), left_(left), right_(right) {}

  // [subtasks]
  const void* extension(std::string_view id) const noexcept override {
    return id == kTaskSubtasks ? static_cast<const Subtasks*>(this) : nullptr;
  }
  // [/subtasks]

  std::vector<Entry> subtasks(Model* model) const override {
    return {{.name = "left", .path = "left", .task = &left_, .model = model},
            {.name = "right", .path = "right", .task = &right_, .model = model}};
  }

 private:
  Task& left_;
  Task& right_;
};

class NoModel final : public Model {
 public:
  NestedMap fprop(const Batch&, FpropContext&) override { return {}; }
};

// The task as the program asks it, by the id of an extension.
template <class Extension>
const Extension* asked(const Task& task, std::string_view id) {
  return static_cast<const Extension*>(task.extension(id));
}

}  // namespace

TEST_CASE("example: a task says what it expects, counts tokens and continues texts") {
  const auto device = snippets::open_device();
  TaskContext context{.device = *device, .logging_dir = {}};
  const Classes classes(context);
  const auto range =
      asked<ExpectedInitialLoss>(classes, kTaskExpectedInitialLoss)->expected_initial_loss();
  CHECK(range.low < std::log(10.0));
  CHECK(range.high > std::log(10.0));
  CHECK(classes.extension(kTaskTokenCount) == nullptr);

  const Tokens tokens(context);
  const Batch batch{{"ids", Tensor::host({2, 5}, DType::i32)}};
  CHECK(asked<TokenCount>(tokens, kTaskTokenCount)->tokens(batch) == 10);

  const Echo echo(context);
  NoModel model;
  const std::vector<std::string> prompts = {"a", "b"};
  const auto texts =
      asked<TextGenerator>(echo, kTaskTextGenerator)->generate(model, prompts, {}, {});
  REQUIRE(texts.size() == 2);
  CHECK(texts[1].text == "b");
}

TEST_CASE("example: a task predicts the examples of a batch, and decodes them") {
  const auto device = snippets::open_device();
  TaskContext context{.device = *device, .logging_dir = {}};
  const Guesses guesses(context);
  const std::vector<float> logits = {0, 0, 3, 1, 1, 3}, weights = {1, 0, 1};
  const NestedMap outputs{{"logits", Tensor::from<float>(*device, logits, {3, 2})}};
  const Batch batch{{"weight", Tensor::from<float>(*device, weights, {3})}};
  const std::vector<Value> rows =
      asked<Predictor>(guesses, kTaskPredictor)->predictions(batch, outputs);
  REQUIRE(rows.size() == 3);
  // Of equal logits the first counts.
  CHECK(rows[0].at("class", "row").as_string() == "cat");
  CHECK(rows[0].at("probability", "row").as_float() == 0.5);
  CHECK(rows[1].is_null());
  CHECK(rows[2].at("class", "row").as_string() == "dog");
  CHECK(rows[2].at("probability", "row").as_float() == Approx(1 / (1 + std::exp(-2.0))));

  const Mirror mirror(context);
  NoModel model;
  const Batch ids{{"ids", Tensor::host({2, 5}, DType::i32)}};
  const auto decoded =
      asked<BatchDecoder>(mirror, kTaskBatchDecoder)->decode(ids, model, {.num_samples = 3});
  REQUIRE(decoded.size() == 2);
  CHECK(decoded[1]->samples.size() == 3);
}

TEST_CASE("example: a task made of others names them") {
  const auto device = snippets::open_device();
  TaskContext context{.device = *device, .logging_dir = {}};
  Guesses guesses(context);
  Mirror mirror(context);
  const Pair pair(context, guesses, mirror);
  NoModel model;
  const auto tasks = asked<Subtasks>(pair, kTaskSubtasks)->subtasks(&model);
  REQUIRE(tasks.size() == 2);
  CHECK(tasks[1].name == "right");
  CHECK(tasks[1].task == &mirror);
}

}  // namespace task_extensions_example
