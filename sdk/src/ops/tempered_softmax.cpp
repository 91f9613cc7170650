// SPDX-License-Identifier: Apache-2.0
#include "trivet/ops/tempered_softmax.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/ops/host_array.h"

namespace trivet::ops {
namespace {

struct Normalizer {
  double lambda = 0;
  double escorts = 0;  // the sum of p^t, minus the derivative of the sum of p by lambda
};

// The sum of p falls with lambda and is convex, and it is at least 1 where lambda is the largest x:
// Newton's steps from there never go too far.
Normalizer normalizer(std::span<const float> x, double t) {
  Normalizer at{static_cast<double>(*std::ranges::max_element(x)), 0};
  constexpr int kMostSteps = 100;
  for (int step = 0; step < kMostSteps; ++step) {
    double sum = 0;
    at.escorts = 0;
    for (const float value : x) {
      const double base = 1 + (1 - t) * (static_cast<double>(value) - at.lambda);
      const double p = std::pow(base, 1 / (1 - t));
      sum += p;
      at.escorts += p / base;  // p^t
    }
    const double change = (sum - 1) / at.escorts;
    // The device takes the last step, for the gradient.
    if (!(change > 1e-13 * std::max(1.0, std::abs(at.lambda)))) break;
    at.lambda += change;
  }
  return at;
}

Tensor log_exp_t(const Tensor& x, const Tensor& lambda, double t) {
  const Tensor base = add(mul(sub(x, lambda), static_cast<float>(1 - t)), 1.0F);
  return mul(log(base), static_cast<float>(1 / (1 - t)));
}

}  // namespace

Tensor tempered_log_softmax(const Tensor& x, double t) {
  if (x.rank() != 2) {
    throw Error("[tempered_log_softmax] expected x [rows, classes], got " + x.to_string());
  }
  if (!(t >= 1)) {
    throw Error("[tempered_log_softmax] expected t of at least 1, got " + std::to_string(t));
  }
  if (t == 1) return log_softmax(x);
  const HostArray<float> values(x);
  const std::int64_t rows = x.dim(0);
  const auto classes = static_cast<std::size_t>(x.dim(1));
  Tensor lambda = Tensor::host({rows, 1}), inverse = Tensor::host({rows, 1});
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto i = static_cast<std::size_t>(row);
    const Normalizer found = normalizer({values.data() + i * classes, classes}, t);
    lambda.mutable_span<float>()[i] = static_cast<float>(found.lambda);
    inverse.mutable_span<float>()[i] = static_cast<float>(1 / found.escorts);
  }
  // One more of Newton's steps, whose gradient by x is that of lambda: the escort probabilities.
  const Tensor start = lambda.to(x.device());
  const Tensor excess = add(sum(exp(log_exp_t(x, start, t)), 1, {.keep_dims = true}), -1.0F);
  const Tensor exact = add(start, mul(excess, inverse.to(x.device())));
  return log_exp_t(x, exact, t);
}

}  // namespace trivet::ops
