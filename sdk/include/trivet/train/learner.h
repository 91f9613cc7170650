// SPDX-License-Identifier: Apache-2.0
// Learner: gradients in, updated parameters out: accumulates, clips, asks the schedules, runs the
// optimizers, counts updates, averages weights, and owns the optimizers' slots.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/config/patterns.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/optimizer.h"
#include "trivet/schedule.h"
#include "trivet/tensor/mesh_shards.h"

namespace trivet {

struct GradientClipConfig {
  double global_norm = 0;
  double per_variable_norm = 0;
  double value = 0;
  bool each_part = false;
};
TRIVET_CONFIG(GradientClipConfig, trivet::NoBase,
              (global_norm,
               "All gradients are scaled so that their common l2 norm is at most this; 0: off.",
               at_least(0)),
              (per_variable_norm,
               "Each variable's gradient is scaled to at most this l2 norm; 0: off.", at_least(0)),
              (value, "Each element is cut to [-value, value]; 0: off.", at_least(0)),
              (each_part,
               "Limits the gradients of each micro-batch of gradient_accumulation, instead of "
               "their mean."))

// Noise on the gradients, after clipping: g + stddev * N(0, 1), drawn for every update from the key
// of its first pass and the path of the variable (Neelakantan et al. 2015).
//
// With `each_part` and micro-batches of one example it is DP-SGD (Abadi et al. 2016, algorithm 1):
// stddev is the noise multiplier * global_norm / the number of examples of an update. Model
// Garden's differential_privacy_config clips the mean of a batch, with stddev the noise multiplier
// * global_norm.
struct GradientNoiseConfig {
  double stddev = 0;
};
TRIVET_CONFIG(GradientNoiseConfig, trivet::NoBase,
              (stddev, "Standard deviation of the noise; 0: none.", at_least(0)))

// An exponential moving average of the weights, after every update
//
//   average = k average + (1 - k) w,   s = updates done - start_step
//   k = 0 while s < 0 (a copy), else min(decay, (1 + s) / (10 + s)) if dynamic_decay, else decay
//
// as Model Garden's ema_optimizer, but it starts at the weights and not at 0, so that it is a mean
// of weights from the first update on. States (running means of norms) are averages already and are
// left as they are, unless trainable_weights_only is off, which averages everything, frozen weights
// (to no effect) included.
//
// With before_update the average takes the weights before each update, and s counts the updates
// before it, as Pax (ema_decay): it is that of one update earlier.
struct EmaConfig {
  double decay = 0;
  bool trainable_weights_only = true;
  bool dynamic_decay = true;
  std::int64_t start_step = 0;
  bool before_update = false;
};
TRIVET_CONFIG(EmaConfig, trivet::NoBase,
              (decay, "Share of the old average that is kept; 0: no average.", at_least(0),
               less_than(1)),
              (trainable_weights_only, "States, such as BatchNorm's means, are not averaged."),
              (dynamic_decay, "A smaller share at first: (1 + s) / (10 + s)."),
              (start_step, "Until this update the average is a copy.", at_least(0)),
              (before_update,
               "Averages the weights before each update, as Pax, instead of the updated weights."))

// Variational noise (Graves 2011), as Praxis' vn_scale, vn_regex and vn_start_step: in training the
// forward and the backward pass use
//
//   w + scale * N(0, 1)
//
// drawn for every pass from the key of the step and the path of the variable; the update is of
// w. Evaluations use w.
struct VariationalNoiseConfig {
  double scale = 0;
  std::vector<std::string> variables;
  std::int64_t start_step = 0;

  void validate(Diagnostics& diagnostics) const {
    check_patterns(diagnostics, "variables", variables);
  }
};
TRIVET_CONFIG(VariationalNoiseConfig, trivet::NoBase,
              (scale, "Standard deviation of the noise; 0: none.", at_least(0)),
              (variables, "Patterns of whole paths of the variables that get it; none: all."),
              (start_step, "First update with noise.", at_least(0)))

// One optimizer with its schedule, for some of the trainable variables.
struct LearnerRule {
  std::string name{};      // "" for the only, or main, one
  Patterns variables{{}};  // of whole paths; empty: what no other rule matches
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Schedule> learning_rate;
};

struct LearnerOptions {
  GradientClipConfig clip{};
  EmaConfig ema{};
  VariationalNoiseConfig variational_noise{};
  GradientNoiseConfig gradient_noise{};
  // Updates whose loss or gradients are not finite, or beyond a bound of LearnerStepOptions, are
  // left out and told by Update::skipped. It costs a norm of all gradients per update.
  bool skip_bad_updates = false;
};

struct LearnerStepOptions {
  std::int64_t parts = 1;  // passes of a shard
  // The shards whose gradients are one update. Those of this process make all their parts one after
  // another; the last call of apply_gradients waits for the other processes.
  MeshShards shards{};
  // The largest loss of an update that is not skipped, where bad ones are: the mean over the
  // examples of all parts and shards.
  double loss_bound = std::numeric_limits<double>::infinity();
  // The global norm before clipping by norm, of the whole update, from which on it is skipped.
  double gradient_norm_bound = std::numeric_limits<double>::infinity();
};

class TRIVET_API Learner {
 public:
  // The store must be built. Keeps a reference to it.
  Learner(ParameterStore& store, std::unique_ptr<Optimizer> optimizer,
          std::unique_ptr<Schedule> learning_rate, GradientClipConfig clip = {});
  // Several optimizers. Throws ConfigError unless every trainable variable belongs to exactly one
  // rule, listing those that belong to none or two, and for a rule without variables.
  Learner(ParameterStore& store, std::vector<LearnerRule> rules, LearnerOptions options);
  ~Learner();

