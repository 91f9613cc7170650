// SPDX-License-Identifier: Apache-2.0
#include "nn/encoders/linear_mixing.h"

#include "nn/basic/checks.h"
#include "nn/basic/packed_rows.h"
#include "trivet/ops.h"

namespace trivet::nn {
namespace {

constexpr const char* kLinearMixing = "nn/LinearMixing";

}  // namespace

LinearMixing::LinearMixing(const Config& config, Scope& scope)
    : path_(scope.path()),
      input_dims_(expect_set(kLinearMixing, path_, "input_dims", config.input_dims)),
      longest_(config.max_seq_length),
      positions_(scope.parameter("positions", {longest_, longest_}, {.init = config.init})),
      features_(scope.parameter("features", {input_dims_, input_dims_}, {.init = config.init})) {}

Tensor LinearMixing::fprop(const Tensor& x, FpropContext& context) {
  if (x.rank() != 3 || x.dim(2) != input_dims_ || x.dim(1) > longest_) {
    wrong_input(kLinearMixing, path_,
                "[B, T, " + std::to_string(input_dims_) + "] of at most " +
                    std::to_string(longest_) + " positions",
                x, x.rank() == 3 && x.dim(1) > longest_ ? "raise max_seq_length" : "");
  }
  refuse_packed(kLinearMixing, path_, context);
  const std::int64_t length = x.dim(1);
  const Tensor positions =
      ops::contiguous(ops::slice(ops::slice(positions_.value(), 0, 0, length), 1, 0, length));
  return ops::matmul(positions, ops::matmul(x, features_.value()));
}

}  // namespace trivet::nn
