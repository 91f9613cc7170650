// SPDX-License-Identifier: Apache-2.0
#include "multi_task.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "metric_group.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/plugin/plugin_call.h"
#include "trivet/plugin/registry.h"

namespace trivet::multitask {

namespace fs = std::filesystem;

namespace {

// State of one evaluation: sums of each task's losses, and the state of each task.
struct EvaluationState final : AggregatedLogs {
  struct OfTask {
    double loss = 0, weight = 0;
    bool used = false;
    std::unique_ptr<AggregatedLogs> own;
  };
  std::vector<OfTask> tasks;

  Value save_state() const override;
  void merge(const Value& state) override;
};

constexpr const char* kEvaluationState = "the state of an evaluation of several tasks";

Value EvaluationState::save_state() const {
  Value states = Value::array();
  for (const OfTask& task : tasks) {
    states.push_back(
        Value::table({{"loss", task.loss},
                      {"weight", task.weight},
                      {"own", task.own != nullptr ? task.own->save_state() : Value()}}));
  }
  return Value::table({{"tasks", std::move(states)}});
}

// A task makes its own state with its first batch, so states of others need one here.
void EvaluationState::merge(const Value& state) {
  const Value::Array& states = state.at("tasks", kEvaluationState).items();
  if (states.size() != tasks.size()) {
    throw Error(std::string(kEvaluationState) + " is of another number of tasks");
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].loss += states[i].at("loss", kEvaluationState).as_float();
    tasks[i].weight += states[i].at("weight", kEvaluationState).as_float();
    const Value& own = states[i].at("own", kEvaluationState);
    if (own.is_null()) continue;
    if (tasks[i].own == nullptr) {
      throw RunError(std::string(kEvaluationState) + " cannot be merged into one without batches",
                     {.path = "task.tasks[" + std::to_string(i) + "]",
                      .hint = "the first shard of the mesh has none of its examples: set the "
                              "batch_size of its eval_input to a multiple of the shards, or "
                              "remove [mesh]"});
    }
    tasks[i].own->merge(own);
  }
}

bool is_scope_name(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), fits);
}

// The evaluation of all tasks leaves out one that has named sets alone.
bool has_own_evaluation(const Task& task) {
  if (task.config().eval_input.has_value()) return true;
  if (!task.config().eval_inputs.empty()) return false;
  const auto* several = static_cast<const Subtasks*>(task.extension(kTaskSubtasks));
  if (several == nullptr) return true;
  const auto parts = several->subtasks(nullptr);
  return std::any_of(parts.begin(), parts.end(),
                     [](const Subtasks::Entry& part) { return has_own_evaluation(*part.task); });
}

Metrics& metrics_of(Metrics& groups, std::size_t task) {
  return static_cast<MetricGroup&>(*groups[task]).use();
}

}  // namespace

void MultiTaskConfig::validate(Diagnostics& diagnostics) const {
  if (tasks.empty()) diagnostics.add("tasks", "has no task");
  for (const char* field : {"train_input", "eval_input"}) {
    const bool set =
        field == std::string_view("train_input") ? train_input.has_value() : eval_input.has_value();
    if (set) diagnostics.add(field, "is not used: each of the tasks has its own", "remove it");
  }
  if (!eval_inputs.empty()) {
    diagnostics.add("eval_inputs", "are not used: each of the tasks has its own",
                    "move them into the task that they measure");
  }
  if (!metrics.empty()) {
    diagnostics.add("metrics", "are not used: each of the tasks has its own",
                    "move them into the task that they measure");
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::string path = "tasks[" + std::to_string(i) + "]";
    const SubtaskConfig& task = tasks[i];
    if (!is_scope_name(task.name)) {
      diagnostics.add(path + ".name",
                      "'" + task.name + "' is not a name: use letters, digits, '_', '-' and '.'");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (tasks[j].name != task.name) continue;
      diagnostics.add(path + ".name", "two tasks are named '" + task.name + "'");
      break;
    }
    if (task.eval_steps == 0) {
      diagnostics.add(path + ".eval_steps", "is 0: the task would not be evaluated",
                      "-1 takes all batches");
    }
    check_eval_input_names(task.task.fields().find("eval_inputs"), path + ".task.eval_inputs",
                           diagnostics);
    const Value* checkpoint = task.task.fields().find("init_checkpoint");
    if (checkpoint != nullptr && checkpoint->is_string() && !checkpoint->as_string().empty()) {
      diagnostics.add(
          path + ".task.init_checkpoint", "is not used when tasks are trained together",
          "set task.init_checkpoint, with task.init_load for names below '" + task.name + "/'");
    }
  }
}

