// SPDX-License-Identifier: Apache-2.0
// Task: everything that is particular to a problem: its model, data, loss and metrics. The trainer
// owns the loop.
//
// Life of a task in a run (the order of first calls): build_model, build_metrics(Phase::training),
// build_inputs(train_input), build_metrics(Phase::evaluation), build_inputs(eval_input),
// create_optimizer, then either a restored checkpoint or initialize, then the steps: data that
// cannot be opened is found before a large model is filled. The training half and the evaluation
// half are built only where the mode requires them. Stages of a training that evaluate the same
// data share the evaluation half. After Model Garden's official/core/base_task.py;
// docs/coming-from-model-garden.md lists the differences.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/data/phase.h"
#include "trivet/input.h"
#include "trivet/metric.h"
#include "trivet/model.h"
#include "trivet/object.h"
#include "trivet/tape.h"
#include "trivet/train/eval_input.h"
#include "trivet/train/init_load.h"
#include "trivet/train/learner.h"
#include "trivet/train/logs.h"

namespace trivet {

struct TaskConfig {
  std::string name;
  ConfigOf<Model> model;
  ConfigOf<Input> train_input;
  ConfigOf<Input> eval_input;
  std::vector<EvalInputConfig> eval_inputs;
  std::vector<ConfigOf<Metric>> metrics;
  Path init_checkpoint;
  InitLoadConfig init_load;
};
TRIVET_CONFIG(
    TaskConfig, trivet::NoBase, (name, "Name in logs. Empty: that of the type.", adjustable),
    (model, "Model to train."), (train_input, "Where training batches come from.", adjustable),
    (eval_input, "Where evaluation batches come from.", adjustable),
    (eval_inputs,
     "Further data sets, each with a name, an interval and a program: eval, decode or infer.",
     adjustable),
    (metrics,
     "Metrics of evaluations beside the task's own, such as \"metrics/RocAuc\"; with in_training "
     "also "
     "of training.",
     adjustable),
    (init_checkpoint,
     "A checkpoint, or a directory of them (the newest), whose weights a new run starts from.",
     adjustable),
    (init_load, "Rules for the variables that init_checkpoint gives, and their names.", adjustable))

struct TaskContext {
  Device& device;
  // The folder where the task may keep files; empty for a run that keeps none. A run that continues
  // has the same folder.
  std::string logging_dir;
  // Where another run's checkpoints are only evaluated (mode continuous_eval, and mode eval in the
  // directory of a run) the logging_dir of the same task in that run, to be read only; also in the
  // other processes of a run that continues. Empty otherwise.
  std::string followed_dir{};
};

// What a step gets to work with.
struct StepState {
  Model& model;
  ParameterStore& store;
  Learner::Step* step = nullptr;  // null in evaluation
  Metrics& metrics;
  FpropContext& context;
};

// What a step gives back.
struct StepOutput {
  Tensor loss;        // scalar, undefined when the task has none in evaluation
  double weight = 1;  // real examples in the batch: evaluation averages losses with it
  NestedMap outputs;  // of the model
  Batch batch;
  Logs logs;  // further numbers of this step
};

// State of host metrics over one evaluation; derive from it.
class TRIVET_API AggregatedLogs {
 public:
  virtual ~AggregatedLogs();

  // All that the state holds, and its union with that of later examples, as Metric::merge has it.
  // Default: both throw Error. [run-thread]
  virtual Value save_state() const;
  virtual void merge(const Value& state);
};

// A mean and what it is the mean over, as Pax has it.
struct WeightedScalar {
  Tensor value;
  double weight = 1;
};

// `loss` and the auxiliary losses that layers left in the context.
TRIVET_API Tensor add_aux_losses(Tensor loss, const FpropContext& context);

class TRIVET_API Task : public Object {
 public:
  static constexpr std::string_view kKind = "task";
  using Config = TaskConfig;
  using Context = TaskContext;

  ~Task() override;

