// SPDX-License-Identifier: Apache-2.0
#include "train_parts.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "host/item_collector.h"
#include "tiny/backend.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/error.h"
#include "trivet/ops/ops_mesh.h"
#include "trivet/plugin.h"
#include "trivet/tensor/mesh.h"
#include "trivet/tensor/meta_device.h"

namespace trivet::test {

Journal& journal() {
  static Journal journal;
  return journal;
}

void Journal::add(const std::string& what) {
  std::lock_guard lock(mutex_);
  entries_.push_back(what);
}

void Journal::clear() {
  std::lock_guard lock(mutex_);
  entries_.clear();
}

std::string Journal::text() const {
  std::lock_guard lock(mutex_);
  std::string text;
  for (const std::string& entry : entries_) text += (text.empty() ? "" : " ") + entry;
  return text;
}

DenormalsKept& denormals_kept() {
  static DenormalsKept kept;
  return kept;
}

namespace {

bool keeps_denormals() {
  volatile float tiny = 1e-30F, factor = 1e-10F;
  return tiny * factor != 0;
}

}  // namespace

CountInput::CountInput(Config config, InputContext& context)
    : config_(std::move(config)), name_(context.phase == Phase::training ? "train" : "eval") {
  journal().add("input:" + name_);
}

std::optional<Batch> CountInput::get_next() {
  if (keeps_denormals()) ++denormals_kept().input;
  if (next_ == config_.fail_at) {
    throw InputError("record " + std::to_string(next_) + " cannot be read");
  }
  if (config_.batches != 0 && next_ >= config_.batches) return std::nullopt;
  const bool last = next_ + 1 == config_.batches;
  const std::int64_t rows = config_.batch_size;
  Tensor x = Tensor::host({rows}), y = Tensor::host({rows}), weight = Tensor::host({rows});
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto i = static_cast<std::size_t>(row);
    const float value = static_cast<float>(next_ % 7) + static_cast<float>(row) / 4;
    x.mutable_span<float>()[i] = value;
    y.mutable_span<float>()[i] =
        next_ == config_.nan_at ? std::numeric_limits<float>::quiet_NaN() : 3 * value;
    weight.mutable_span<float>()[i] = last && row >= rows - config_.padding ? 0.0f : 1.0f;
  }
  ++next_;
  return Batch{{"x", x}, {"y", y}, {"weight", weight}};
}

void CountInput::reset() {
  journal().add("reset:" + name_);
  next_ = 0;
}

Value CountInput::save_state() const {
  return Value::table({{"next", next_}});
}

void CountInput::restore_state(const Value& state) {
  next_ = state.find("next")->as_integer();
}

std::optional<std::int64_t> CountInput::batches_per_epoch() const {
  if (config_.batches == 0) return std::nullopt;
  return config_.batches;
}

namespace {

struct LineModelConfig : ModelConfig {
  std::string slope = "w";
  bool curved = false;
  bool counts = false;
  bool averages = false;
  std::int64_t hidden = 0;
};
TRIVET_CONFIG(LineModelConfig, ModelConfig, (slope, "Name of the slope."),
              (curved, "Adds c x^2, c = 0.25 at the start."),
              (counts, "Counts training batches in the state 'seen'."),
              (averages, "Keeps half of the mean of x, and half of what it was, in 'mean'."),
              (hidden, "Adds 0 by so many hidden units, which are split over mdl."))

class LineModel final : public Model {
 public:
  using Config = LineModelConfig;
  LineModel(Config config, Scope& scope)
      : w_(scope.parameter(config.slope, {1}, {.init = {Init::constant, 0.5}})),
        b_(scope.parameter("b", {1}, {.init = {Init::constant, 0.0}})) {
    if (config.curved) c_ = &scope.parameter("c", {1}, {.init = {Init::constant, 0.25}});
    if (config.counts) seen_ = &scope.state("seen", {1}, 0);
    if (config.averages) mean_ = &scope.state("mean", {1}, 0);
    if (config.hidden > 0) {
      axis_ = scope.mesh().axis("mdl");
      up_ = &scope.parameter("up", {1, config.hidden}, {.init = {Init::constant, 0.0}});
      down_ = &scope.parameter("down", {config.hidden, 1}, {.init = {Init::constant, 0.0}});
    }
    journal().add("model");
  }
  NestedMap fprop(const Batch& batch, FpropContext& context) override {
    const Tensor& x = batch.at("x");
    context.summaries.scalar("line/step", static_cast<double>(context.step));
    if (seen_ != nullptr && context.train) seen_->assign(ops::add(seen_->value(), 1));
    if (mean_ != nullptr && context.train) {
      const Tensor mean = ops::reshape(ops::mean(x), {1});
      mean_->assign(ops::mul(ops::add(mean_->value(), mean), 0.5F));
    }
    Tensor y = ops::add(ops::mul(x, w_.value()), b_.value());
    if (up_ != nullptr) y = ops::add(y, hidden(y));
    if (c_ == nullptr) return {{"y", y}};
    return {{"y", ops::add(y, ops::mul(ops::square(x), c_->value()))}};
  }

