// SPDX-License-Identifier: Apache-2.0
// The default behavior of a task: steps, missing parts, and starting from a checkpoint.
#include "trivet/task.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "trivet/data/safetensors.h"
#include "trivet/error.h"
#include "trivet/ops.h"

namespace task_test {
namespace {

namespace fs = std::filesystem;
using trivet::Batch;
using trivet::FpropContext;
using trivet::NestedMap;
using trivet::RngKey;
using trivet::Tensor;

// y = x * w, w [2].
class Scaled final : public trivet::Model {
 public:
  explicit Scaled(trivet::Scope& scope)
      : w_(scope.child("scaled").parameter("w", {2}, {.init = {trivet::Init::constant, 3}})) {}
  NestedMap fprop(const Batch& batch, FpropContext& context) override {
    trained = context.train;
    recorded = trivet::Tape::current() != nullptr;
    return {{"y", trivet::ops::mul(batch.at("x"), w_.value())}};
  }
  bool trained = false, recorded = false;

 private:
  trivet::Parameter& w_;
};

class Counter final : public trivet::Metric {
 public:
  explicit Counter(std::vector<std::string>& calls) : calls_(calls) {}
  void update_state(const Batch&, const NestedMap& outputs) override {
    calls_.push_back(trivet::Tape::current() == nullptr && outputs.contains("y") ? "metric" : "?");
  }
  trivet::Logs result() const override { return {}; }
  void reset_state() override {}
  trivet::Value save_state() const override { return {}; }
  void restore_state(const trivet::Value&) override {}

 private:
  std::vector<std::string>& calls_;
};

class Descent final : public trivet::Optimizer {
 public:
  explicit Descent(std::vector<std::string>& calls) : calls_(calls) {}
  std::vector<std::string> slots() const override { return {}; }
  void update(const trivet::OptimizerStep& step,
              std::span<trivet::OptimizerSegment> segments) override {
    calls_.push_back("update");
    for (trivet::OptimizerSegment& segment : segments) {
      const auto w = segment.value.mutable_span<float>();
      const auto g = segment.gradient.span<float>();
      const auto rate = static_cast<float>(step.learning_rate) * step.gradient_scale;
      for (std::size_t i = 0; i < w.size(); ++i) w[i] -= rate * g[i];
    }
  }

 private:
  std::vector<std::string>& calls_;
};

class Tenth final : public trivet::Schedule {
 public:
  double value(std::int64_t) const override { return 0.1; }
};

// Minimizes the mean of y^2.
class Shrink final : public trivet::Task {
 public:
  Shrink(trivet::TaskConfig config, trivet::TaskContext& context)
      : Task(std::move(config), context) {}
  trivet::WeightedScalar build_losses(const Batch& batch, const NestedMap& outputs,
                                      const FpropContext&) override {
    calls.push_back("loss");
    return {trivet::ops::mean(trivet::ops::square(outputs.at("y"))),
            static_cast<double>(batch.at("x").dim(0))};
  }
  std::vector<std::string> calls;
};

struct Fixture {
  std::unique_ptr<trivet::Device> device = trivet::test::open_device("tiny/Backend");
  trivet::ParameterStore store{*device, RngKey(1)};
  trivet::Scope scope{store};
  Scaled model{scope};
  trivet::TaskContext context{*device, {}};
  fs::path directory;

  Fixture() {
    store.build();
    directory = fs::temp_directory_path() / ("trivet_task_test_" + std::to_string(getpid()));
    fs::remove_all(directory);
    fs::create_directories(directory);
  }
  ~Fixture() { fs::remove_all(directory); }

  std::vector<float> weights() { return store.find("scaled/w")->value().to_host<float>(); }

  static Batch batch() {
    Tensor x = Tensor::host({2, 2});
    const auto out = x.mutable_span<float>();
    out[0] = out[1] = out[2] = out[3] = 1;
    return {{"x", x}};
  }

  fs::path write(const std::string& name, const std::vector<std::string>& tensors,
                 const std::vector<float>& values, const trivet::Shape& shape) {
    fs::create_directories(directory / name);
    std::vector<trivet::SafetensorsEntry> entries;
    for (const std::string& tensor : tensors) {
      entries.push_back(
          {tensor, trivet::DType::f32, shape, std::as_bytes(std::span<const float>(values))});
    }
    write_safetensors(directory / name / "model.safetensors", entries);
    return directory / name;
  }

  void initialize_from(const fs::path& path) {
    trivet::TaskConfig config;
    config.init_checkpoint = path.string();
    Shrink task(config, context);
    task.initialize(store);
  }

