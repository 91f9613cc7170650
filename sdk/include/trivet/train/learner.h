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
#include "trivet/layer/parameter_store.h"
#include "trivet/optimizer.h"
#include "trivet/schedule.h"
#include "trivet/tensor/mesh_shards.h"

namespace trivet {

struct GradientClipConfig;  // trivet/train/learner_options.h
struct LearnerOptions;
struct LearnerRule;
struct TensorPart;  // trivet/tensor/tensor_part.h

struct LearnerStepOptions {
  std::int64_t parts = 1;  // passes of a shard
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
          std::unique_ptr<Schedule> learning_rate);
  Learner(ParameterStore& store, std::unique_ptr<Optimizer> optimizer,
          std::unique_ptr<Schedule> learning_rate, const GradientClipConfig& clip);
  // Several optimizers. Throws ConfigError unless every trainable variable belongs to exactly one
  // rule, listing those that belong to none or two, and for a rule without variables.
  //
  // `shards`: whose gradients are one update. Those of this process make all their parts one after
  // another; the last call of apply_gradients waits for the other processes. Where they can share
  // the update (can_share), each makes it for its part of the weights (ParameterStore::Pieces), of
  // which alone it has slots and averages, and gets the weights of the others.
  Learner(ParameterStore& store, std::vector<LearnerRule> rules, LearnerOptions options,
          const MeshShards& shards = {});
  ~Learner();

  // Whether processes, where there are several, each make a part of an update: updates are those
  // of elements (has_element_updates), or devices own whole variables
  // (ParameterStore::has_whole_variables), and there are enough elements.
  bool can_share() const;
  // Whether no optimizer and no limit works per variable, and gradients get no noise.
  static bool has_element_updates(const std::vector<LearnerRule>& rules,
                                  const LearnerOptions& options);

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

    // Between ParameterStore::begin_gradients and the backward pass of a tape, whose gradients
    // nobody reads before apply_gradients, which gets the same `weight`: gradients in parts
    // (ParameterStore::build_in_parts) are then summed while the pass runs. Else it does nothing.
    // [run-thread]
    void begin_gradients(double weight, const Tape& tape);

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
    // False for gradients that are not finite, unless bad updates are skipped.
    bool accepts_norm(double norm);
    void add_noise(float& scale);

    Learner& learner_;
    const LearnerStepOptions options_;
    // Of this process.
    std::int64_t passes() const;
    bool adds_up() const;
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

  using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
  // Slots by name ("<parameter path>/<slot>"), in a fixed order. Live tensors; where processes
  // share the update copies, for which all processes make this call. [run-thread]
  NamedTensors slots() const;
  // This process's parts of them, to be saved or filled. [run-thread]
  std::vector<TensorPart> slot_parts() const;
  ParameterStore& store() const { return store_; }
  // The sum of the squares of all trainable weights, in no certain order: whether they are finite.
  // All processes make this call. [run-thread]
  double square_of_weights() const;

  // The averaged weights by parameter path, as slots(); empty without ema. [run-thread]
  NamedTensors averages() const;
  std::vector<TensorPart> average_parts() const;
  // Starts the average again at the present weights: for weights from elsewhere.
  void restart_average();
  // While it lives, the store holds the averages, and the learner the weights, bit for bit. Without
  // ema, or before the first update, it does nothing. No update may come in between. All processes
  // make one at the same time.
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
