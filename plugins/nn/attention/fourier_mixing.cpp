// SPDX-License-Identifier: Apache-2.0
#include "nn/attention/fourier_mixing.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "nn/basic/checks.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/ops/host_array.h"
#include "trivet/tensor/meta_device.h"

namespace trivet::nn {
namespace {

// Cosines and sines of 2 pi j k / n, f32 [n, n].
struct Transform {
  Transform(std::int64_t n, Device& device);
  Tensor cosines, sines;
};

Transform::Transform(std::int64_t n, Device& device) {
  const auto size = static_cast<std::size_t>(n);
  std::vector<float> cosine(size), sine(size), all_cosines, all_sines;
  for (std::size_t i = 0; i < size; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
    cosine[i] = static_cast<float>(std::cos(angle));
    sine[i] = static_cast<float>(std::sin(angle));
  }
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t k = 0; k < size; ++k) {
      all_cosines.push_back(cosine[j * k % size]);
      all_sines.push_back(sine[j * k % size]);
    }
  }
  cosines = Tensor::from<float>(device, all_cosines, {n, n});
  sines = Tensor::from<float>(device, all_sines, {n, n});
}

// Segments are numbered from 1; 0 is padding.
bool is_packed(const Tensor& segment_ids) {
  if (!segment_ids.defined() || is_meta(segment_ids.device())) return false;
  const HostArray<std::int32_t> segments(segment_ids);
  for (std::int64_t i = 0; i < segment_ids.size(); ++i) {
    if (segments[i] > 1) return true;
  }
  return false;
}

}  // namespace

FourierMixing::FourierMixing(const Config& config, Scope& scope)
    : path_(scope.path()),
      input_dims_(expect_set("nn/FourierMixing", path_, "input_dims", config.input_dims)) {}

Tensor FourierMixing::fprop(const Tensor& x, FpropContext& context) {
  if (x.rank() != 3 || x.dim(2) != input_dims_) {
    wrong_input("nn/FourierMixing", path_, "[B, T, " + std::to_string(input_dims_) + "]", x);
  }
  if (is_packed(context.segment_ids)) {
    throw UsageError("nn/FourierMixing '" + path_ + "' would mix the texts of a packed row",
                     {.hint = "set pack = false in the input"});
  }
  const Transform features(input_dims_, x.device()), positions(x.dim(1), x.device());
  return ops::sub(ops::matmul(positions.cosines, ops::matmul(x, features.cosines)),
                  ops::matmul(positions.sines, ops::matmul(x, features.sines)));
}

}  // namespace trivet::nn
