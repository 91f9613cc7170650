// SPDX-License-Identifier: Apache-2.0
// Slots in bfloat16 and int8: what optimizers store, against the formulas of Praxis and optax in
// double and values by hand.
#include "optim/parts/slot_dtype.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/plugin/registry.h"
#include "trivet/train/learner.h"

namespace slot_dtype_test {
namespace {

using trivet::DType;
using trivet::Shape;
using trivet::Tensor;
using trivet::Value;
using Values = std::vector<float>;

constexpr double kRate = 0.1;

std::string any_backend() {
  return GENERATE(from_range(trivet::test::backends()));
}

trivet::ConfigOf<trivet::Optimizer> optimizer(const std::string& name, Value fields) {
  trivet::test::use_plugin("optim");
  return {"optim/" + name, std::move(fields)};
}

Value table_of(const std::string& name, Value fields) {
  fields.set("type", "optim/" + name);
  return fields;
}

// A variable "w" of ones with an optimizer.
struct Variable {
  Variable(const std::string& backend, const Shape& shape, const std::string& name, Value fields)
      : device(trivet::test::open_device(backend)), store(*device, trivet::RngKey(1)) {
    trivet::test::use_plugin("optim");
    w = &store.add("w", shape, {.init = {trivet::Init::constant, 1}});
    store.build();
    learner.emplace(store, trivet::make(optimizer(name, std::move(fields))),
                    trivet::make(trivet::ConfigOf<trivet::Schedule>(
                        "optim/Constant", Value::table({{"value", kRate}}))));
  }
  Values update(const Values& gradient) {
    w->gradient().assign_bytes(std::as_bytes(std::span(gradient)));
    learner->begin().apply_gradients();
    return w->value().to_host<float>();
  }
  Tensor slot(const std::string& name) const {
    for (const auto& [path, tensor] : learner->slots()) {
      if (path == "w/" + name) return tensor;
    }
    throw trivet::Error("there is no slot " + name);
  }

  std::unique_ptr<trivet::Device> device;
  trivet::ParameterStore store;
  trivet::Parameter* w = nullptr;
  std::optional<trivet::Learner> learner;
};

std::vector<int> integers_of(const Tensor& slot) {
  std::vector<int> out;
  for (const std::uint8_t bits : slot.to_host<std::uint8_t>()) {
    out.push_back(static_cast<std::int8_t>(bits));
  }
  return out;
}

void check_near(const Values& values, const std::vector<double>& expected) {
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(static_cast<double>(values[i]) == Approx(expected[i]).epsilon(2e-6));
  }
}

// Praxis' ShardedAdafactor with decay_method = adam, beta1, int8 and no factored second moment, in
// double, for a variable [rows, columns].
struct Reference {
  Reference(std::size_t rows_, std::size_t columns_)
      : rows(rows_),
        columns(columns_),
        w(rows * columns, 1),
        v(w.size()),
        q(w.size()),
        scale(columns) {}

  void update(const Values& g) {
    ++t;
    const double b = 0.99 * (1 - std::pow(0.99, t - 1)) / (1 - std::pow(0.99, t));
    std::vector<double> x(w.size());
    double squares = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double gradient = static_cast<double>(g[i]);
      v[i] = b * v[i] + (1 - b) * (gradient * gradient + 1e-30);
      x[i] = gradient / std::sqrt(v[i]);
      squares += x[i] * x[i];
    }
    const double divisor = std::max(1.0, std::sqrt(squares / static_cast<double>(w.size())));
    for (std::size_t i = 0; i < w.size(); ++i) {
      x[i] = 0.9 * q[i] * scale[i % columns] + (1 - 0.9) * kRate * x[i] / divisor;
      w[i] -= x[i];
    }
    for (std::size_t column = 0; column < columns; ++column) {
      double largest = 0;
      for (std::size_t i = column; i < w.size(); i += columns) {
        largest = std::max(largest, std::abs(x[i]));
      }
      scale[column] = largest / 127;
      for (std::size_t i = column; i < w.size(); i += columns) {
        const double ratio = scale[column] > 0 ? x[i] / scale[column] : x[i];
        // Rounding in f32 must not decide.
        REQUIRE(std::abs(ratio - std::floor(ratio) - 0.5) > 1e-3);
        q[i] = static_cast<int>(std::nearbyint(ratio));
      }
    }
  }

  std::size_t rows, columns;
  std::vector<double> w, v;
  std::vector<int> q;
  std::vector<double> scale;
  int t = 0;
};

Value int8_fields() {
  return Value::table({{"beta1", 0.9}, {"decay_method", "adam"}, {"quantized_dtype", "int8"}});
}

}  // namespace

