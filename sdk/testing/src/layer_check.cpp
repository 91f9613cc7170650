// SPDX-License-Identifier: Apache-2.0
#include "trivet/testing/layer_check.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "trivet/tape.h"
#include "trivet/tensor/random.h"

namespace trivet::testing {
namespace {

struct Subject {
  Layer& layer;
  ParameterStore& store;
  const Tensor& x;
  const LayerCheckOptions& options;

  Tensor fprop(const Tensor& input) const {
    FpropContext context;
    context.train = options.train;
    context.key = RngKey(options.gradients.seed).fold("layer check");
    return layer.fprop(input, context);
  }
};

std::vector<float> layer_weights_for(const Tensor& y, std::uint64_t seed) {
  std::vector<float> weights(static_cast<std::size_t>(y.size()));
  random_uniform(RngKey(seed).fold("layer check weights"), 0.5, 1.5, weights);
  return weights;
}

double objective(const Subject& subject) {
  const Tensor y = subject.fprop(subject.x);
  const std::vector<float> values = y.to_host<float>();
  const std::vector<float> weights = layer_weights_for(y, subject.options.gradients.seed);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += double{values[i]} * double{weights[i]};
  return sum;
}

void fill_gradients(const Subject& subject) {
  Tape tape;
  Tensor y;
  {
    Tape::Recording recording(tape);
    y = subject.fprop(subject.x);
  }
  const std::vector<float> weights = layer_weights_for(y, subject.options.gradients.seed);
  subject.store.begin_gradients();
  tape.backward(y, Tensor::from<float>(y.device(), weights, y.shape()));
  subject.store.end_gradients();
}

void assign(Parameter& parameter, const std::vector<float>& values) {
  Device& device = parameter.value().device();
  parameter.assign(Tensor::from<float>(device, values, parameter.shape()));
}

double difference(const Subject& subject, Parameter& parameter, std::vector<float> values,
                  std::size_t element) {
  const float at = values[element];
  const auto h =
      static_cast<float>(subject.options.gradients.step * std::max(1.0, std::abs(double{at})));
  const float points[2] = {at + h, at - h};
  double sums[2];
  for (int side = 0; side < 2; ++side) {
    values[element] = points[side];
    assign(parameter, values);
    sums[side] = objective(subject);
  }
  return (sums[0] - sums[1]) / (double{points[0]} - double{points[1]});
}

// The worst element that does not pass, or nothing.
std::string check_parameter(const Subject& subject, Parameter& parameter) {
  const std::vector<float> values = parameter.value().to_host<float>();
  const std::vector<float> taped = parameter.gradient().to_host<float>();
  const GradientCheckOptions& limits = subject.options.gradients;
  double worst = 1;
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = difference(subject, parameter, values, i), got = taped[i];
    const double allowed =
        limits.absolute + limits.relative * std::max(std::abs(expected), std::abs(got));
    const double ratio = std::abs(expected - got) / allowed;
    if (ratio <= worst) continue;  // false for a NaN, which is thus reported
    worst = std::isnan(ratio) ? worst : ratio;
    text = parameter.path() + " element " + std::to_string(i) + ": tape " + std::to_string(got) +
           ", central difference " + std::to_string(expected) + "\n";
  }
  assign(parameter, values);
  return text;
}

}  // namespace

std::string check_layer_gradients(Layer& layer, ParameterStore& store, const Tensor& x,
                                  const LayerCheckOptions& options) {
  const Subject subject{layer, store, x, options};
  std::string report;
  if (x.dtype() == DType::f32) {
    report = check_gradients([&](std::span<const Tensor> in) { return subject.fprop(in[0]); },
                             std::span(&x, 1), options.gradients);
  }
  bool trainable = false;
  for (const auto& parameter : store.parameters()) trainable = trainable || parameter->trainable();
  if (!trainable) return report;
  fill_gradients(subject);
  for (const auto& parameter : store.parameters()) {
    if (parameter->trainable()) report += check_parameter(subject, *parameter);
  }
  return report;
}

}  // namespace trivet::testing
