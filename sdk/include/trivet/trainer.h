// SPDX-License-Identifier: Apache-2.0
// Trainer: owns the step. The Controller (runtime) owns the loop and calls it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/action.h"
#include "trivet/backend/mesh.h"
#include "trivet/backend/process_group.h"
#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/config/goal.h"
#include "trivet/error.h"
#include "trivet/object.h"
#include "trivet/summary_writer.h"
#include "trivet/task.h"
#include "trivet/train/checkpoint.h"
#include "trivet/train/learner_options.h"
#include "trivet/train/logs.h"

namespace trivet {

struct BestCheckpointConfig {
  std::string metric;
  Goal goal = Goal::max;
  std::int64_t keep = 1;
};
TRIVET_CONFIG(
    BestCheckpointConfig, trivet::NoBase,
    (metric, "Metric of the evaluation to compare. Empty: keeps no best checkpoint.", names_metric),
    (goal, "Whether a lower (min) or a higher (max) number is better. NaN is never better."),
    (keep, "Number of best checkpoints in best/; the newest ones are kept as well.", at_least(1)))

// An optimizer of its own for some of the variables.
struct LearnerConfig {
  std::string name;
  std::vector<std::string> variables;
  ConfigOf<Optimizer> optimizer;
  ConfigOf<Schedule> learning_rate;

  void validate(Diagnostics& diagnostics) const {
    check_patterns(diagnostics, "variables", variables);
  }
};
TRIVET_CONFIG(LearnerConfig, trivet::NoBase,
              (name, "Name in logs: its rate is learning_rate/NAME.", required, adjustable),
              (variables, "Patterns that must match the whole path of a variable.", required),
              (optimizer, "How gradients change these weights.", required),
              (learning_rate, "A schedule or a number; not set: the trainer's.", adjustable))

// What to do after a step with a non-finite or too large loss, or with non-finite gradients; at
// most recovery_max_trials times in a run.
enum class Recovery {
  // Restores the last checkpoint and trains on with the data that follows, so that the batch of the
  // bad step is not used again. As Model Garden's RecoveryAction.
  restore,
  // Skips the step: weights, optimizer, averages, states and metrics are as before it. As Pax skips
  // steps with gradient anomalies.
  skip,
};
TRIVET_ENUM(Recovery, restore, skip)

// Where the data of an evaluation starts, with validation_steps = N:
//
//                N = -1                  N > 0
//   restart      all batches             the first N batches, always the same
//   continue     refused                 the N batches that follow those of the last evaluation,
//                                        and after the last batch of the data the first
//
// Pax' reset_for_eval, true and false, with eval_loop_num_batches.
enum class ValidationData { restart, continue_ };
TRIVET_ENUM(ValidationData, restart, continue_)

struct TrainerConfig {
  std::int64_t train_steps = 0;
  std::int64_t steps_per_loop = 100;
  std::int64_t validation_steps = -1;
  ValidationData validation_data = ValidationData::restart;
  std::int64_t validation_interval = 0;
  Interval checkpoint_interval = Duration(600);
  std::int64_t max_to_keep = 5;
  Interval keep_checkpoint_every;
  std::string checkpoint_todelete_subdir;
  bool save_checkpoints = true;
  bool checkpoint_at_start = false;
  bool checkpoint_async = true;
  BestCheckpointConfig best_checkpoint;
  Duration continuous_eval_timeout = 3600;
  ConfigOf<Optimizer> optimizer;
  ConfigOf<Schedule> learning_rate;
  std::vector<LearnerConfig> learners;
  std::vector<std::string> frozen;
  std::vector<std::string> trainable;
  GradientClipConfig gradient_clip;
  GradientNoiseConfig gradient_noise;
  std::int64_t gradient_accumulation = 1;
  EmaConfig ema;
  VariationalNoiseConfig variational_noise;
  double loss_upper_bound = 1e6;
  double gradient_norm_upper_bound = 0;
  std::vector<ConfigOf<Action>> train_actions;
  std::vector<ConfigOf<Action>> eval_actions;
  Recovery recovery = Recovery::restore;
  std::int64_t recovery_begin_steps = 0;
  std::int64_t recovery_max_trials = 0;
  std::vector<ConfigOf<SummaryWriter>> summary_writers;
  std::int64_t summary_interval = 0;
  bool summary_histograms = false;

