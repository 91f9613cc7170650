// SPDX-License-Identifier: Apache-2.0
#include "nn/attention/alibi_bias.h"

#include <bit>
#include <cmath>

#include "nn/basic/checks.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::nn {
namespace {

// The slopes of `heads` heads, a power of two: every `step`-th, `count` of them.
void add_slopes(std::int64_t heads, std::int64_t step, std::int64_t count,
                std::vector<float>& slopes) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double exponent = -8.0 * static_cast<double>(1 + i * step) / static_cast<double>(heads);
    slopes.push_back(static_cast<float>(std::exp2(exponent)));
  }
}

std::vector<float> slopes_of(std::int64_t heads) {
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  std::vector<float> slopes;
  add_slopes(power, 1, power, slopes);
  add_slopes(2 * power, 2, heads - power, slopes);
  return slopes;
}

}  // namespace

AlibiBias::AlibiBias(const Config& config, Scope& scope)
    : path_(scope.path()),
      slopes_(slopes_of(expect_set("nn/AlibiBias", path_, "num_heads", config.num_heads))) {}

Tensor AlibiBias::fprop(const Tensor& distances, FpropContext&) {
  if (distances.dtype() != DType::i32 || distances.rank() != 3) {
    wrong_input("nn/AlibiBias", path_, "distances i32 [B, Tq, Tkv]", distances);
  }
  NoGrad no_grad;
  const auto heads = static_cast<std::int64_t>(slopes_.size());
  const Tensor down = ops::neg(Tensor::from<float>(distances.device(), slopes_, {1, heads, 1, 1}));
  const Tensor far = ops::abs(ops::cast(distances, DType::f32));
  return ops::mul(ops::reshape(far, {far.dim(0), 1, far.dim(1), far.dim(2)}), down);
}

}  // namespace trivet::nn
