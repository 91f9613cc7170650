// SPDX-License-Identifier: Apache-2.0
#include "nn/attention/fourier_mixing.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "nn/basic/checks.h"
#include "nn/basic/packed_rows.h"
#include "trivet/ops.h"

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

}  // namespace

FourierMixing::FourierMixing(const Config& config, Scope& scope)
    : path_(scope.path()),
      input_dims_(expect_set("nn/FourierMixing", path_, "input_dims", config.input_dims)),
      transform_(config.transform) {}

Tensor FourierMixing::fprop(const Tensor& x, FpropContext& context) {
  if (x.rank() != 3 || x.dim(2) != input_dims_) {
    wrong_input("nn/FourierMixing", path_, "[B, T, " + std::to_string(input_dims_) + "]", x);
  }
  refuse_packed("nn/FourierMixing", path_, context);
  const Transform features(input_dims_, x.device()), positions(x.dim(1), x.device());
  const Tensor cosines = ops::matmul(x, features.cosines), sines = ops::matmul(x, features.sines);
  const Tensor real =
      ops::sub(ops::matmul(positions.cosines, cosines), ops::matmul(positions.sines, sines));
  if (transform_ == MixingTransform::fourier) return real;
  const Tensor imaginary = ops::neg(
      ops::add(ops::matmul(positions.cosines, sines), ops::matmul(positions.sines, cosines)));
  return ops::sub(real, imaginary);
}

}  // namespace trivet::nn
