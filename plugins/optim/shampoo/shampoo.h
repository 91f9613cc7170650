// SPDX-License-Identifier: Apache-2.0
// Shampoo (Gupta, Koren and Singer 2018, algorithm 2; with the blocks, the grafting and the
// intervals of Anil et al. 2020, "Scalable second order optimization for deep learning").
//
//   G is the gradient of a block with k axes; G_i is G as a matrix whose rows are axis i
//   L_i = beta2 L_i + (1 - beta2) G_i G_i^T      beta2 = 1: L_i += G_i G_i^T, as in the papers
//   P_i = (L_i + matrix_epsilon lambda_max(L_i) I)^(-1 / (2 k))
//   x = G multiplied by P_i along each axis i
//   u = x |d| / |x|, d the step of graft_type; before start_preconditioning_step u = d
//   m = beta1 m + u, or + (1 - beta1) u with moving_average_for_momentum
//   w -= lr (m + weight_decay w), or with nesterov lr (beta1 m + u + weight_decay w)
//
// Norms are of the whole variable. A variable is cut into blocks of at most block_size on each
// axis, after neighboring axes of a product up to merge_small_dims_block_size became one. A
// variable with an axis above skip_preconditioning_dim_size_gt takes the step d. The steps d:
// "sgd" G; "sqrt_n" sign(G); "adagrad" G / (sqrt(v) + diagonal_epsilon), v += G^2; "rmsprop" the
// same with v = beta2 v + (1 - beta2) G^2; the "_normalized" ones with G / |G| for G.
// Slots: "m", "statistics", "preconditioners", and "v" where the grafted step has it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optim/parts/decay_filter.h"
#include "optim/shampoo/blocks.h"

namespace trivet::optim {

enum class Graft { sgd, adagrad, rmsprop, rmsprop_normalized, sqrt_n, adagrad_normalized };
TRIVET_ENUM(Graft, sgd, adagrad, rmsprop, rmsprop_normalized, sqrt_n, adagrad_normalized)

struct ShampooConfig : DecayConfig {
  std::int64_t block_size = 1024;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double diagonal_epsilon = 1e-16;
  double matrix_epsilon = 1e-6;
  bool relative_matrix_epsilon = true;
  std::int64_t start_preconditioning_step = 101;
  std::int64_t preconditioning_compute_steps = 100;
  std::int64_t statistics_compute_steps = 1;
  Graft graft_type = Graft::adagrad;
  bool nesterov = true;
  bool moving_average_for_momentum = false;
  std::int64_t exponent_override = 0;
  double clip_by_scaled_gradient_norm = 0;
  std::int64_t merge_small_dims_block_size = 4096;
  std::int64_t skip_preconditioning_dim_size_gt = 4096;
  std::int64_t skip_preconditioning_rank_lt = 1;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    ShampooConfig, trivet::optim::DecayConfig,
    (block_size, "Largest extent of a preconditioner.", at_least(1)),
    (beta1, "Decay of the momentum.", at_least(0), less_than(1), adjustable),
    (beta2, "Decay of the statistics, and of the squares of rmsprop; 1: their sums.", at_least(0),
     at_most(1), adjustable),
    (diagonal_epsilon, "Constant added to the root of the squares of the grafted step.",
     at_least(0), adjustable),
    (matrix_epsilon, "Constant added to the eigenvalues of the statistics.", more_than(0),
     adjustable),
    (relative_matrix_epsilon, "matrix_epsilon is a share of the largest eigenvalue.", adjustable),
    (start_preconditioning_step, "First step, from 0, that is preconditioned.", at_least(0),
     adjustable),
    (preconditioning_compute_steps, "Steps between two computations of the preconditioners.",
     at_least(1), adjustable),
    (statistics_compute_steps, "Steps between two updates of the statistics.", at_least(1),
     adjustable),
    (graft_type, "Optimizer whose step has the length that is taken."),
    (nesterov, "Nesterov's form of the momentum.", adjustable),
    (moving_average_for_momentum, "The momentum is a moving mean of steps, not their sum.",
     adjustable),
    (exponent_override, "Order of the inverse roots; 0: twice the number of axes.", at_least(0),
     adjustable),
    (clip_by_scaled_gradient_norm,
     "Largest root mean square of the grafted step of rmsprop; 0: none.", at_least(0), adjustable),
    (merge_small_dims_block_size,
     "Neighboring axes become one up to this product; 0: they stay as they are.", at_least(0)),
    (skip_preconditioning_dim_size_gt,
     "A variable with a larger extent takes the grafted step alone.", at_least(1)),
    (skip_preconditioning_rank_lt,
     "A variable with fewer axes takes the grafted step alone; 2 leaves out biases.", at_least(0)))

class Shampoo final : public Optimizer {
 public:
  using Config = ShampooConfig;
  explicit Shampoo(const Config& config) : config_(config), filter_(config) {}
  std::vector<std::string> slots() const override;
  Shape slot_shape(std::string_view slot, const Parameter& parameter) const override;
  std::int64_t group_of(const Parameter& parameter) const override {
    return filter_.group_of(parameter);
  }
  bool per_variable() const override { return true; }
  void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) override;
  void check_variables(std::span<const Parameter* const> variables) const override {
    filter_.check_variables(variables);
  }

 private:
  struct Cut {
    Shape shape;  // with merged axes
    std::vector<Block> blocks;
  };
  bool keeps_squares() const;
  std::optional<Cut> cut_of(const Shape& shape) const;  // nothing: not preconditioned
  void update(const OptimizerStep& step, OptimizerSegment& segment) const;
  Tensor grafted(const Tensor& g, OptimizerSegment& segment) const;
  Tensor preconditioned(const OptimizerStep& step, const Cut& cut, const Tensor& g,
                        OptimizerSegment& segment) const;
  void compute_roots(const Cut& cut, OptimizerSegment& segment) const;

  Config config_;
  DecayFilter filter_;
};

}  // namespace trivet::optim
