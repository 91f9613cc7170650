// SPDX-License-Identifier: Apache-2.0
#include "run/inspection.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "config/modes.h"
#include "config/registered_schemas.h"
#include "device/check_mesh.h"
#include "device/gathered_rows.h"
#include "device/process_memory.h"
#include "evaluation/eval_plan.h"
#include "run/run_command.h"
#include "run/run_start.h"
#include "step/config_faults.h"
#include "train/learner_setup.h"
#include "trivet/backend/mesh_layout.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"
#include "trivet/tensor/axis_exchange.h"
#include "trivet/tensor/meta_device.h"
#include "trivet/trainer.h"

namespace trivet {
namespace {

// The second step uses planned memory, and a unit that was idle in the first step may be active in
// it.
constexpr std::int64_t kSteps = 2;
// A task that trains parts of a model in turn needs more steps to reach all of them.
constexpr std::int64_t kMostSteps = 32;

class FirstStep final : public TrainerObserver {
 public:
  bool wants_loss() const override { return true; }
  void on_train_step(std::int64_t, double loss, std::int64_t examples) override {
    if (seen_) return;
    seen_ = true;
    loss_ = loss;
    examples_ = examples;
  }
  void on_eval_step(std::int64_t, std::int64_t examples) override {
    if (examples_ == 0) examples_ = examples;
  }
  void on_train_tokens(std::int64_t tokens) override {
    if (!seen_) tokens_ = tokens;
  }
  bool stop_requested() const override { return false; }

  double loss() const { return loss_; }
  std::int64_t examples() const { return examples_; }
  std::int64_t tokens() const { return tokens_; }
  bool seen() const { return seen_; }

