// SPDX-License-Identifier: Apache-2.0
#include "trivet/testing/gradient_check.h"

#include <algorithm>
#include <cmath>

#include "trivet/error.h"
#include "trivet/tape.h"
#include "trivet/tensor/random.h"

namespace trivet::testing {
namespace {

using Function = std::function<Tensor(std::span<const Tensor>)>;

bool is_constant(const GradientCheckOptions& options, std::size_t input) {
  return std::find(options.constant.begin(), options.constant.end(), input) !=
         options.constant.end();
}

std::vector<float> weights_for(const Tensor& y, std::uint64_t seed) {
  std::vector<float> weights(static_cast<std::size_t>(y.size()));
  random_uniform(RngKey(seed).fold("gradient check"), 0.5, 1.5, weights);
  return weights;
}

double objective(const Function& f, std::span<const Tensor> inputs, std::uint64_t seed) {
  const Tensor y = f(inputs);
  const std::vector<float> values = y.to_host<float>(), weights = weights_for(y, seed);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += double{values[i]} * double{weights[i]};
  return sum;
}

// What the tape says; an undefined tensor where nothing flowed.
std::vector<Tensor> tape_gradients(const Function& f, std::span<const Tensor> inputs,
                                   const GradientCheckOptions& options) {
  std::vector<GradientSlot> slots(inputs.size());
  std::vector<Tensor> leaves;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    leaves.push_back(is_constant(options, i) ? inputs[i] : make_leaf(inputs[i], slots[i]));
  }
  Tape tape;
  Tensor y;
  {
    Tape::Recording recording(tape);
    y = f(leaves);
  }
  const std::vector<float> weights = weights_for(y, options.seed);
  tape.backward(y, Tensor::from<float>(y.device(), weights, y.shape()));
  std::vector<Tensor> gradients;
  for (const GradientSlot& slot : slots) {
    gradients.push_back(slot.written ? slot.gradient : Tensor());
  }
  return gradients;
}

double difference(const Function& f, std::vector<Tensor>& inputs, std::size_t input,
                  std::vector<float> values, std::size_t element,
                  const GradientCheckOptions& options) {
  const Tensor original = inputs[input];
  const float x = values[element];
  const auto h = static_cast<float>(options.step * std::max(1.0, std::abs(double{x})));
  const float points[2] = {x + h, x - h};
  double sums[2];
  for (int side = 0; side < 2; ++side) {
    values[element] = points[side];
    inputs[input] = Tensor::from<float>(original.device(), values, original.shape());
    sums[side] = objective(f, inputs, options.seed);
  }
  inputs[input] = original;
  // The step that was really taken, after rounding.
  return (sums[0] - sums[1]) / (double{points[0]} - double{points[1]});
}

std::string position(std::size_t element, const Shape& shape) {
  std::string text;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const auto extent = static_cast<std::size_t>(shape[axis]);
    text = std::to_string(element % extent) + (text.empty() ? "" : ", ") + text;
    element /= extent;
  }
  return "[" + text + "]";
}

}  // namespace

std::string check_gradients(const Function& f, std::span<const Tensor> inputs,
                            const GradientCheckOptions& options) {
  const std::vector<Tensor> gradients = tape_gradients(f, inputs, options);
  std::vector<Tensor> moved(inputs.begin(), inputs.end());
  std::string report;
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    if (is_constant(options, input)) continue;
    const std::vector<float> values = inputs[input].to_host<float>();
    std::vector<float> taped(values.size(), 0.0F);
    if (gradients[input].defined()) taped = gradients[input].to_host<float>();
    double worst = 1;
    std::string text;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double expected = difference(f, moved, input, values, i, options), got = taped[i];
      const double allowed =
          options.absolute + options.relative * std::max(std::abs(expected), std::abs(got));
      const double ratio = std::abs(expected - got) / allowed;
      if (ratio <= worst) continue;  // false for a NaN, which is thus reported
      worst = std::isnan(ratio) ? worst : ratio;
      text = "input " + std::to_string(input) + " " + position(i, inputs[input].shape()) +
             ": tape " + std::to_string(got) + ", central difference " + std::to_string(expected) +
             "\n";
    }
    report += text;
  }
  return report;
}

}  // namespace trivet::testing