 private:
  // Exchanges of every kind.
  Tensor hidden(const Tensor& y) const {
    std::vector<Tensor> blocks = ops::fan_out(ops::reshape(y, {y.size(), 1}), axis_);
    const std::vector<Tensor> up = ops::split_blocks(up_->value(), 1, axis_);
    const std::vector<Tensor> down = ops::split_blocks(down_->value(), 0, axis_);
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = ops::matmul(blocks[i], up[i]);
    blocks = ops::split_blocks(ops::square(ops::gather_blocks(blocks, 1, axis_)), 1, axis_);
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = ops::matmul(blocks[i], down[i]);
    return ops::reshape(ops::sum_blocks(blocks, axis_), {y.size()});
  }

  Parameter& w_;
  Parameter& b_;
  Parameter* c_ = nullptr;
  Parameter* seen_ = nullptr;
  Parameter* mean_ = nullptr;
  Parameter* up_ = nullptr;
  Parameter* down_ = nullptr;
  MeshAxis axis_;
};

// The largest output so far.
class Largest final : public Metric {
 public:
  void update_state(const Batch&, const NestedMap& outputs) override {
    for (const float y : outputs.at("y").to_host<float>()) {
      if (static_cast<double>(y) > largest_) largest_ = y;
    }
  }
  Logs result() const override {
    Logs logs;
    logs.set("largest", largest_);
    return logs;
  }
  void reset_state() override { largest_ = -std::numeric_limits<double>::infinity(); }
  Value save_state() const override { return Value(largest_); }
  void restore_state(const Value& state) override { largest_ = state.as_float(); }
  void merge(const Value& state) override { largest_ = std::max(largest_, state.as_float()); }

 private:
  double largest_ = -std::numeric_limits<double>::infinity();
};

struct Steps : AggregatedLogs {
  double count = 0;
};

struct MergedSteps final : Steps {
  Value save_state() const override { return Value(count); }
  void merge(const Value& state) override { count += state.as_float(); }
};

class LineTask final : public Task {
 public:
  using Config = LineTaskConfig;
  LineTask(Config config, TaskContext& context)
      : Task(config, context), line_(config), pool_(context.device.pool()) {
    journal().add("task");
  }
  void initialize(ParameterStore& store) override {
    journal().add("initialize");
    Task::initialize(store);
  }
  std::unique_ptr<Optimizer> create_optimizer(const ConfigOf<Optimizer>& config) override {
    journal().add("optimizer");
    return Task::create_optimizer(config);
  }
  Metrics build_metrics(Phase phase) override {
    journal().add(phase == Phase::training ? "metrics:train" : "metrics:eval");
    Metrics metrics;
    metrics.push_back(std::make_unique<Largest>());
    metrics.back()->reset_state();
    return metrics;
  }
  StepOutput train_step(const Batch& batch, StepState& state) override {
    if (line_.throws) throw std::out_of_range("index 7");
    count_denormals();
    StepOutput output = Task::train_step(batch, state);
    output.logs.set("batches", 1);
    return output;
  }
  StepOutput validation_step(const Batch& batch, StepState& state) override {
    count_denormals();
    return Task::validation_step(batch, state);
  }
  WeightedScalar build_losses(const Batch& batch, const NestedMap& outputs,
                              const FpropContext& context) override {
    const auto weights = batch.at("weight").to_host<float>();
    double weight = 0;
    for (const float w : weights) weight += static_cast<double>(w);
    const Tensor error = ops::square(ops::sub(outputs.at("y"), batch.at("y")));
    const Tensor loss = ops::weighted_mean(error, batch.at("weight"));
    const bool explodes = static_cast<double>(context.step + 1) == line_.explode_at;
    return {explodes ? ops::mul(loss, std::numeric_limits<float>::quiet_NaN()) : loss, weight};
  }
  std::unique_ptr<AggregatedLogs> aggregate_logs(std::unique_ptr<AggregatedLogs> state,
                                                 const StepOutput&) override {
    if (!state && line_.unmerged_logs) state = std::make_unique<Steps>();
    if (!state) state = std::make_unique<MergedSteps>();
    ++static_cast<Steps&>(*state).count;
    return state;
  }
  Logs reduce_aggregated_logs(AggregatedLogs& state, std::int64_t global_step) override {
    Logs logs;
    logs.set("eval_batches", static_cast<Steps&>(state).count);
    logs.set("reduced_at", static_cast<double>(global_step));
    return logs;
  }

 private:
  void count_denormals() {
    if (keeps_denormals()) ++denormals_kept().step;
    pool_.parallel_for(16, 1, [](std::int64_t, std::int64_t, std::int32_t) {
      if (keeps_denormals()) ++denormals_kept().pool;
    });
  }