TEST_CASE("8-bit integers round ratios to even, and have a scale for each column") {
  const auto device = trivet::test::open_device(any_backend());
  // By hand: scales 1, 2, 0 and, from a negative largest, 0.5.
  const Values x{127,     254,  0, -63.5F,  //
                 0.5F,    -5,   0, 0.75F,   // 0.5 -> 0, -2.5 -> -2, 1.5 -> 2
                 1.5F,    5,    0, -0.25F,  // 1.5 -> 2, 2.5 -> 2, -0.5 -> 0
                 -126.5F, -254, 0, 63};     // -126.5 -> -126
  const auto stored = trivet::optim::quantized(Tensor::from<float>(*device, x, {4, 4}));
  CHECK(stored.scale.to_host<float>() == Values{1, 2, 0, 0.5F});
  CHECK(stored.values.dtype() == DType::u8);
  CHECK(integers_of(stored.values) ==
        std::vector<int>{127, 127, 0, -127, 0, -2, 0, 2, 2, 2, 0, 0, -126, -127, 0, 126});
  CHECK(trivet::optim::dequantized(stored).to_host<float>() ==
        Values{127, 254, 0, -63.5F, 0, -4, 0, 1, 2, 4, 0, 0, -126, -254, 0, 63});
}

TEST_CASE("8-bit integers of numbers too small for a scale are 0, of NaN are NaN") {
  const auto device = trivet::test::open_device(any_backend());
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  // 2.5e-43 / 127 is at most one denormal number of few digits.
  const auto stored = trivet::optim::quantized(
      Tensor::from<float>(*device, Values{2.5e-43F, kNaN, -1e-43F, 1}, {2, 2}));
  const std::vector<int> q = integers_of(stored.values);
  CHECK(q[0] == 0);
  CHECK(q[2] == 0);
  const Values back = trivet::optim::dequantized(stored).to_host<float>();
  CHECK(back[0] == 0);
  CHECK(std::isnan(back[1]));
  CHECK(std::isnan(back[3]));
}

TEST_CASE("Adafactor in int8 follows Praxis' formula and bytes") {
  const std::string backend = any_backend();
  const Shape shape = GENERATE(Shape{3, 4}, Shape{3, 2, 2}, Shape{12});
  INFO(backend << " " << shape.to_string());
  const std::size_t rows = static_cast<std::size_t>(shape[0]);
  Variable variable(backend, shape, "Adafactor", int8_fields());
  Reference reference(rows, 12 / rows);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Values gradient = trivet::test::random_values(12, seed);
    const Values w = variable.update(gradient);
    reference.update(gradient);
    check_near(w, reference.w);
    CHECK(integers_of(variable.slot("m")) == reference.q);
    check_near(variable.slot("m_scale").to_host<float>(), reference.scale);
  }
  CHECK(variable.slot("m").dtype() == DType::u8);
  CHECK(variable.slot("m").shape() == shape);
  CHECK(variable.slot("v").dtype() == DType::f32);
  CHECK(variable.slot("m_scale").dtype() == DType::f32);
  CHECK(variable.slot("m_scale").rank() == shape.rank() - 1);
}

TEST_CASE("Adafactor keeps the momentum of a scalar in f32, as Praxis") {
  const std::string backend = any_backend();
  Variable scalar(backend, {}, "Adafactor", int8_fields());
  Value fields = int8_fields();
  fields.erase("quantized_dtype");
  Variable plain(backend, {}, "Adafactor", fields);
  for (const float gradient : {0.5F, -1.0F, 2.0F}) {
    CHECK(scalar.update({gradient}) == plain.update({gradient}));
  }
  CHECK(scalar.slot("m").dtype() == DType::f32);
  CHECK_THROWS_WITH(scalar.slot("m_scale"), Catch::Contains("no slot"));
}

TEST_CASE("Adafactor in bfloat16 rounds its momentum to even after the update") {
  // By hand: x is the sign of the gradient at the first update, so m = (1 - 0.5) * 0.1 = 0.05,
  // which is 0.050048828125 in bfloat16; then v is the mean of squares with b = 0.99 / 1.99.
  Variable number(
      any_backend(), {1}, "Adafactor",
      Value::table({{"beta1", 0.5}, {"decay_method", "adam"}, {"quantized_dtype", "bfloat16"}}));
  check_near(number.update({1}), {0.95});
  CHECK(number.slot("m").dtype() == DType::bf16);
  CHECK(number.slot("m").item() == 0.050048828125F);
  check_near(number.update({1}), {0.95 - (0.5 * 0.050048828125 + 0.05)});
}

TEST_CASE("Lion in bfloat16 rounds its momentum to the nearest, ties to even") {
  // beta2 = 0 makes m the gradient. 1 + 2^-8 and 1 + 3 * 2^-8 are halfway between two numbers.
  Variable pair(any_backend(), {2}, "Lion",
                Value::table({{"beta1", 0.5}, {"beta2", 0.0}, {"m_dtype", "bfloat16"}}));
  pair.update({1 + 0x1p-8F, -1 - 3 * 0x1p-8F});
  CHECK(pair.slot("m").dtype() == DType::bf16);
  CHECK(pair.slot("m").to_host<float>() == Values{1, -1 - 0x1p-6F});
  // By hand: the sign of m + g is that of the rounded m: 1 - (1 + 2^-9), and 0 with the other m.
  check_near(pair.update({-1 - 0x1p-9F, 1 + 0x1p-6F}), {1.0, 1.1});
}