 private:
  bool seen_ = false;
  double loss_ = 0;
  std::int64_t examples_ = 0, tokens_ = 0;
};

FlopCount since(const FlopCount& before, const Device& device) {
  const FlopCount& now = device.flop_count();
  return {now.flops - before.flops, now.model_flops - before.model_flops,
          now.attention_flops - before.attention_flops};
}

bool is_zero(const Tensor& gradient) {
  const std::vector<float> values = gradient.to_host<float>();
  return std::all_of(values.begin(), values.end(), [](float value) { return value == 0.0F; });
}

// Only parameters still in the store: a trainer may switch to another model.
void note_gradients(ParameterStore& store, std::vector<Inspection::Weights>& weights) {
  for (Inspection::Weights& entry : weights) {
    if (entry.has_gradient) continue;
    Parameter* parameter = store.find(entry.path);
    if (parameter == nullptr || !parameter->trainable()) continue;
    // Gradients on a meta device have no values, but whether the loss depends on a weight is known.
    entry.has_gradient =
        is_meta(store.device()) ? parameter->has_gradient() : !is_zero(parameter->gradient());
  }
}

bool all_have_gradients(const std::vector<Inspection::Weights>& weights) {
  return std::all_of(weights.begin(), weights.end(),
                     [](const Inspection::Weights& entry) { return entry.has_gradient; });
}

bool is_trained_mesh(const ResolvedConfig& config) {
  try {
    check_mesh(config);
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

class Inspector {
 public:
  // `of_layers`: the mesh that the model's layers see.
  Inspector(const ResolvedConfig& config, const TrainerConfig& fields, std::size_t stage,
            bool abstract, const MetricUses& metrics, MeshConfig of_layers = {},
            std::int64_t process_shards = 0, bool keeps_weights = false)
      : config_(config),
        fields_(fields),
        metrics_(metrics),
        mode_(config.experiment.mode),
        of_layers_(std::move(of_layers)),
        process_shards_(process_shards),
        keeps_weights_(keeps_weights) {
    result_.stage = stage;
    result_.abstract = abstract;
    result_.mesh = config.experiment.mesh;
    result_.global_batch = global_batch(config.experiment);
  }

  Inspection inspect();

 private:
  void look();
  bool trains() const { return trivet::trains(mode_); }
  // On a meta device, an evaluation batch needs less than a training batch.
  bool evaluates() const { return trivet::evaluates(mode_) && !(result_.abstract && trains()); }
  void open();
  void build();
  void enter_stage();
  void take_weights();
  void train();
  void evaluate();
  enum class Batches { first, all };
  Logs evaluate_sets(Batches batches);
  void name_numbers();
  ExchangedTensors exchanged_tensors();
  std::int64_t peers() const;

  const ResolvedConfig& config_;
  const TrainerConfig& fields_;
  const MetricUses& metrics_;
  const Mode mode_;
  const MeshConfig of_layers_;
  const std::int64_t process_shards_;  // TrainerContext::process_shards
  const bool keeps_weights_;           // TrainerContext::process_keeps_weights
  std::string stage_path_;
  Inspection result_;
  FirstStep observer_;
  EvalPlan plan_;
  std::optional<LayerTrace> trace_{std::in_place};
  std::unique_ptr<Task> task_;
  std::unique_ptr<Trainer> trainer_;
};

Inspection Inspector::inspect() {
  try {
    with_locations(config_.tree, [this] { look(); });
  } catch (Error& error) {
    error.amend({.path = stage_path_});
    throw;
  }
  // Tensors must be destroyed before their device.
  trainer_.reset();
  task_.reset();
  return std::move(result_);
}

void Inspector::look() {
  build();
  enter_stage();
  take_weights();
  if (trains()) train();
  if (evaluates()) evaluate();
  if (!result_.abstract) name_numbers();
  result_.examples = observer_.examples();
  result_.tokens = observer_.tokens();
  result_.memory = result_.device->memory();
  if (result_.abstract && result_.trained) {
    result_.memory_parts = memory_parts(*trainer_, result_.mesh);
    result_.shares_updates = trainer_->shares_updates();
    result_.shares_weights = trainer_->shares_weights();
    if (shards_with_parts(result_.mesh, result_.shares_weights) > 0 ||
        trainer_->parameters().keeps_all()) {
      result_.weight_share = weight_share(trainer_->parameters(), result_.mesh);
    } else if (trainer_->parameters().has_whole_variables()) {
      result_.update_share = update_share(trainer_->parameters(), result_.mesh);
    }
    result_.exchanged = exchanged_tensors();
  }
}

std::int64_t Inspector::peers() const {
  return process_shards_ > 0 ? MeshLayout(result_.mesh).shards() / process_shards_ : 1;
}

void Inspector::open() {
  if (result_.abstract) {
    result_.device = open_meta_device_for(config_);
  } else {
    RunRequest request;
    request.config = config_;
    result_.device = open_device(request);
  }
  const double given = config_.experiment.runtime.peak_flops;
  result_.peak_flops = given > 0 ? given : result_.device->info().peak_flops[TV_F32];
}

void Inspector::build() {
  const ExperimentConfig& experiment = config_.experiment;
  open();
  TaskContext task_context{*result_.device, {}};
  build_from_config("task", experiment.task.origin(), [&] {
    task_ = make(result_.abstract ? with_rows(experiment.task, rows_per_device(experiment))
                                  : experiment.task,
                 task_context);
  });
  if (trains()) check_split(*task_, result_.mesh);
  TrainerContext context{.task = *task_,
                         .device = *result_.device,
                         .key = RngKey(static_cast<std::uint64_t>(experiment.seed)),
                         .train = trains(),
                         .eval = evaluates(),
                         .observer = observer_,
                         .mesh = of_layers_,
                         .process_shards = process_shards_,
                         .process_keeps_weights = keeps_weights_,
                         .peers = peers()};
  plan_ = eval_plan(mode_, *task_, fields_);
  context.eval_main = plan_.has_main();
  context.eval_sets = plan_.indexes();
  build_from_config("", experiment.trainer.origin(),
                    [&] { trainer_ = make(experiment.trainer, context); });
  build_from_config("task.init_checkpoint", experiment.task.origin(),
                    [this] { trainer_->initialize(); });
  const bool fresh = task_->config().init_checkpoint.empty() && !result_.abstract;
  const auto* first =
      static_cast<const ExpectedInitialLoss*>(task_->extension(kTaskExpectedInitialLoss));
  if (fresh && first != nullptr) result_.expected_loss = first->expected_initial_loss();
}

// Runs all earlier stages, so that the transfer of weights is tested, too.
void Inspector::enter_stage() {
  const std::vector<TrainingStage> stages = trainer_->stages();
  result_.stages = stages.size();
  stage_path_ = stages.at(0).path;
  while (trainer_->stage() < result_.stage) {
    stage_path_ = stages.at(trainer_->stage() + 1).path;
    trace_.emplace();  // of only the next stage's model
    trainer_->next_stage();
  }
  const TrainingStage& stage = stages.at(result_.stage);
  result_.stage_name = stage.name;
  result_.model = stage.model.empty() ? std::string(task_->config().model.key()) : stage.model;
}

void Inspector::take_weights() {
  ParameterStore& store = trainer_->parameters();
  for (const auto& parameter : store.parameters()) {
    const bool wants = trains() && parameter->trainable();
    result_.weights.push_back({parameter->path(), parameter->shape(), parameter->trainable(),
                               !wants, parameter->trainable() && parameter->rows_apart()});
  }
  result_.trainable_count = store.trainable_count();
  result_.count = store.count();
}

void Inspector::train() {
  for (std::int64_t step = 1; step <= kMostSteps && !trainer_->exhausted(); ++step) {
    if (step > kSteps && all_have_gradients(result_.weights)) break;
    trace_->reset_calls();
    const FlopCount before = result_.device->flop_count();
    take_axis_exchanges(*result_.device);
    trainer_->train(step);
    result_.device->sync();
    if (trainer_->stage() != result_.stage) break;  // the data has fewer steps
    result_.flops = since(before, *result_.device);
    result_.exchanged.blocks = take_axis_exchanges(*result_.device);
    result_.pipeline = take_pipeline(*result_.device);
    note_gradients(trainer_->parameters(), result_.weights);
    if (step == 1) result_.layers = trace_->layers();
  }
  if (!observer_.seen()) {
    throw InputError("the training data has no batch", {.path = "task.train_input"});
  }
  result_.trained = true;
  result_.initial_loss = observer_.loss();
}

void Inspector::evaluate() {
  trace_->reset_calls();
  const FlopCount before = result_.device->flop_count();
  result_.eval_logs = evaluate_sets(Batches::first);
  result_.evaluated = true;
  if (result_.trained) return;
  result_.flops = since(before, *result_.device);
  result_.layers = trace_->layers();
}

// All: as many batches as an evaluation takes.
Logs Inspector::evaluate_sets(Batches batches) {
  Logs logs;
  for (const EvalPlan::Set& set : plan_.sets) {
    const std::int64_t steps = batches == Batches::all ? set.steps : 1;
    const Logs own =
        set.is_main() ? trainer_->evaluate(steps) : trainer_->evaluate_set(set.index, steps);
    for (const auto& [name, value] : own) {
      logs.set(set.is_main() ? name : set.name + "/" + name, value);
    }
  }
  return logs;
}

// An evaluation of one batch may not give every metric, for example with several tasks. If one is
// missing, all batches are evaluated.
void Inspector::name_numbers() {
  if (metrics_.empty()) return;
  MetricNames& names = result_.names = known_names(*task_, fields_, metrics_);
  if (!trains()) names.training.clear();
  if (!trivet::evaluates(mode_)) names.evaluation.clear();
  if (result_.trained) add_names(names.training, trainer_->train_logs());
  add_names(names.evaluation, result_.eval_logs);
  if (!result_.evaluated || unknown_metrics({{}, metrics_.evaluation}, names).empty()) return;
  add_names(names.evaluation, evaluate_sets(Batches::all));
}

ExchangedTensors Inspector::exchanged_tensors() {
  ParameterStore& store = trainer_->parameters();
  // As the learner of the default trainer has it.
  const bool bounds_norm = fields_.gradient_norm_upper_bound > 0 || fields_.recovery_max_trials > 0;
  const GradientClipConfig& clip = fields_.gradient_clip;
  return {.gradients = store.trainable_size(),
          .states = store.running_states().size(),
          .variables = std::ssize(store.parameters()),
          .shares_updates = trainer_->shares_updates(),
          .needs_norm =
              bounds_norm || clip.each_part || clip.global_norm > 0 || clip.per_variable_norm > 0,
          .clips_variables = clip.per_variable_norm > 0 && !clip.each_part,
          .reads_own_rows = infeed_hosts(config_.experiment) > 1,
          .counts_tokens = observer_.tokens() > 0,
          .blocks = std::move(result_.exchanged.blocks)};
}

RowUse row_use(const Inspection& seen, const TrainerConfig& fields, std::int64_t shards) {
  RowUse use{.has_parts = seen.weight_share && !seen.weight_share->keeps_all,
             .has_whole_variables = seen.weight_share && !seen.weight_share->parts.empty(),
             .has_gradients_in_parts = has_gradients_in_parts(fields, shards),
             .gradient_accumulation = fields.gradient_accumulation,
             .moves_rows = std::ranges::any_of(
                 seen.exchanges, [](const Exchange& one) { return one.name == "experts"; })};
  for (const Inspection::Weights& weights : seen.weights) {
    if (weights.rows_apart) use.rows.push_back(weights.shape[0]);
  }
  return use;
}

bool has_layers_in_parts(const MeshConfig& mesh) {
  return std::ranges::any_of(MeshLayout::kInnerAxes,
                             [&](std::string_view axis) { return mesh.extent(axis) > 1; });
}

// Memory, FLOPs and exchanges of each process of a run. Layers are shown whole, but the step of a
// process has its blocks and stages, and its parts of weights and gradients.
void add_processes(Inspection& seen, const ResolvedConfig& config, const TrainerConfig& fields) {
  std::int64_t shards = shards_with_parts(seen.mesh, seen.shares_weights);
  const std::int64_t keepers = shards_that_keep(seen.mesh, seen.shares_weights);
  std::uint64_t step_bytes = seen.memory.arena_bytes;
  seen.process_flops = seen.flops;
  if (has_layers_in_parts(seen.mesh) || shards + keepers > 0) {
    Inspection process = Inspector(config, fields, seen.stage, seen.abstract, {},
                                   mesh_of_layers(seen.mesh), shards + keepers, keepers > 0)
                             .inspect();
    if (process.weight_share && process.weight_share->keeps_all) shards = keepers;
    step_bytes = process.memory.arena_bytes;
    seen.process_flops = process.flops;
    seen.pipeline = process.pipeline;
    seen.exchanged.blocks = std::move(process.exchanged.blocks);
    seen.weight_share = process.weight_share;
    seen.update_share = process.update_share;
    if (const auto& share = seen.weight_share) {
      seen.exchanged.units = share->units;
      seen.exchanged.units_remain = share->whole == share->all;
      seen.exchanged.keeps_units = share->keeps_all;
      seen.exchanged.sums_units = has_gradients_in_parts(fields, shards);
    }
  }
  seen.process_memory =
      process_memory(seen.memory_parts, seen.mesh,
                     {.gradient_accumulation = fields.gradient_accumulation,
                      .shares_updates = seen.shares_updates,
                      .weights = seen.weight_share,
                      .updates = seen.update_share,
                      .has_gradients_in_parts = has_gradients_in_parts(fields, shards)});
  seen.process_memory.push_back({.name = "step", .bytes = step_bytes, .device_bytes = 0});
  if (const auto& share = seen.weight_share ? seen.weight_share : seen.update_share) {
    seen.exchanged.parts = share->parts;
  }
  seen.exchanges = step_exchanges(seen.mesh, seen.exchanged);
  seen.why_rows_are_gathered = why_rows_are_gathered(seen.mesh, row_use(seen, fields, shards));
}

}  // namespace

std::vector<Inspection> inspect(const ResolvedConfig& config, const InspectOptions& options) {
  const FlushDenormals flush;
  const bool abstract = options.abstract || config.experiment.mesh.devices() > 1;
  const TrainerConfig fields = trainer_fields(config.experiment.trainer);
  check_before_start(config, fields);
  std::vector<Inspection> stages;
  do {
    stages.push_back(Inspector(config, fields, stages.size(), abstract, options.metrics).inspect());
    Inspection& seen = stages.back();
    if (!seen.memory_parts.empty() && is_trained_mesh(config)) add_processes(seen, config, fields);
  } while (stages.size() < stages.front().stages);
  return stages;
}

void check_metric_names(const MetricUses& uses, const std::vector<Inspection>& stages) {
  MetricNames names;
  for (const Inspection& stage : stages) {
    if (stage.abstract) return;
    names.training.insert(stage.names.training.begin(), stage.names.training.end());
    names.evaluation.insert(stage.names.evaluation.begin(), stage.names.evaluation.end());
  }
  std::vector<Diagnostic> diagnostics = unknown_metrics(uses, names);
  if (!diagnostics.empty()) throw ConfigError(std::move(diagnostics));
}

void check_metric_names(const ResolvedConfig& config, Task& task, const TrainerConfig& trainer) {
  RegisteredSchemas schemas;
  const MetricUses uses = metric_uses(config.tree, schemas);
  if (uses.empty() || unknown_metrics(uses, known_names(task, trainer, uses)).empty()) return;
  check_metric_names(uses, inspect(config, {.metrics = uses}));
}

std::string check_launched_metrics(const ResolvedConfig& config, const MetricUses& uses) {
  std::vector<Inspection> stages;
  try {
    const std::unique_ptr<Device> device = open_meta_device_for(config);
    TaskContext context{*device, {}};
    const std::unique_ptr<Task> task = make(config.experiment.task, context);
    const TrainerConfig trainer = trainer_fields(config.experiment.trainer);
    if (unknown_metrics(uses, known_names(*task, trainer, uses)).empty()) return {};
    stages = inspect(config, {.metrics = uses});
  } catch (const Error& error) {
    return error.message();
  }
  check_metric_names(uses, stages);
  return stages.front().abstract ? "its mesh has more devices than this machine" : "";
}

}  // namespace trivet