MultiTask::MultiTask(const MultiTaskConfig& config, TaskContext& context)
    : Task(config, context), losses_(config.tasks.size()) {
  for (const SubtaskConfig& own : config.tasks) {
    TaskContext own_context{context.device, {}};
    if (!context.logging_dir.empty()) {
      own_context.logging_dir = fs::path(context.logging_dir) / own.name;
      fs::create_directories(own_context.logging_dir);
    }
    if (!context.followed_dir.empty()) {
      own_context.followed_dir = fs::path(context.followed_dir) / own.name;
    }
    subtasks_.push_back({own, make(own.task, own_context)});
  }
}

std::vector<double> MultiTask::weights() const {
  std::vector<double> weights;
  for (const Subtask& subtask : subtasks_) weights.push_back(subtask.config.weight);
  return weights;
}

std::unique_ptr<Model> MultiTask::build_model(const ConfigOf<Model>& config, Scope& scope) {
  std::unique_ptr<Model> shared = config.has_value() ? make(config, scope) : nullptr;
  const bool shares = shared != nullptr;
  auto models = std::make_unique<Models>(std::move(shared));
  for (const Subtask& subtask : subtasks_) {
    const ConfigOf<Model>& own = subtask.task->config().model;
    std::unique_ptr<Model> model;
    if (own.has_value() || !shares) {
      Scope below = scope.child(subtask.config.name);
      model = subtask.task->build_model(own, below);
    }
    models->add(subtask.config.name, std::move(model));
  }
  return models;
}

std::vector<Source> MultiTask::sources(Phase phase) const {
  const bool training = phase == Phase::training;
  std::vector<Source> sources;
  for (std::size_t i = 0; i < subtasks_.size(); ++i) {
    const auto& [own, task] = subtasks_[i];
    if (!training && !has_own_evaluation(*task)) continue;
    const ConfigOf<Input>& config =
        training ? task->config().train_input : task->config().eval_input;
    InputContext context{.phase = phase,
                         .name = "task.tasks[" + std::to_string(i) + "].task." +
                                 (training ? "train_input" : "eval_input")};
    std::unique_ptr<Input> input;
    Task& built = *task;
    in_plugin(item_of(built), "build_inputs", context.name, [&] {
      input = built.build_inputs(config, context);
      if (!input) throw PluginError("its build_inputs returned nothing");
    });
    // Some inputs read their data now; later, the run would already train.
    in_plugin(item_of(*input), "batches_per_epoch", context.name,
              [&] { input->batches_per_epoch(); });
    sources.push_back({own.name, config, std::move(input), own.eval_steps});
  }
  return sources;
}

Metrics MultiTask::build_metrics(Phase phase) {
  Metrics groups;
  for (const Subtask& subtask : subtasks_) {
    groups.push_back(
        std::make_unique<MetricGroup>(subtask.config.name, all_metrics(*subtask.task, phase)));
  }
  return groups;
}

void MultiTask::process_metrics(Metrics& metrics, const Batch& batch, const NestedMap& outputs) {
  for (std::size_t i = 0; i < subtasks_.size(); ++i) {
    const auto& [own, task] = subtasks_[i];
    const Batch part = batch.child(own.name);
    if (part.empty()) continue;
    task->process_metrics(metrics_of(metrics, i), part, outputs.child(own.name));
  }
}

WeightedScalar MultiTask::build_losses(const Batch& batch, const NestedMap& outputs,
                                       const FpropContext& context) {
  Tensor sum;
  const Tensor* shares = batch.find("share");
  double weight = shares != nullptr ? 1 : 0;
  for (std::size_t i = 0; i < subtasks_.size(); ++i) {
    const auto& [own, task] = subtasks_[i];
    losses_[i] = Tensor();
    const Batch part = batch.child(own.name);
    if (part.empty()) continue;
    WeightedScalar loss =
        task->build_losses(part, outputs.child(own.name), context_of(own.name, context));
    losses_[i] = std::move(loss.value);
    if (shares != nullptr) {
      const auto row = static_cast<std::int64_t>(i);
      losses_[i] = ops::mul(losses_[i], ops::reshape(ops::slice(*shares, 0, row, row + 1), {}));
    } else {
      weight += loss.weight;
    }
    const Tensor weighted = ops::mul(losses_[i], static_cast<float>(own.weight));
    sum = sum.defined() ? ops::add(sum, weighted) : weighted;
  }
  return {std::move(sum), weight};
}

std::vector<Batch> MultiTask::split_batch(const Batch& batch, std::int64_t parts) {
  // All batches are cut into as many parts as the smallest batch allows.
  for (const Subtask& subtask : subtasks_) {
    const Batch own = batch.child(subtask.config.name);
    if (own.empty()) continue;
    parts = std::min(parts, std::ssize(subtask.task->split_batch(own, parts)));
  }
  if (parts <= 1) return {batch};
  std::vector<Batch> all(static_cast<std::size_t>(parts));
  for (const auto& [own, task] : subtasks_) {
    const Batch of_task = batch.child(own.name);
    if (of_task.empty()) continue;
    const std::vector<Batch> cut = task->split_batch(of_task, parts);
    if (cut.size() != all.size()) {
      throw Error("task '" + own.name + "' cut its batch into " + std::to_string(cut.size()) +
                      " parts instead of " + std::to_string(parts),
                  {.path = "trainer.gradient_accumulation"});
    }
    for (std::size_t i = 0; i < all.size(); ++i) add_batch(all[i], own.name, cut[i]);
  }
  return all;
}