  void validate(Diagnostics& diagnostics) const {
    check_patterns(diagnostics, "frozen", frozen);
    check_patterns(diagnostics, "trainable", trainable);
    if (validation_steps == 0) {
      diagnostics.add("validation_steps", "must be at least 1, or -1 for all batches");
    }
    check_checkpoints(diagnostics);
    if (recovery == Recovery::skip && recovery_max_trials == 0) {
      diagnostics.add("recovery", "is skip, and recovery_max_trials = 0 lets no step be left out",
                      "set trainer.recovery_max_trials to the most steps to leave out");
    }
    if (!frozen.empty() && !trainable.empty()) {
      diagnostics.add("trainable", "is set, and frozen, too",
                      "say which are trained, or which not");
    }
    if (validation_data == ValidationData::continue_ && validation_steps < 0) {
      diagnostics.add("validation_data",
                      "an evaluation of all batches has nothing to continue with",
                      "set validation_steps to the batches of one evaluation, or validation_data = "
                      "\"restart\"");
    }
    if (gradient_clip.each_part && gradient_accumulation == 1) {
      diagnostics.add("gradient_clip.each_part",
                      "is on, and gradient_accumulation = 1 makes one part of a batch",
                      "set trainer.gradient_accumulation to the number of micro-batches");
    }
    if (!summary_histograms || summary_interval > 0) return;
    diagnostics.add("summary_histograms",
                    "needs summaries to be part of, and summary_interval is 0",
                    "set summary_interval to the steps between them");
  }
  // The part of validate() for checkpoints.
  TRIVET_API void check_checkpoints(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    TrainerConfig, trivet::NoBase,
    (train_steps, "Train until the global step is this; an absolute target.", at_least(0),
     adjustable),
    (steps_per_loop, "Steps between two lines of training metrics.", at_least(1), adjustable),
    (validation_steps, "Batches per evaluation; -1: all.", at_least(-1), adjustable),
    (validation_data,
     "Whether each evaluation restarts the data or continues where the last one stopped.",
     adjustable),
    (validation_interval, "Steps between evaluations in train_and_eval; 0: only at the end.",
     at_least(0), adjustable),
    (save_checkpoints,
     "Whether the run saves its state. Without, it starts again when it continues, and nothing of "
     "its weights remains; intervals and numbers of checkpoints have no effect.",
     adjustable),
    (checkpoint_interval,
     "Steps between checkpoints, or time such as \"10m\", and then before every evaluation, too; "
     "0: only at the end.",
     at_least(0), adjustable),
    (max_to_keep, "Newest checkpoints kept; 0: all.", at_least(0), adjustable),
    (keep_checkpoint_every,
     "Checkpoints of multiples of this step are kept for ever; or time such as \"12h\": the first "
     "one, and each one that is this much later than the last one kept. 0: none.",
     at_least(0), adjustable),
    (checkpoint_todelete_subdir,
     "Name of a folder in checkpoints/ that gets the old checkpoints. Empty: old checkpoints are "
     "removed.",
     adjustable),
    (checkpoint_at_start, "Saves a checkpoint before the first step.", adjustable),
    (checkpoint_async,
     "Training continues while a checkpoint is written; a write that fails ends the run.",
     adjustable),
    (best_checkpoint, "Keeps the checkpoints that evaluated best.", adjustable),
    (continuous_eval_timeout, "How long the continuous modes wait for the next checkpoint.",
     more_than(0), adjustable),
    (optimizer, "How gradients change weights."),
    (learning_rate, "A schedule, or a number for a constant one.", adjustable),
    (learners, "Optimizers of their own for variables by name; the others are the optimizer's."),
    (frozen, "Patterns of the whole paths of variables that are not trained."),
    (trainable,
     "Patterns of the variables to train; all others are frozen. Empty: all variables are "
     "trained."),
    (gradient_clip, "Limits on gradients.", adjustable),
    (gradient_noise, "Noise on the gradients, after the limits.", adjustable),
    (gradient_accumulation, "Number of micro-batches per optimizer step.", at_least(1), adjustable),
    (ema, "A moving average of the weights, which evaluations use.", adjustable),
    (variational_noise, "Noise on the weights that training steps use.", adjustable),
    (loss_upper_bound, "A training loss above this, or one that is not a number, ends the run.",
     more_than(0), adjustable),
    (gradient_norm_upper_bound,
     "A step whose gradients have this common l2 norm or a larger one ends the run, as a loss that "
     "is too large; 0: no bound.",
     at_least(0), adjustable),
    (recovery,
     "Action after a loss or gradients that are not finite or too large: restore the last "
     "checkpoint, or skip the step.",
     adjustable),
    (recovery_begin_steps,
     "First step for which loss_upper_bound and gradient_norm_upper_bound count.", at_least(0),
     adjustable),
    (recovery_max_trials, "Recoveries that the run may make; one bad step more ends it.",
     at_least(0), adjustable),
    (train_actions, "Actions after every line of training metrics, in order.", adjustable),
    (eval_actions, "Actions after every evaluation, in order.", adjustable),
    (summary_writers, "Where numbers go beside metrics.jsonl, such as \"tensorboard/Events\".",
     adjustable),
    (summary_interval,
     "Steps between summaries that layers and tasks report from inside a step; 0: none.",
     at_least(0), adjustable),
    (summary_histograms, "Adds histograms of every weight and gradient to the summaries.",
     adjustable))

// What a trainer reports to its host, and asks of it. Implemented by the runtime.
class TRIVET_API TrainerObserver {
 public:
  virtual ~TrainerObserver();
  // Whether the loss of the next step is needed. A trainer that must wait for the device to read it
  // asks before the step and reports NaN when it is not. [run-thread]
  virtual bool wants_loss() const = 0;
  // After every training step. `examples` excludes padding. [run-thread]
  virtual void on_train_step(std::int64_t global_step, double loss, std::int64_t examples) = 0;
  // Before on_train_step, where the task counts tokens (trivet/extensions/token_count.h). Default:
  // nothing. [run-thread]
  virtual void on_train_tokens(std::int64_t tokens);
  // After every evaluation step; `step` counts the steps of this evaluation from 1. [run-thread]
  virtual void on_eval_step(std::int64_t step, std::int64_t examples) = 0;
  // Whether anybody takes summaries. [run-thread]
  virtual bool wants_summaries() const;
  // `group` is "train" or "eval", `step` the last training step that was done. [run-thread]
  virtual void on_summaries(std::string_view group, std::int64_t step, const Summaries& summaries);
  // True when the run should stop at this step boundary (signal). Asked before every step.
  // [run-thread]
  virtual bool stop_requested() const = 0;
  // One line for people, such as what a new stage starts from. Default: nothing. [run-thread]
  virtual void note(const std::string& text);
  // One line about a fault that was recovered from, such as a skipped step. Default: note().
  // [run-thread]
  virtual void warn(const std::string& text);
};

struct TrainerContext {
  Task& task;
  Device& device;
  RngKey key;         // of the run's seed
  bool train = true;  // which halves to build
  bool eval = true;
  TrainerObserver& observer;
  // What evaluations need: task.eval_input, and of task.eval_inputs those of these indexes. Sets of
  // the tasks that a task is made of (Subtasks) follow its own.
  bool eval_main = true;
  std::vector<std::size_t> eval_sets{};
  MeshConfig mesh{};                  // of training
  ProcessGroup* processes = nullptr;  // that share the mesh; null: this process has all of it
  // On a meta device, for the memory of one of several processes that have parts of the weights
  // (Trainer::shares_weights): its number of shards. 0: it has whole weights.
  std::int64_t process_shards = 0;
  // Whether it has all weights, too, where the trainer can do so (ParameterStore::Keeps::all).
  bool process_keeps_weights = false;
  // And how many processes have other shards for the same blocks and stages.
  std::int64_t peers = 1;
};

// A bad step that a run may recover from: trainer.recovery is "restore", and trials are left.
// Thrown by Trainer::train; whoever called it gives Trainer::recover the last checkpoint and trains
// on.
class TRIVET_API DivergedError : public RunError {
 public:
  using RunError::RunError;
  DivergedError(const DivergedError&);
  ~DivergedError() override;
};

// One of several parts of a training that follow each other.
struct TrainingStage {
  std::string name;   // may be empty
  std::string path;   // in the config: "trainer.stages[1]"
  std::string model;  // key of what is trained in it; empty: the task's
};

class TRIVET_API Trainer : public Object {
 public:
  static constexpr std::string_view kKind = "trainer";
  using Config = TrainerConfig;
  using Context = TrainerContext;

