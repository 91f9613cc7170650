// SPDX-License-Identifier: Apache-2.0
// Optimizer: turns gradients into new parameter values. It keeps no state of its own: slots
// (momentum, ...) are tensors like the parameters, which the Learner owns, saves and restores.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/backend/dtype.h"
#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/object.h"
#include "trivet/plugin/registry.h"
#include "trivet/tensor.h"

namespace trivet {

class Parameter;

struct OptimizerConfig {};
TRIVET_CONFIG(OptimizerConfig, trivet::NoBase)

// A run of parameters, or of parts of them, that are updated alike; flat and contiguous, with one
// slot tensor per slot name.
struct OptimizerSegment {
  Tensor value;               // f32 [n], changed in place: assign() of trivet/train/optim_update.h
  Tensor gradient;            // f32 [n], not yet scaled
  std::vector<Tensor> slots;  // [n], of its slot_dtype; per variable: of the size of its slot_shape
  std::int64_t group = 0;     // as group_of said
  // The variable, for an optimizer that asked for a segment each; null otherwise.
  const Parameter* parameter = nullptr;
};

struct OptimizerStep {
  std::int64_t step = 0;  // updates done before this one
  double learning_rate = 0;
  float gradient_scale = 1;  // multiply gradients by it (clipping, loss scale)
};

class TRIVET_API Optimizer : public Object {
 public:
  static constexpr std::string_view kKind = "optimizer";
  using Config = OptimizerConfig;
  using Context = NoContext;

  ~Optimizer() override;

  // Names of the slots, e.g. {"m", "v"}; they are saved as "<path>/<slot>". [run-thread]
  virtual std::vector<std::string> slots() const = 0;
  // The value that all elements of a slot start with. Default: 0. [run-thread]
  virtual double slot_start(std::string_view slot) const;
  // Called only where `per_variable`: the shape of a slot, if it is not the variable's own (sums
  // over rows). {0}: this variable has no such slot; it is not saved, and is undefined in the
  // segment. [run-thread]
  virtual Shape slot_shape(std::string_view slot, const Parameter& parameter) const;

  // Parameters of one group are updated alike (e.g. 1 = without weight decay). Neighbors of one
  // group become one segment. Default: 0 for all. [run-thread]
  virtual std::int64_t group_of(const Parameter& parameter) const;
  // Whether each variable is a segment of its own (LAMB, LARS); each of several processes updates
  // some of the variables, and sees no values of others. Default: false: what becomes of an
  // element depends on this element of value, gradient and slots alone, so a segment may be a part
  // of a variable; each of several processes updates its part. [run-thread]
  virtual bool per_variable() const;

  // One step: changes `value` and `slots` of each segment. The formula and its source are the
  // optimizer's to document. [run-thread]
  virtual void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) = 0;

  // Called once, before `slots`, with all variables that it updates. Throws ConfigError, with the
  // name of its own field as path, for a field that fits none of them. Default: nothing.
  // [run-thread]
  virtual void check_variables(std::span<const Parameter* const> variables) const;

  // The type in which a slot of a variable is kept and saved, e.g. bf16 to save memory. Formulas
  // compute in f32: optim_update widens slots of bf16 and f16; others cast with ops. A device that
  // cannot store the type is a RunError. Neighbors whose types differ are separate segments.
  // Default: f32. [run-thread]
  virtual DType slot_dtype(std::string_view slot, const Parameter& parameter) const;
};

}  // namespace trivet
