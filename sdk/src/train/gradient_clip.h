// SPDX-License-Identifier: Apache-2.0
// Clipping of gradients.
//
// Gradients live in one flat block, so clipping by value is two calls and the global norm is one,
// whatever the number of parameters. Global clipping costs no pass of its own: its factor goes into
// the optimizer's gradient_scale. The norm of an update of several shards is made of those of their
// devices' pieces (UnitParts), so that it is the same for any number of processes.
#pragma once

#include <vector>

#include "layer/shared_block.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/train/learner_options.h"

namespace trivet::detail {

class GradientClip {
 public:
  GradientClip(ParameterStore& store, const GradientClipConfig& config, const SharedBlock& block);

  // Whose gradients the store holds: those of a part, which this process has whole and alone, or
  // those of the update, in its own part of the block. All processes ask for the latter.
  enum class Of { part, update };
  struct Result {
    double norm = -1;  // before clipping by norm; -1: none was taken. May be not finite.
    float scale = 1;   // what the optimizers are to multiply by
  };
  Result apply(Of of, bool wants_norm);
  // The norm of the update, without clipping.
  Result norm_alone();
  // The first variable whose gradient is not finite; empty when there is none.
  std::string first_not_finite(Of of);

 private:
  struct Variable {
    Parameter* parameter;
    Tensor gradient;  // f32 [n], whole
    Tensor own;       // its own_part_of
    Tensor square;    // f32 [1]: its element of `squares_`
  };
  struct Norms {
    double before = 0, after = 0;  // of all gradients, around clipping per variable
  };
  static Tensor& gradient_of(Variable& variable, Of of);
  std::vector<double> variable_norms(Of of);
  double norm_of_all(Of of);
  double norm_of_pieces();
  Norms clip_variables(Of of);
  // Whether variables are those of devices, some of which may be other processes'.
  bool has_owners(Of of) const;

  ParameterStore& store_;
  const SharedBlock& block_;
  GradientClipConfig config_;
  std::vector<Variable> variables_;
  Tensor squares_;        // f32 [variables]: sums of squares, read back in one go
  Tensor piece_squares_;  // f32 [shards whose pieces this process has]
  Tensor total_square_;   // f32 [1]
  Tensor lower_, upper_;  // scalars: -value and value
};

}  // namespace trivet::detail
