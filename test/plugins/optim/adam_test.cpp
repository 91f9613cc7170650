// SPDX-License-Identifier: Apache-2.0
// Adam's options from Praxis, clip_threshold and epsilon_root, against the formulas in double;
// without them the backend's kernel does the update.
#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/plugin/registry.h"
#include "trivet/train/learner.h"
#include "trivet/train/optim_update.h"

namespace optim_adam_test {
namespace {

using trivet::Init;
using trivet::Optimizer;
using trivet::Parameter;
using trivet::RngKey;
using trivet::Tensor;
using trivet::Value;
using Numbers = std::vector<double>;

constexpr double kRate = 0.1;

struct Options {
  double beta1 = 0.9, beta2 = 0.9, epsilon = 0.05, epsilon_root = 0, clip_threshold = 0;
  double weight_decay = 0;
  bool epsilon_hat = false, amsgrad = false;

  Value fields() const {
    Value all = Value::table({{"beta1", beta1}, {"beta2", beta2}, {"epsilon", epsilon}});
    all.set("epsilon_root", epsilon_root);
    all.set("clip_threshold", clip_threshold);
    all.set("epsilon_hat", epsilon_hat);
    all.set("amsgrad", amsgrad);
    if (weight_decay > 0) all.set("weight_decay", weight_decay);
    return all;
  }
  std::string name() const { return weight_decay > 0 ? "AdamW" : "Adam"; }
};

std::unique_ptr<Optimizer> optimizer(const std::string& name, Value fields) {
  trivet::test::use_plugin("optim");
  return trivet::make(trivet::ConfigOf<Optimizer>("optim/" + name, std::move(fields)));
}

std::unique_ptr<trivet::Schedule> rate() {
  trivet::test::use_plugin("optim");
  return trivet::make(
      trivet::ConfigOf<trivet::Schedule>("optim/Constant", Value::table({{"value", kRate}})));
}

// A variable in double.
struct Reference {
  explicit Reference(const std::vector<float>& start)
      : w(start.begin(), start.end()), m(w.size()), v(w.size()), v_max(w.size()) {}

  void update(const Options& o, const std::vector<float>& gradient, int t) {
    const double m_weight = 1 - std::pow(o.beta1, t), v_weight = 1 - std::pow(o.beta2, t);
    const double epsilon = o.epsilon_hat ? o.epsilon / std::sqrt(v_weight) : o.epsilon;
    Numbers u(w.size());
    double squares = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const auto g = static_cast<double>(gradient[i]);
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * g;
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * g * g;
      v_max[i] = std::max(v_max[i], v[i]);
      const double spread = (o.amsgrad ? v_max[i] : v[i]) / v_weight;
      u[i] = m[i] / m_weight / (std::sqrt(spread + o.epsilon_root) + epsilon);
      squares += u[i] * u[i];
    }
    last_rms = std::sqrt(squares / static_cast<double>(u.size()));
    const double divisor = o.clip_threshold > 0 ? std::max(1.0, last_rms / o.clip_threshold) : 1.0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      w[i] -= kRate * (u[i] / divisor + o.weight_decay * w[i]);
    }
  }

  Numbers w, m, v, v_max;
  double last_rms = 0;
};

// Neighbors of different sizes: the gradients of "a" are large beside epsilon and those of "b"
// small, so that the root mean squares of their updates are about 0.8 and 0.2.
class Pair {
 public:
  Pair(const std::string& backend, const Options& options)
      : options_(options),
        device_(trivet::test::open_device(backend)),
        store_(*device_, RngKey(3)),
        a_(store_.add("a", {5, 3}, {.init = {Init::normal, 1}})),
        b_(store_.add("b", {4}, {.init = {Init::normal, 1}})) {
    store_.build();
    learner_ = std::make_unique<trivet::Learner>(
        store_, optimizer(options.name(), options.fields()), rate());
    a = std::make_unique<Reference>(a_.value().to_host<float>());
    b = std::make_unique<Reference>(b_.value().to_host<float>());
  }

  void update() {
    const int t = static_cast<int>(learner_->step()) + 1;
    a->update(options_, set_gradient(a_, 10 + static_cast<std::uint64_t>(t), 1), t);
    b->update(options_, set_gradient(b_, 20 + static_cast<std::uint64_t>(t), 0.02), t);
    learner_->begin().apply_gradients();
  }
  double error() const {
    return std::max(trivet::test::largest_error(a_.value().to_host<float>(), a->w),
                    trivet::test::largest_error(b_.value().to_host<float>(), b->w));
  }

  std::unique_ptr<Reference> a, b;

 private:
  static std::vector<float> set_gradient(Parameter& parameter, std::uint64_t seed, double size) {
    auto values = trivet::test::random_values(parameter.shape().size(), seed, size);
    std::copy(values.begin(), values.end(), parameter.gradient().mutable_span<float>().begin());
    return values;
  }