std::size_t MultiTask::task_of(const Batch& batch) const {
  for (std::size_t i = 0; i < subtasks_.size(); ++i) {
    if (!batch.child(subtasks_[i].config.name).empty()) return i;
  }
  throw Error("the batch belongs to none of the tasks");
}

StepOutput MultiTask::step_of_one(Step step, const Batch& batch, StepState& state) const {
  const std::size_t i = task_of(batch);
  const std::string& name = subtasks_[i].config.name;
  FpropContext context = context_of(name, state.context);
  StepState own{static_cast<Models&>(state.model).of(i), state.store, state.step,
                metrics_of(state.metrics, i), context};
  StepOutput out = (subtasks_[i].task.get()->*step)(batch.child(name), own);
  state.context.summaries = std::move(context.summaries);
  out.batch = with_prefix(name, out.batch);
  out.outputs = with_prefix(name, out.outputs);
  out.logs = with_prefix(name, out.logs);
  return out;
}

StepOutput MultiTask::validation_step(const Batch& batch, StepState& state) {
  return step_of_one(&Task::validation_step, batch, state);
}

std::unique_ptr<AggregatedLogs> MultiTask::aggregate_logs(std::unique_ptr<AggregatedLogs> state,
                                                          const StepOutput& step) {
  if (!state) {
    auto fresh = std::make_unique<EvaluationState>();
    fresh->tasks.resize(subtasks_.size());
    state = std::move(fresh);
  }
  const std::size_t i = task_of(step.batch);
  const auto& [own, task] = subtasks_[i];
  auto& sums = static_cast<EvaluationState&>(*state).tasks[i];
  if (step.loss.defined() && step.weight > 0) {
    sums.loss += step.weight * static_cast<double>(step.loss.item());
    sums.weight += step.weight;
  }
  StepOutput unnamed = step;
  unnamed.batch = step.batch.child(own.name);
  unnamed.outputs = step.outputs.child(own.name);
  sums.own = task->aggregate_logs(std::move(sums.own), unnamed);
  return state;
}

Logs MultiTask::reduce_aggregated_logs(AggregatedLogs& state, std::int64_t global_step) {
  Logs logs;
  double total = 0, weights = 0;
  bool any = false;
  for (std::size_t i = 0; i < subtasks_.size(); ++i) {
    const auto& [own, task] = subtasks_[i];
    auto& sums = static_cast<EvaluationState&>(state).tasks[i];
    if (has_own_evaluation(*task)) weights += own.weight;
    if (sums.weight > 0) {
      const double loss = sums.loss / sums.weight;
      logs.set(own.name + "/validation_loss", loss);
      total += own.weight * loss;
      any = true;
    }
    if (sums.own == nullptr) continue;
    logs.merge(with_prefix(own.name, task->reduce_aggregated_logs(*sums.own, global_step)));
  }
  if (any) logs.set("validation_loss", total / loss_divisor(weights));
  return logs;
}

std::vector<ExpectedInitialLoss::Range> MultiTask::expected_initial_losses() const {
  std::vector<Range> ranges;
  for (const Subtask& subtask : subtasks_) {
    const auto* first =
        static_cast<const ExpectedInitialLoss*>(subtask.task->extension(kTaskExpectedInitialLoss));
    if (first == nullptr) return {};
    ranges.push_back(first->expected_initial_loss());
    ranges.back().reason = subtask.config.name + ": " + ranges.back().reason;
  }
  return ranges;
}

std::vector<Subtasks::Entry> MultiTask::subtasks(Model* model) const {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < subtasks_.size(); ++i) {
    entries.push_back({.name = subtasks_[i].config.name,
                       .path = "tasks[" + std::to_string(i) + "].task",
                       .task = subtasks_[i].task.get(),
                       .model = model == nullptr ? nullptr : &static_cast<Models*>(model)->of(i)});
  }
  return entries;
}

const void* MultiTask::extension(std::string_view id) const noexcept {
  if (id == kTaskSubtasks) return static_cast<const Subtasks*>(this);
  const auto says = [](const Subtask& subtask) {
    return subtask.task->extension(kTaskExpectedInitialLoss) != nullptr;
  };
  if (id == kTaskExpectedInitialLoss && std::all_of(subtasks_.begin(), subtasks_.end(), says)) {
    return static_cast<const ExpectedInitialLoss*>(this);
  }
  return Task::extension(id);
}

}  // namespace trivet::multitask