  struct Update {
    double learning_rate = 0;  // of the first rule
    // Global l2 norm before clipping by norm (after clipping by value), with each_part of the mean
    // of the clipped parts; -1 when none is asked for. Of a skipped update, too.
    double gradient_norm = -1;
    bool applied = true;   // false: the gradients were kept for a later call, or left out
    bool skipped = false;  // left out: weights, slots, averages and step() are as before
  };
  // One update under way, from the gradients of its parts. Its sums end with it.
  class TRIVET_API Step {
   public:
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    // Takes noise off the weights that a part which did not come to its end has left.
    ~Step();

    // Before the forward pass of a part: adds variational noise to the weights, which
    // apply_gradients takes off again, bit for bit. `key` is that of the pass; noise on the
    // gradients is drawn from that of the first part. [run-thread]
    void begin_part(RngKey key);

    // Uses the gradients in the store: value, then per-variable, then global clipping over all of
    // them, then noise, then the optimizers, then the average. Gradients that are not finite (seen
    // when a norm is taken) throw Error naming the step and the learning rate. [run-thread]
    //
    // A variable without a gradient (Parameter::has_gradient) is not updated and keeps its slots:
    // no momentum, no weight decay. It adds nothing to norms. Its weights remain in the
    // average.
    //
    // Of n passes, the parts of this process's shards, the first n - 1 calls only add up; the n-th
    // works on the mean of the gradients of all shards, each with its `weight`: with the number of
    // examples that a loss is the mean over, the update is that of one batch of all of them; a
    // variable is updated if it had a gradient in any of them. Gradients of a shard are added one
    // after another, and then those of the shards by their tree. With GradientClipConfig::each_part
    // the parts are clipped, and not their mean. One more call throws Error. `loss` (a scalar, may
    // be undefined) is looked at only where bad updates are skipped.
    Update apply_gradients(double weight = 1, const Tensor& loss = {});
    // The last result of apply_gradients.
    const Update& last_update() const { return last_; }

   private:
    friend class Learner;
    Step(Learner& learner, const LearnerStepOptions& options);
    // Adds the part; whether the update is complete.
    bool add_up(double weight, float scale, double loss);
    // Throws for gradients that are not finite, or notes it where bad updates are skipped.
    void check_norm(double norm);
    void add_noise(float& scale);

    Learner& learner_;
    const LearnerStepOptions options_;
    // Of this process.
    std::int64_t passes() const { return options_.parts * options_.shards.count(); }
    bool adds_up() const { return passes() > 1 || options_.shards.total() > 1; }
    // Of the shards of this process.
    struct ShardSums {
      std::vector<double> weights, losses;  // losses times weights
    };
    // Those of all shards; the gradients and what the parts have found become those of all.
    ShardSums exchange();
    void check_loss(double loss);

    std::int64_t passes_done_ = 0;
    ShardSums sums_;
    bool bad_ = false;           // a part had a loss or gradients to skip
    std::optional<RngKey> key_;  // of the first part
    Update last_;
  };
  // Starts an update. One at a time: throws Error while another Step lives. Call it outside of a
  // step of the device. [run-thread]
  Step begin(const LearnerStepOptions& options = {});

  std::int64_t step() const { return step_; }  // updates done
  double learning_rate() const;                // of the next update, by the first rule
  // Of the next update, by every rule: name and value.
  std::vector<std::pair<std::string, double>> learning_rates() const;
  void set_step(std::int64_t step) { step_ = step; }

  // Slots by name ("<parameter path>/<slot>"), in a fixed order, for checkpoints. The tensors are
  // the live ones.
  std::vector<std::pair<std::string, Tensor>> slots() const;
  ParameterStore& store() const { return store_; }

  // The averaged weights by parameter path, live ones; empty without ema.
  std::vector<std::pair<std::string, Tensor>> averages() const;
  // Starts the average again at the present weights: for weights from elsewhere.
  void restart_average();
  // While it lives, the store holds the averages, and the learner the weights, bit for bit. Without
  // ema, or before the first update, it does nothing. No update may come in between.
  class TRIVET_API UseAverages {
   public:
    explicit UseAverages(Learner& learner);
    UseAverages(const UseAverages&) = delete;
    UseAverages& operator=(const UseAverages&) = delete;
    ~UseAverages();

   private:
    Learner& learner_;
  };

 private:
  struct Impl;
  void swap_average();
  ParameterStore& store_;
  std::unique_ptr<Impl> impl_;
  std::int64_t step_ = 0;
  bool under_way_ = false;  // a Step lives
};

// Makes every parameter whose whole path matches a pattern a state: no gradient is computed for it,
// no optimizer changes it, and it is saved with the weights. Before ParameterStore::build. Throws
// ConfigError (at trainer.frozen) for a pattern that matches no trainable parameter, and when none
// is left to train.
TRIVET_API void freeze(ParameterStore& store, const std::vector<std::string>& patterns);

// The same to every parameter whose path no pattern matches (at trainer.trainable).
TRIVET_API void freeze_others(ParameterStore& store, const std::vector<std::string>& patterns);

}  // namespace trivet