  ~Trainer() override;

  // Training steps done. [run-thread]
  virtual std::int64_t global_step() const = 0;

  // Trains until `target` (absolute), the end of the data, or a requested stop, whichever comes
  // first. Sums are kept until train_logs() and are part of the saved state, so a stop inside a
  // loop loses nothing. Throws RunError for a loss that is not accepted, DivergedError where
  // recover() may help. [run-thread]
  virtual void train(std::int64_t target) = 0;
  // Means over the steps since the last call (training_loss, metrics, learning_rate), which are
  // then reset. Also called after train() has thrown, for the steps before the one that failed.
  // [run-thread]
  virtual Logs train_logs() = 0;
  // True when the training data came to its end. [run-thread]
  virtual bool exhausted() const = 0;

  // Evaluates `steps` batches, -1: all. trainer.validation_data says where the data starts. Empty
  // when a stop was requested in the middle. [run-thread]
  virtual Logs evaluate(std::int64_t steps) = 0;
  // The same for the set of this index (TrainerContext::eval_sets), by that set's program; the logs
  // have no prefix. Default: throws Error. [run-thread]
  virtual Logs evaluate_set(std::size_t set, std::int64_t steps);

  // Starting values for a run without a checkpoint: the task's initialize. [run-thread]
  virtual void initialize() = 0;
  // Throws RunError or DivergedError, as train(), for weights that are not worth keeping.
  // [run-thread]
  virtual void save(CheckpointWriter& writer) = 0;
  // Throws Error for a checkpoint of another model or optimizer. [run-thread]
  virtual void restore(const CheckpointReader& reader) = 0;
  // After a DivergedError: like restore(), but the training data continues from its present
  // position, and one trial more is used up. Default: restore(), for trainers that throw none.
  // [run-thread]
  virtual void recover(const CheckpointReader& reader);