  const TaskConfig& config() const { return config_; }
  Device& device() const { return device_; }
  // The folder of TaskContext. While a set of eval_inputs is evaluated, eval_inputs/NAME in it,
  // which exists.
  const std::string& logging_dir() const { return eval_set_.empty() ? logging_dir_ : eval_dir_; }
  const std::string& followed_dir() const { return followed_dir_; }
  std::string name() const { return config_.name; }
  // The name of the set of eval_inputs that is evaluated; empty for eval_input and in training.
  const std::string& eval_set() const { return eval_set_; }
  // The folder of the files of a set.
  std::string eval_set_dir(const std::string& name) const;
  // Called by the host around an evaluation. Throws RunError if the folder cannot be made.
  // [run-thread]
  void set_eval_set(const std::string& name);

  // Default: make<Optimizer>. [run-thread]
  virtual std::unique_ptr<Optimizer> create_optimizer(const ConfigOf<Optimizer>& config);

  // Called once for a run without a checkpoint of its own, after the parameters have their starting
  // values. Default: load_weights() of init_checkpoint, if set, by the rules of init_load; more in
  // the file than the model has is tolerated. [run-thread]
  virtual void initialize(ParameterStore& store);
  // What the default initialize loaded; nothing where it loaded nothing. One that overrides it may
  // set its own.
  const std::optional<LoadReport>& init_report() const { return init_report_; }

  // `config` is task.model, or that of a stage of training. Default: make<Model>; throws Error when
  // none is configured. [run-thread]
  virtual std::unique_ptr<Model> build_model(const ConfigOf<Model>& config, Scope& scope);
  // The same for task.train_input and task.eval_input. Default: make<Input>. Where device() is the
  // meta device (trivet/tensor/meta_device.h) the data need not exist: a task that knows the
  // shapes of its batches may return an input that makes some. [run-thread]
  virtual std::unique_ptr<Input> build_inputs(const ConfigOf<Input>& config, InputContext& context);

  // The scalar f32 [] to minimize, auxiliary losses (context.aux_losses) included; its weight is
  // the number of real examples that it is the mean over. `outputs` are the model's. [run-thread]
  virtual WeightedScalar build_losses(const Batch& batch, const NestedMap& outputs,
                                      const FpropContext& context) = 0;
  // The task's own metrics of training or of evaluations; the host adds those of config().metrics
  // (all_metrics, below). Default: none. [run-thread]
  virtual Metrics build_metrics(Phase phase);
  // Default: update_state() of each metric. [run-thread]
  virtual void process_metrics(Metrics& metrics, const Batch& batch, const NestedMap& outputs);

  // For gradient accumulation: at most `parts` batches, each for a train_step of its own. Default:
  // neighboring rows, as equal as can be, which share the memory of `batch`, a batch on the host;
  // tensors whose first extent is not that of the first tensor are given to every part whole.
  // [run-thread]
  virtual std::vector<Batch> split_batch(const Batch& batch, std::int64_t parts);
  // Default: forward on a tape, build_losses, backward, process_metrics, step->apply_gradients.
  // [run-thread]
  virtual StepOutput train_step(const Batch& batch, StepState& state);
  // Default: inference_step, build_losses, process_metrics. [run-thread]
  virtual StepOutput validation_step(const Batch& batch, StepState& state);
  // Default: the model, not training, off the tape. [run-thread]
  virtual NestedMap inference_step(const Batch& batch, Model& model, FpropContext& context);

  // Host metrics: called after each evaluation step with the state so far (null at first); returns
  // the next state. Default: returns `state` as it is. [run-thread]
  virtual std::unique_ptr<AggregatedLogs> aggregate_logs(std::unique_ptr<AggregatedLogs> state,
                                                         const StepOutput& step);
  // Once at the end of an evaluation that ran at least one step and has a state; merged into the
  // evaluation's logs. [run-thread]
  virtual Logs reduce_aggregated_logs(AggregatedLogs& state, std::int64_t global_step);

 protected:
  Task(TaskConfig config, TaskContext& context);

  void set_init_report(LoadReport report) { init_report_ = std::move(report); }

 private:
  TaskConfig config_;
  Device& device_;
  std::string logging_dir_, followed_dir_;
  std::string eval_set_, eval_dir_;
  std::optional<LoadReport> init_report_;
  Tape tape_;  // of the default train_step; kept, so that steps reuse its memory
};

// task.build_metrics and then those of config().metrics that report this phase. Throws PluginError
// if build_metrics returns a null metric. [run-thread]
TRIVET_API Metrics all_metrics(Task& task, Phase phase);

}  // namespace trivet
