// SPDX-License-Identifier: Apache-2.0
// Inspects the model of a config, for `trivet check` and `trivet summary`: builds it like a run,
// runs one or two training steps and an evaluation batch, and discards it. For training in stages,
// inspects each stage, starting from untrained weights of the earlier stages.
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
#include "device/step_exchanges.h"
#include "run/metric_uses.h"
#include "trivet/extensions/expected_initial_loss.h"
#include "trivet/layer/layer_trace.h"
#include "trivet/layer/pipeline.h"
#include "trivet/layer/weight_share.h"
#include "trivet/tensor/device.h"
#include "trivet/tensor/shape.h"
#include "trivet/train/logs.h"

namespace trivet {

struct Inspection {
  struct Weights {
    std::string path;
    Shape shape;
    bool trainable = true;
    bool has_gradient = true;  // in one of the steps; true if no step ran
    bool rows_apart = false;   // ParameterOptions::rows_apart
  };
  std::size_t stage = 0, stages = 1;      // index from 0, and their number
  std::string stage_name;                 // may be empty
  std::unique_ptr<Device> device;         // open, with its counters
  std::string model;                      // its key
  std::vector<LayerTrace::Entry> layers;  // with the calls of one training or evaluation step
  std::vector<Weights> weights;
  std::int64_t trainable_count = 0, count = 0;  // number of elements

  bool trained = false;       // false: the mode only evaluates
  double initial_loss = 0;    // loss of the first step, before any update
  std::int64_t examples = 0;  // in the batch
  std::int64_t tokens = 0;    // in the batch; 0 if the task does not count tokens
  FlopCount flops;            // of a training step; of an evaluation step if not trained
  std::optional<ExpectedInitialLoss::Range> expected_loss;  // nothing: the task gives none, or
                                                            // its weights come from a checkpoint
  bool evaluated = false;
  Logs eval_logs;       // of one batch
  MetricNames names;    // of all metrics; empty on a meta device
  MemoryReport memory;  // with all tensors

  bool abstract = false;
  MeshConfig mesh;
  std::int64_t global_batch = 0;  // examples of all devices; 0: unknown
  double peak_flops = 0;          // of a device, per second; 0: unknown
  // Tensors kept between steps, when training on a meta device.
  std::vector<MemoryPart> memory_parts;
  bool shares_updates = false;  // as Trainer::shares_updates
  bool shares_weights = false;  // as Trainer::shares_weights
  // Of processes that have parts of the weights.
  std::optional<WeightShare> weight_share;
  // Of processes that have all weights, and share updates by whole variables.
  std::optional<WeightShare> update_share;
  // Of each process, with its step; empty on a mesh that no run trains.
  std::vector<MemoryPart> process_memory;
  // FLOPs of a process in the step of one of its shards: those of its blocks and stages.
  FlopCount process_flops;
  // That of a mesh with devices along stage.
  std::optional<PipelineUse> pipeline;
  // What each of several processes sends to others in a step; empty on a mesh that no run trains.
  ExchangedTensors exchanged;
  std::vector<Exchange> exchanges;
  std::string why_rows_are_gathered;  // such as experts; empty: they are not
};

// Also uses a meta device if the mesh has devices that this machine lacks.
struct InspectOptions {
  bool abstract = false;
  MetricUses metrics{};  // metrics whose names are checked; not on a meta device
};

// Inspects each stage in order; at least one. Writes nothing and uses no run directory. Throws the
// errors of a run, with the location in the config. [main-thread]
std::vector<Inspection> inspect(const ResolvedConfig& config, const InspectOptions& options = {});

// Throws ConfigError for metrics that no stage gives. Does nothing if the stages were inspected on
// a meta device.
void check_metric_names(const MetricUses& uses, const std::vector<Inspection>& stages);

// The same before a run, whose task exists: first checks the metrics of the task and the trainer.
// If a name is still unknown, inspects the config.
void check_metric_names(const ResolvedConfig& config, Task& task, const TrainerConfig& trainer);

// The same for the objective of a search, at its launch: on a machine that may lack the devices and
// the data of the runs. Returns why the names cannot be compared here; empty: they are right.
std::string check_launched_metrics(const ResolvedConfig& config, const MetricUses& uses);

}  // namespace trivet
