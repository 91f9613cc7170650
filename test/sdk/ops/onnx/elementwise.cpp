// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "sdk/ops/onnx/operators.h"

namespace trivet::test::onnx {
namespace {

void unary(Operators& all, const char* name, std::function<Tensor(const Tensor&)> f) {
  all[name] = [f = std::move(f)](const Call& c) -> Outputs { return {f(c.f32())}; };
}

Tensor number(const Tensor& like, float value) {
  return Tensor::full(like.device(), {}, static_cast<double>(value));
}

Tensor as_float(const Tensor& x) {
  return ops::cast(x, DType::f32);
}

void add_unary(Operators& all) {
  unary(all, "Abs", ops::abs);
  unary(all, "Neg", ops::neg);
  unary(all, "Exp", ops::exp);
  unary(all, "Log", ops::log);
  unary(all, "Sqrt", ops::sqrt);
  unary(all, "Tanh", ops::tanh);
  unary(all, "Sigmoid", ops::sigmoid);
  unary(all, "Sin", ops::sin);
  unary(all, "Cos", ops::cos);
  unary(all, "Floor", ops::floor);
  unary(all, "Softplus", ops::softplus);
  unary(all, "Relu", [](auto& x) { return ops::activation(x, Activation::relu); });
  unary(all, "Ceil", [](auto& x) { return ops::neg(ops::floor(ops::neg(x))); });
  unary(all, "Reciprocal", [](auto& x) { return ops::div(number(x, 1), x); });
  unary(all, "Tan", [](auto& x) { return ops::div(ops::sin(x), ops::cos(x)); });
  unary(all, "Softsign", [](auto& x) { return ops::div(x, ops::add(ops::abs(x), 1)); });
  unary(all, "Sinh",
        [](auto& x) { return ops::mul(ops::sub(ops::exp(x), ops::exp(ops::neg(x))), 0.5F); });
  unary(all, "Cosh",
        [](auto& x) { return ops::mul(ops::add(ops::exp(x), ops::exp(ops::neg(x))), 0.5F); });
  unary(all, "Sign", [](auto& x) {
    return ops::sub(as_float(ops::less(number(x, 0), x)), as_float(ops::less(x, number(x, 0))));
  });
  unary(all, "IsNaN", [](auto& x) {
    const Tensor same = as_float(ops::equal(x, x));
    return ops::less(same, number(x, 0.5F));
  });
  unary(all, "HardSwish", [](auto& x) {
    const Tensor gate = ops::add(ops::mul(x, 1.0F / 6), 0.5F);
    return ops::mul(x, ops::max(ops::min(gate, number(x, 1)), number(x, 0)));
  });
}

Tensor elu(const Tensor& x, float alpha) {
  const Tensor zero = number(x, 0);
  const Tensor below = ops::mul(ops::add(ops::exp(ops::min(x, zero)), -1), alpha);
  return ops::where(ops::less(x, zero), below, x);
}

// With attributes.
void add_activations(Operators& all) {
  all["Elu"] = [](const Call& c) -> Outputs { return {elu(c.f32(), c.node.number("alpha", 1))}; };
  all["Selu"] = [](const Call& c) -> Outputs {
    const float gamma = c.node.number("gamma", 1.0507009873554805F);
    return {ops::mul(elu(c.f32(), c.node.number("alpha", 1.6732632423543772F)), gamma)};
  };
  all["Celu"] = [](const Call& c) -> Outputs {
    const float alpha = c.node.number("alpha", 1);
    return {ops::mul(elu(ops::mul(c.f32(), 1 / alpha), 1), alpha)};
  };
  all["LeakyRelu"] = [](const Call& c) -> Outputs {
    return {ops::max(c.f32(), ops::mul(c.f32(), c.node.number("alpha", 0.01F)))};
  };
  all["PRelu"] = [](const Call& c) -> Outputs {
    const Tensor &x = c.f32(), zero = c.constant(0);
    Tensor slope = c.f32(1);
    if (c.opset < 7 && slope.size() > 1) {  // one per channel
      std::vector<std::int64_t> extents(static_cast<std::size_t>(x.rank() - 1), 1);
      extents[0] = slope.size();
      slope = ops::reshape(slope, shape_of(extents));
    }
    return {ops::where(ops::less(x, zero), ops::mul(x, slope), x)};
  };
  all["ThresholdedRelu"] = [](const Call& c) -> Outputs {
    const Tensor above = ops::less(c.constant(c.node.number("alpha", 1)), c.f32());
    return {ops::where(above, c.f32(), c.constant(0))};
  };
  all["HardSigmoid"] = [](const Call& c) -> Outputs {
    const Tensor line =
        ops::add(ops::mul(c.f32(), c.node.number("alpha", 0.2F)), c.node.number("beta", 0.5F));
    return {ops::max(ops::min(line, c.constant(1)), c.constant(0))};
  };
  all["Shrink"] = [](const Call& c) -> Outputs {
    const float bias = c.node.number("bias", 0), edge = c.node.number("lambd", 0.5F);
    const Tensor &x = c.f32(), zero = c.constant(0);
    const Tensor low = ops::where(ops::less(x, c.constant(-edge)), ops::add(x, bias), zero);
    return {ops::where(ops::less(c.constant(edge), x), ops::add(x, -bias), low)};
  };
  all["IsInf"] = [](const Call& c) -> Outputs {
    const Tensor &x = c.f32(), infinity = c.constant(std::numeric_limits<float>::infinity());
    const bool up = c.node.integer("detect_positive", 1) != 0;
    const bool down = c.node.integer("detect_negative", 1) != 0;
    return {ops::equal(up && down ? ops::abs(x) : up ? x : ops::neg(x), infinity)};
  };
  all["Clip"] = [](const Call& c) -> Outputs {
    Tensor y = c.f32();
    if (c.node.has("min")) y = ops::max(y, c.constant(c.node.number("min", 0)));
    if (c.node.has("max")) y = ops::min(y, c.constant(c.node.number("max", 0)));
    if (c.has(1)) y = ops::max(y, c.f32(1));
    if (c.has(2)) y = ops::min(y, c.f32(2));
    return {y};
  };
}

// The second operand in versions before 7, where an attribute sets its first axis.
Tensor placed(const Call& c, const Tensor& b) {
  if (!c.node.has("axis")) return b;
  const auto axis = static_cast<int>(c.node.integer("axis", 0));
  std::vector<std::int64_t> extents = extents_of(b);
  while (axis + static_cast<int>(extents.size()) < c.any().rank()) extents.push_back(1);
  return ops::reshape(b, shape_of(extents));
}

using Binary = std::function<Tensor(const Tensor&, const Tensor&)>;

void binary(Operators& all, const char* name, Binary f) {
  all[name] = [f = std::move(f)](const Call& c) -> Outputs {
    return {f(c.f32(0), placed(c, c.f32(1)))};
  };
}

// Any number of operands.
void folded(Operators& all, const char* name, Binary f, bool mean = false) {
  all[name] = [f = std::move(f), mean](const Call& c) -> Outputs {
    Tensor y = c.f32();
    for (std::size_t i = 1; i < c.inputs.size(); ++i) y = f(y, c.f32(i));
    return {mean ? ops::mul(y, 1 / static_cast<float>(c.inputs.size())) : y};
  };
}

const Tensor& boolean(const Call& c, std::size_t i) {
  if (c.any(i).dtype() != DType::boolean) throw NoCounterpart(c.node.op + " of no bool");
  return c.any(i);
}

Tensor opposite(const Tensor& truth) {
  return ops::equal(truth, Tensor::full(truth.device(), truth.shape(), 0, DType::boolean));
}

// For types that are compared without conversion.
void comparison(Operators& all, const char* name, bool swapped, bool negated) {
  all[name] = [=](const Call& c) -> Outputs {
    const Tensor &a = c.any(swapped ? 1 : 0), &b = c.any(swapped ? 0 : 1);
    const Tensor y = ops::less(a, b);
    return {negated ? opposite(y) : y};
  };
}

void logic(Operators& all, const char* name, std::function<Tensor(Tensor, Tensor)> of_floats) {
  all[name] = [f = std::move(of_floats)](const Call& c) -> Outputs {
    const Tensor y = f(as_float(boolean(c, 0)), as_float(boolean(c, 1)));
    return {ops::cast(y, DType::boolean)};
  };
}

void add_binary(Operators& all) {
  const auto two = [](Tensor (*op)(const Tensor&, const Tensor&)) { return Binary(op); };
  binary(all, "Add", two(ops::add));
  binary(all, "Sub", two(ops::sub));
  binary(all, "Mul", two(ops::mul));
  binary(all, "Div", two(ops::div));
  binary(all, "Pow", two(ops::pow));
  folded(all, "Max", two(ops::max));
  folded(all, "Min", two(ops::min));
  folded(all, "Sum", two(ops::add));
  folded(all, "Mean", two(ops::add), true);
  comparison(all, "Less", false, false);
  comparison(all, "Greater", true, false);
  comparison(all, "LessOrEqual", true, true);
  comparison(all, "GreaterOrEqual", false, true);
  all["Equal"] = [](const Call& c) -> Outputs { return {ops::equal(c.any(0), c.any(1))}; };
  all["Not"] = [](const Call& c) -> Outputs { return {opposite(boolean(c, 0))}; };
  logic(all, "And", [](auto a, auto b) { return ops::mul(a, b); });
  logic(all, "Or", [](auto a, auto b) { return ops::max(a, b); });
  logic(all, "Xor", [](auto a, auto b) { return ops::sub(a, b); });
  all["Where"] = [](const Call& c) -> Outputs {
    return {ops::where(c.any(0), c.any(1), c.any(2))};
  };
}

}  // namespace

void add_elementwise(Operators& all) {
  add_unary(all);
  add_activations(all);
  add_binary(all);
}

}  // namespace trivet::test::onnx
