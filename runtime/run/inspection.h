// SPDX-License-Identifier: Apache-2.0
// What a config makes of a model: built as a run would build it, with a step or two of training and
// a batch of evaluation, and thrown away; of a training in stages each of them, from the weights it
// would start from if nothing had been learnt before it. Behind `trivet check` and `trivet
// summary`.
//
// On a meta device (trivet/tensor/meta_device.h) nothing is computed: shapes, parameters, FLOPs
// and memory are those of the device's share of a training batch, and neither loss nor evaluation
// says anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/resolver.h"
#include "device/memory_share.h"
#include "run/metric_uses.h"
#include "trivet/extensions/expected_initial_loss.h"
#include "trivet/layer/layer_trace.h"
#include "trivet/tensor/device.h"
#include "trivet/tensor/shape.h"
#include "trivet/train/logs.h"

namespace trivet {

struct Inspection {
  struct Weights {
    std::string path;
    Shape shape;
    bool trainable = true;
    bool has_gradient = true;  // of the loss, in one of the steps; true where none was taken
  };
  std::size_t stage = 0, stages = 1;      // which of how many, counted from 0
  std::string stage_name;                 // may be empty
  std::unique_ptr<Device> device;         // open, with the counts of what was done
  std::string model;                      // its key
  std::vector<LayerTrace::Entry> layers;  // their calls are of one training or evaluation step
  std::vector<Weights> weights;
  std::int64_t trainable_count = 0, count = 0;  // numbers, not tensors

  bool trained = false;       // else the mode only evaluates
  double first_loss = 0;      // of the first step, before any update
  std::int64_t examples = 0;  // in it
  std::int64_t tokens = 0;    // in it; 0 where the task counts none
  FlopCount flops;            // of a training step, or of one of evaluation when not trained
  std::optional<ExpectedInitialLoss::Range> expected_loss;  // nothing: the task does not say, or
                                                            // its weights come from a checkpoint
  bool evaluated = false;
  Logs eval_logs;       // of one batch
  MetricNames names;    // of all numbers that were seen; empty on a meta device
  MemoryReport memory;  // with everything alive

  bool abstract = false;
  MeshConfig mesh;
  std::int64_t global_batch = 0;  // examples of all devices; 0: not known
  double peak_flops = 0;          // of a device, a second; 0: not known
  std::vector<MemoryPart>
      memory_parts;  // of a training on a meta device, what is kept between steps
};

// A training step of all devices. Zero where the task counts no tokens or nothing was trained.
struct TokenFigures {
  std::int64_t tokens = 0;
  double flops_per_token = 0;  // op by op, with all pairs of attention
  // 6 N + 12 L H Q T, N: all parameters. 0 where some are not trained: no gradient is made for
  // them.
  double closed_form = 0;
  double step_flops = 0;     // of all tokens
  double ideal_seconds = 0;  // at the peak of all devices; 0: no peak is known
};
TokenFigures token_figures(const Inspection& inspection);

// On a meta device also without having been asked to, where the mesh has devices that are not here.
struct InspectOptions {
  bool abstract = false;
  MetricUses metrics{};  // whose names are looked for; not on a meta device
};

// Of each stage, in order; at least one. Writes nothing: there is no run directory. Throws as a run
// does, Error with the location in the config. [main-thread]
std::vector<Inspection> inspect(const ResolvedConfig& config, const InspectOptions& options = {});

// Throws ConfigError for numbers that no stage gives, which were looked for. Nothing where the
// stages were looked at on a meta device.
void check_metric_names(const MetricUses& uses, const std::vector<Inspection>& stages);

// The same before a run, whose task is at hand: what its metrics and trainer say is looked at
// first, and where that leaves a name in doubt the config is inspected.
void check_metric_names(const ResolvedConfig& config, Task& task, const TrainerConfig& trainer);

// "stage 2 of 3 (deep)"; empty where training has one stage.
std::string stage_title(const Inspection& inspection);

// What is wrong with it, a line each.
std::vector<std::string> faults(const Inspection& inspection);

}  // namespace trivet