  std::string error_from(const fs::path& path) {
    try {
      initialize_from(path);
    } catch (const trivet::Error& error) {
      return error.what();
    }
    return "no error";
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a training step goes forward, back, through the metrics and updates") {
  Shrink task({}, context);
  trivet::Metrics metrics;
  metrics.push_back(std::make_unique<Counter>(task.calls));
  trivet::Learner learner(store, std::make_unique<Descent>(task.calls), std::make_unique<Tenth>(),
                          {.global_norm = 100});
  FpropContext fprop;
  trivet::Learner::Step step = learner.begin();
  trivet::StepState state{model, store, &step, metrics, fprop};
  const trivet::StepOutput out = task.train_step(batch(), state);
  CHECK(task.calls == std::vector<std::string>{"loss", "metric", "update"});
  CHECK(model.trained);
  CHECK(model.recorded);
  CHECK(out.loss.item() == Approx(9));  // mean of 3^2
  CHECK(out.weight == 2);
  CHECK(out.outputs.contains("y"));
  // d/dw of the mean of (w x)^2 over 4 elements, 2 of them of each w: w, so w = 3 - 0.1 * 3.
  CHECK(weights()[0] == Approx(2.7));
  REQUIRE(out.logs.find("gradient_norm") != nullptr);
  CHECK(*out.logs.find("gradient_norm") == Approx(std::sqrt(18.0)));
}

TEST_CASE_METHOD(Fixture,
                 "a batch is cut into neighboring rows; fields without rows go to all parts") {
  Shrink task({}, context);
  Tensor x = Tensor::host({5, 2}), same = Tensor::host({3});
  for (std::size_t i = 0; i < 10; ++i) x.mutable_span<float>()[i] = static_cast<float>(i);
  const auto parts = task.split_batch({{"x", x}, {"same", same}}, 2);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].at("x").to_host<float>() == std::vector<float>{0, 1, 2, 3});
  CHECK(parts[1].at("x").to_host<float>() == std::vector<float>{4, 5, 6, 7, 8, 9});
  CHECK(parts[1].at("same").shape() == trivet::Shape{3});
  CHECK(task.split_batch({{"x", x}}, 9).size() == 5);
  CHECK(task.split_batch({{"x", x}}, 1).size() == 1);
}

TEST_CASE_METHOD(Fixture, "a validation step does not change weights and records nothing") {
  Shrink task({}, context);
  trivet::Metrics metrics;
  metrics.push_back(std::make_unique<Counter>(task.calls));
  FpropContext fprop;
  fprop.train = true;
  trivet::StepState state{model, store, nullptr, metrics, fprop};
  const trivet::StepOutput out = task.validation_step(batch(), state);
  CHECK(task.calls == std::vector<std::string>{"loss", "metric"});
  CHECK_FALSE(model.trained);
  CHECK_FALSE(model.recorded);
  CHECK(out.loss.item() == Approx(9));
  CHECK(weights() == std::vector<float>{3, 3});
}

TEST_CASE_METHOD(Fixture, "a missing setting is reported with its path and a hint") {
  Shrink task({}, context);
  CHECK_THROWS_WITH(task.build_model({}, scope), Catch::Contains("task.model"));
  CHECK_THROWS_WITH(task.create_optimizer({}), Catch::Contains("trainer.optimizer"));
  trivet::InputContext input{.phase = trivet::Phase::evaluation, .name = "task.eval_input"};
  CHECK_THROWS_WITH(task.build_inputs({}, input), Catch::Contains("task.eval_input"));
}

TEST_CASE_METHOD(Fixture, "a run without init_checkpoint keeps its starting values") {
  Shrink task({}, context);
  task.initialize(store);
  CHECK(weights() == std::vector<float>{3, 3});
}

TEST_CASE_METHOD(Fixture,
                 "weights come from a checkpoint directory, and extra files are tolerated") {
  initialize_from(write("step_00000010", {"scaled/w", "head/w"}, {5, 6}, {2}));
  CHECK(weights() == std::vector<float>{5, 6});
}

TEST_CASE_METHOD(Fixture,
                 "of a directory of checkpoints the newest is taken, half-written ones not") {
  write("step_00000009", {"scaled/w"}, {9, 9}, {2});
  write("step_00000100", {"scaled/w"}, {1, 2}, {2});
  write("step_00000200.tmp", {"scaled/w"}, {7, 7}, {2});
  initialize_from(directory);
  CHECK(weights() == std::vector<float>{1, 2});
}

TEST_CASE_METHOD(Fixture, "16-bit weights are widened") {
  const std::vector<std::uint16_t> bf16{0x3f80, 0xc000};  // 1, -2
  const trivet::SafetensorsEntry entry{
      "scaled/w", trivet::DType::bf16, {2}, std::as_bytes(std::span<const std::uint16_t>(bf16))};
  write_safetensors(directory / "model.safetensors", std::span(&entry, 1));
  initialize_from(directory);
  CHECK(weights() == std::vector<float>{1, -2});
}

TEST_CASE_METHOD(Fixture, "missing weights are listed with the nearest name, and nothing changes") {
  const std::string text = error_from(write("step_1", {"scalde/w", "head/b"}, {5, 6}, {2}));
  CHECK_THAT(text, Catch::Contains("missing  scaled/w [2]; did you mean 'scalde/w'?") &&
                       Catch::Contains("unused   scalde/w") && Catch::Contains("unused   head/b"));
  CHECK(weights() == std::vector<float>{3, 3});
}

TEST_CASE_METHOD(Fixture, "weights of another shape are listed with both shapes") {
  const std::string text = error_from(write("step_1", {"scaled/w"}, {5, 6, 7}, {3}));
  CHECK_THAT(text, Catch::Contains("differs  scaled/w [2]; f32 [2] wanted, f32 [3] found"));
}

TEST_CASE_METHOD(Fixture, "a missing checkpoint is an error that names what was searched") {
  CHECK_THAT(error_from(directory / "gone"),
             Catch::Contains("does not exist") && Catch::Contains("model.safetensors"));
  CHECK_THAT(error_from(directory), Catch::Contains("no checkpoint at"));
}

}  // namespace task_test