  Options options_;
  std::unique_ptr<trivet::Device> device_;
  trivet::ParameterStore store_;
  Parameter &a_, &b_;
  std::unique_ptr<trivet::Learner> learner_;
};

// One number that starts at 1, after one update by a gradient of 0.5.
double after_one(const std::string& backend, const std::string& name, Value fields) {
  const auto device = trivet::test::open_device(backend);
  trivet::ParameterStore store(*device, RngKey(1));
  Parameter& w = store.add("w", {1}, {.init = {Init::constant, 1}});
  store.build();
  trivet::Learner learner(store, optimizer(name, std::move(fields)), rate());
  w.gradient().mutable_span<float>()[0] = 0.5f;
  learner.begin().apply_gradients();
  return static_cast<double>(w.value().item());
}

std::string any_backend() {
  return GENERATE(from_range(trivet::test::backends()));
}

}  // namespace

TEST_CASE("Adam's first update of one number is 1, or as large as clip_threshold allows") {
  const std::string backend = any_backend();
  const auto after = [&](const char* name, Value fields) {
    return after_one(backend, name, std::move(fields));
  };
  CHECK(after("Adam", Value::table({{"clip_threshold", 2.0}})) == Approx(0.9));
  CHECK(after("Adam", Value::table({{"clip_threshold", 0.5}})) == Approx(0.95));
  // The decay, 0.1 * 0.1 * 1, is not clipped.
  CHECK(after("AdamW", Value::table({{"clip_threshold", 0.5}, {"weight_decay", 0.1}})) ==
        Approx(0.94));
}

// The number starts at 0, so that it shows the updates with all their digits.
TEST_CASE("Adam's first updates match float64 for every beta2") {
  const std::string backend = any_backend();
  Options options;
  options.beta2 = GENERATE(0.9, 0.999, 0.9999, 0.99999, 0.999999);
  options.amsgrad = GENERATE(false, true);
  options.epsilon = 1e-8;
  INFO(backend << ": beta2 " << options.beta2 << ", amsgrad " << options.amsgrad);
  const auto device = trivet::test::open_device(backend);
  trivet::ParameterStore store(*device, RngKey(1));
  Parameter& w = store.add("w", {1}, {.init = {Init::constant, 0}});
  store.build();
  trivet::Learner learner(store, optimizer("Adam", options.fields()), rate());
  Reference reference({0});
  int t = 0;
  for (const float gradient : {0.5F, 0.25F, 0.75F, 0.125F}) {
    w.gradient().mutable_span<float>()[0] = gradient;
    learner.begin().apply_gradients();
    reference.update(options, {gradient}, ++t);
    CHECK(w.value().item() == Approx(reference.w[0]).epsilon(1e-6));
  }
}

TEST_CASE("Adam adds epsilon_root under the root, after the bias correction") {
  const std::string backend = any_backend();
  // 0.5 / sqrt(0.25 + 0.75); before the correction it would be 0.5 / sqrt(0.25 + 750).
  CHECK(after_one(backend, "Adam", Value::table({{"epsilon_root", 0.75}})) == Approx(0.95));
  CHECK(after_one(backend, "AdamW",
                  Value::table({{"epsilon_root", 0.75}, {"weight_decay", 0.1}})) == Approx(0.94));
}

TEST_CASE("Adam with clip_threshold and epsilon_root follows its formula, variable by variable") {
  const std::string backend = any_backend();
  Options options;
  options.clip_threshold = GENERATE(0.0, 0.4);
  options.epsilon_root = GENERATE(0.0, 0.01);
  options.weight_decay = GENERATE(0.0, 0.1);
  options.amsgrad = GENERATE(false, true);
  options.epsilon_hat = GENERATE(false, true);
  INFO(backend << ": clip_threshold " << options.clip_threshold << ", epsilon_root "
               << options.epsilon_root << ", weight_decay " << options.weight_decay << ", amsgrad "
               << options.amsgrad << ", epsilon_hat " << options.epsilon_hat);
  Pair pair(backend, options);
  for (int step = 0; step < 4; ++step) {
    pair.update();
    // Four updates in f32 of numbers around 1.
    CHECK(pair.error() < 2e-6);
    // One of the two is above the threshold.
    if (step == 0) CHECK(pair.a->last_rms > 0.5);
    if (step == 0) CHECK(pair.b->last_rms < 0.35);
  }
}