TEST_CASE("Adam keeps its mean of gradients in bfloat16, in the kernel and composed") {
  // The textbook's update in double with the rounding to bfloat16 by hand: m is 0.050048828125,
  // then -0.054931640625.
  const auto& options = GENERATE(Value::table(), Value::table({{"amsgrad", true}}),
                                 Value::table({{"clip_threshold", 100.0}}));
  const char* name = GENERATE("Adam", "AdamW");
  Value fields = options;
  fields.set("m_dtype", "bfloat16");
  Variable number(any_backend(), {1}, name, fields);
  check_near(number.update({0.5F}), {0.900000002});
  CHECK(number.slot("m").dtype() == DType::bf16);
  CHECK(number.slot("v").dtype() == DType::f32);
  CHECK(number.slot("m").item() == 0.050048828125F);
  check_near(number.update({-1}), {0.9365811023611118});
  CHECK(number.slot("m").item() == -0.054931640625F);
  check_near(number.update({2}), {0.894598385585485});
}

TEST_CASE("a long variable with a momentum in bfloat16 is updated as its parts, bit for bit") {
  // 65536 numbers are widened at a time.
  const std::string backend = any_backend();
  constexpr std::int64_t kAll = 70001, kFirst = 65536;
  const Value fields = Value::table({{"m_dtype", "bfloat16"}, {"weight_decay", 0.1}});
  const char* name = GENERATE("AdamW", "Lion");
  Variable whole(backend, {kAll}, name, fields);
  Variable first(backend, {kFirst}, name, fields), last(backend, {kAll - kFirst}, name, fields);
  Values result, parts;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const Values gradient = trivet::test::random_values(kAll, seed);
    result = whole.update(gradient);
    parts = first.update(Values(gradient.begin(), gradient.begin() + kFirst));
    const Values rest = last.update(Values(gradient.begin() + kFirst, gradient.end()));
    parts.insert(parts.end(), rest.begin(), rest.end());
  }
  CHECK(std::count(parts.begin(), parts.end(), 1.0F) == 0);
  CHECK((result == parts));
}

TEST_CASE("optimizers around another one keep its slots in their types") {
  const std::string backend = any_backend();
  const Value lion = table_of("Lion", Value::table({{"m_dtype", "bfloat16"}}));
  Variable regularized(backend, {4}, "Regularized",
                       Value::table({{"optimizer", lion}, {"l2", 0.1}}));
  CHECK(regularized.slot("m").dtype() == DType::bf16);
  const Value adafactor = table_of("Adafactor", int8_fields());
  Variable ewc(backend, {4, 4}, "Ewc", Value::table({{"optimizer", adafactor}, {"strength", 0.1}}));
  Variable pruned(backend, {4, 4}, "Pruned",
                  Value::table({{"optimizer", lion}, {"final_sparsity", 0.5}, {"end_step", 10}}));
  CHECK(ewc.slot("m").dtype() == DType::u8);
  CHECK(ewc.slot("start").dtype() == DType::f32);
  CHECK(pruned.slot("m").dtype() == DType::bf16);
  CHECK(pruned.slot("mask").dtype() == DType::f32);
  const Values gradient = trivet::test::random_values(16, 1);
  regularized.update({1, 2, -1, -2});
  ewc.update(gradient);
  pruned.update(gradient);
  CHECK(regularized.slot("m").to_host<float>()[0] > 0);
  CHECK(std::ranges::max(integers_of(ewc.slot("m"))) == 127);
  CHECK(pruned.slot("m").to_host<float>()[0] != 0);
}

TEST_CASE("types of a momentum without effect, and unknown ones, are refused") {
  const auto refused = [](const std::string& name, Value fields) {
    try {
      trivet::make(optimizer(name, std::move(fields)));
    } catch (const trivet::ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK_THAT(refused("Adafactor", Value::table({{"quantized_dtype", "int8"}})),
             Catch::Contains("quantized_dtype") && Catch::Contains("no effect with beta1 = 0"));
  CHECK_THAT(refused("Adafactor", Value::table({{"quantized_dtype", "bfloat16"}})),
             Catch::Contains("no effect with beta1 = 0"));
  CHECK_THAT(refused("Adafactor", Value::table({{"beta1", 0.9}, {"quantized_dtype", "int4"}})),
             Catch::Contains("quantized_dtype") && Catch::Contains("bfloat16"));
  CHECK_THAT(refused("Lion", Value::table({{"m_dtype", "int8"}})), Catch::Contains("m_dtype"));
  CHECK(refused("Adafactor", int8_fields()) == "accepted");
}

}  // namespace slot_dtype_test