  // Whether train() trains the shards of TrainerContext::mesh (trivet/backend/mesh_layout.h), each
  // with its part of a batch. Of several processes (TrainerContext::processes) each trains its own
  // shards (trivet/tensor/mesh_shards.h) from the whole batch, and then all have the same weights;
  // all are called in the same way. Its model may split work over the devices along mdl, which
  // processes may share (Scope::mesh). Default: false; a run on a mesh of several shards, or of
  // several devices along mdl, is then refused. [run-thread]
  virtual bool trains_shards() const;
  // Whether each of several processes makes a part of an update, and has slots and averages of this
  // part alone (Learner::can_share); of the present stage. Default: false. [run-thread]
  virtual bool shares_updates() const;
  // Whether, on a mesh with devices along data, each of several processes has a part of the weights
  // alone (ParameterStore::build_in_parts); of the present stage. Default: false. [run-thread]
  virtual bool shares_weights() const;
  // The stages of a training, at least one. Default: one. [run-thread]
  virtual std::vector<TrainingStage> stages() const;
  // Index of the present stage, from 0. [run-thread]
  virtual std::size_t stage() const;
  // Changes to the next stage whatever the step, as `trivet check` does to look at each; later
  // evaluations are that stage's. Default: throws Error. [run-thread]
  virtual void next_stage();

  // All variables of the model that is trained. Outside of calls of the trainer a process cannot
  // read weights of which it has a part alone (ParameterStore::is_in_parts): export_tensors gives
  // them. [run-thread]
  virtual ParameterStore& parameters() = 0;
  // The weights to use outside of training, by path. Default: the parameters as they are; a trainer
  // that averages weights gives the averages. [run-thread]
  virtual NamedTensors export_tensors();
};

}  // namespace trivet