TEST_CASE("Adam without clip_threshold, epsilon_root and amsgrad is the backend's kernel's") {
  const auto device = trivet::test::open_device(any_backend());
  const auto segment = [&] {
    trivet::OptimizerSegment made;
    const auto random = [&](std::uint64_t seed) {
      const auto values = trivet::test::random_values(37, seed);
      return Tensor::from<float>(*device, values, {37});
    };
    made.value = random(1);
    made.gradient = random(2);
    made.slots = {random(3), trivet::ops::square(random(4))};
    return made;
  };
  trivet::OptimizerSegment by_kernel = segment(), by_adam = segment();
  tv_optim update{};
  update.kind = TV_ADAM;
  update.grad_scale = 0.5f;
  update.lr = 0.1f;
  update.weight_decay = 0.25f;
  update.beta1 = 0.9f;
  update.beta2 = 0.999f;
  update.epsilon = 1e-8f;
  const auto beta1 = static_cast<double>(update.beta1), beta2 = static_cast<double>(update.beta2);
  update.step_size = static_cast<float>(0.1 / (1 - std::pow(beta1, 3)));
  update.v_scale = static_cast<float>(1 / std::sqrt(1 - std::pow(beta2, 3)));
  trivet::optim_update(update, by_kernel);

  const auto adam = optimizer("AdamW", Value::table({{"weight_decay", 0.25}}));
  CHECK_FALSE(adam->per_variable());
  adam->update({.step = 2, .learning_rate = 0.1, .gradient_scale = 0.5f}, std::span(&by_adam, 1));
  CHECK(by_adam.value.to_bytes() == by_kernel.value.to_bytes());
  CHECK(by_adam.slots[0].to_bytes() == by_kernel.slots[0].to_bytes());
  CHECK(by_adam.slots[1].to_bytes() == by_kernel.slots[1].to_bytes());
}

TEST_CASE("an update accepts a gradient that is a view, and no other view, type or shape") {
  const auto device = trivet::test::open_device(any_backend());
  const auto numbers = [&](const trivet::Shape& shape) {
    const auto values = trivet::test::random_values(shape.size(), 5);
    return Tensor::from<float>(*device, values, shape);
  };
  const auto segment = [&](const Tensor& gradient) {
    trivet::OptimizerSegment made;
    made.value = numbers({6});
    made.gradient = gradient;
    made.slots = {numbers({6})};
    return made;
  };
  tv_optim update{};
  update.kind = TV_SGD;
  update.grad_scale = update.lr = 0.5F;
  update.momentum = 0.5F;
  const Tensor column = trivet::ops::slice(numbers({6, 3}), 1, 1, 2);
  const Tensor view = trivet::ops::expand(trivet::ops::slice(numbers({6}), 0, 2, 3), {6});
  trivet::OptimizerSegment packed = segment(trivet::ops::contiguous(view)), viewed = segment(view);
  trivet::optim_update(update, packed);
  trivet::optim_update(update, viewed);
  CHECK(packed.value.to_bytes() == viewed.value.to_bytes());

  trivet::OptimizerSegment wrong = segment(numbers({6}));
  CHECK_THROWS_WITH(trivet::optim_update(update, wrong = segment(numbers({1, 6}))),
                    Catch::Contains("gradient"));
  wrong = segment(numbers({6}));
  wrong.slots[0] = column;
  CHECK_THROWS_WITH(trivet::optim_update(update, wrong), Catch::Contains("slot"));
  wrong.slots[0] = numbers({5});
  CHECK_THROWS_WITH(trivet::optim_update(update, wrong), Catch::Contains("slot"));
  wrong.slots[0] = trivet::ops::cast(numbers({6}), trivet::DType::i32);
  CHECK_THROWS_WITH(trivet::optim_update(update, wrong), Catch::Contains("f32 as slot"));
  wrong.slots[0] = {};
  CHECK_THROWS_WITH(trivet::optim_update(update, wrong), Catch::Contains("slot"));
}

TEST_CASE("Adam asks for variables by themselves where it clips, and refuses negative bounds") {
  for (const char* name : {"Adam", "AdamW"}) {
    CHECK(optimizer(name, Value::table({{"clip_threshold", 1.0}}))->per_variable());
    CHECK_FALSE(optimizer(name, Value::table({{"epsilon_root", 1.0}}))->per_variable());
    CHECK_THROWS_WITH(optimizer(name, Value::table({{"clip_threshold", -1.0}})),
                      Catch::Contains("clip_threshold"));
    CHECK_THROWS_WITH(optimizer(name, Value::table({{"epsilon_root", -1.0}})),
                      Catch::Contains("epsilon_root"));
  }
}

TEST_CASE("a decay that is 1 as a 32-bit number is refused") {
  for (const char* name : {"Adam", "AdamW", "Lion"}) {
    for (const char* field : {"beta1", "beta2"}) {
      INFO(name << " " << field);
      CHECK_THROWS_WITH(optimizer(name, Value::table({{field, 0.99999999}})),
                        Catch::Contains(field) && Catch::Contains("0.99999994"));
      CHECK_NOTHROW(optimizer(name, Value::table({{field, 0.99999994}})));
    }
  }
  const std::string backend = any_backend();
  const double after = after_one(backend, "Adam", Value::table({{"beta2", 0.99999994}}));
  CHECK(after == Approx(0.9));
}

}  // namespace optim_adam_test