  LineTaskConfig line_;
  ThreadPool& pool_;
};

struct MomentumConfig : OptimizerConfig {
  float decay = 0.5f;
};
TRIVET_CONFIG(MomentumConfig, OptimizerConfig, (decay, "Of the sum of gradients."))

class Momentum final : public Optimizer {
 public:
  using Config = MomentumConfig;
  explicit Momentum(Config config) : decay_(config.decay) {}
  std::vector<std::string> slots() const override { return {"m"}; }
  void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) override {
    for (OptimizerSegment& segment : segments) {
      if (is_meta(segment.value.device())) continue;
      const auto value = segment.value.mutable_span<float>();
      const auto m = segment.slots[0].mutable_span<float>();
      const auto gradient = segment.gradient.span<float>();
      for (std::size_t i = 0; i < value.size(); ++i) {
        m[i] = decay_ * m[i] + step.gradient_scale * gradient[i];
        value[i] -= static_cast<float>(step.learning_rate) * m[i];
      }
    }
  }

 private:
  float decay_;
};

struct FallingConfig : ScheduleConfig {
  double value = 0.01;
};
TRIVET_CONFIG(FallingConfig, ScheduleConfig, (value, "At the first update."))

class Falling final : public Schedule {
 public:
  using Config = FallingConfig;
  explicit Falling(Config config) : config_(config) {}
  double value(std::int64_t step) const override {
    return config_.value / static_cast<double>(step + 1);
  }

 private:
  Config config_;
};

}  // namespace

void register_parts() {
  static const bool done = [] {
    constexpr About about{.name = "parts", .version = "1.0.0", .license = "Apache-2.0"};
    ItemCollector parts;
    detail::register_item(parts, about, task<LineTask>("Task", "A line."));
    detail::register_item(parts, about, model<LineModel>("Model", "y = w x + b."));
    detail::register_item(parts, about, input<CountInput>("Input", "Counts."));
    detail::register_item(parts, about, optimizer<Momentum>("Momentum", "Sums gradients."));
    detail::register_item(parts, about, schedule<Falling>("Falling", "value / (step + 1)."));
    registry().add({.name = "parts", .version = "1.0.0"}, std::move(parts.items));
    return true;
  }();
  (void)done;
}

TrainerConfig trainer_config() {
  TrainerConfig config;
  config.train_steps = 100;
  config.optimizer = ConfigOf<Optimizer>("parts/Momentum");
  config.learning_rate = ConfigOf<Schedule>("parts/Falling", Value::table({{"value", 0.01}}));
  return config;
}

ConfigOf<Task> task_config(Value train_input, Value eval_input) {
  const auto input = [](Value fields, std::int64_t batches) {
    Value all = Value::table({{"type", "parts/Input"}, {"batch_size", 4}, {"batches", batches}});
    if (!fields.is_null()) {
      for (const Value::Member& member : fields.members()) all.set(member.key, member.value);
    }
    return all;
  };
  return {"parts/Task", Value::table({{"model", Value("parts/Model")},
                                      {"train_input", input(std::move(train_input), 0)},
                                      {"eval_input", input(std::move(eval_input), 3)}})};
}

ConfigOf<Task> task_with(std::string_view field, Value value) {
  Value fields = task_config().fields();
  fields.set(field, std::move(value));
  return {"parts/Task", std::move(fields)};
}

std::unique_ptr<Device> open_tiny(int threads) {
  DeviceOptions options;
  options.key = "tiny/Backend";
  options.pool = std::make_shared<ThreadPool>(threads);
  return Device::open(tiny::get(), std::move(options));
}

void TestObserver::on_train_step(std::int64_t step, double loss, std::int64_t examples) {
  last_step = step;
  losses.push_back(loss);
  train_examples += examples;
}

void TestObserver::on_eval_step(std::int64_t, std::int64_t examples) {
  eval_examples += examples;
}

void MemoryCheckpoint::write_tensors(std::string_view name, const NamedTensors& tensors) {
  auto& file = files[std::string(name)];
  for (const auto& [path, tensor] : tensors) file[path] = tensor.to_bytes();
}

void MemoryCheckpoint::state(std::string_view key, const Value& value) {
  states.set(key, value);
}

void MemoryCheckpoint::read_tensors(std::string_view name, NamedTensors& into, OtherTensors) const {
  for (auto& [path, tensor] : into) {
    tensor.assign_bytes(files.at(std::string(name)).at(path));
  }
}

bool MemoryCheckpoint::has_state(std::string_view key) const {
  return states.find(key) != nullptr;
}

const Value& MemoryCheckpoint::state(std::string_view key) const {
  return *states.find(key);
}

TrainerBench::TrainerBench(TrainerConfig config, const ConfigOf<Task>& task_template, bool train,
                           bool eval, int threads, const MeshConfig& mesh) {
  register_parts();
  journal().clear();
  device = open_tiny(threads);
  TaskContext task_context{*device, {}};
  task = make(task_template, task_context);
  TrainerContext context{.task = *task,
                         .device = *device,
                         .key = RngKey(1),
                         .train = train,
                         .eval = eval,
                         .observer = observer,
                         .mesh = mesh};
  trainer = std::make_unique<DefaultTrainer>(std::move(config), context);
}

double TrainerBench::weight(const char* path) const {
  return static_cast<double>(trainer->parameters().find(path)->value().item());
}

MemoryCheckpoint TrainerBench::save() const {
  MemoryCheckpoint checkpoint;
  trainer->save(checkpoint);
  return checkpoint;
}

}  // namespace trivet::test
