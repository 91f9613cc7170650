// SPDX-License-Identifier: Apache-2.0
// Attention by features: the formulas in double, its nearness to the softmax, random products,
// padding, gradients, and errors.
#include "nn/encoders/kernel_attention.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "plugins/lm/transformer_reference.h"
#include "plugins/training_step.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/testing/layer_check.h"

namespace kernel_attention_test {
namespace {

using namespace trivet::test;
using Catch::Contains;
using trivet::FpropContext;
using trivet::RngKey;
using trivet::Tensor;
using trivet::Value;

constexpr std::size_t kDims = 6, kHeads = 2, kDepth = 3;

struct Kernel : LayerFixture {
  Kernel(const std::string& backend, const std::string& transform, std::int64_t features,
         bool redraw = false, std::int64_t seed = 0)
      : LayerFixture(backend,
                     {"nn/KernelAttention", Value::table({{"input_dims", kDims},
                                                          {"num_heads", kHeads},
                                                          {"feature_transform", transform},
                                                          {"num_random_features", features},
                                                          {"redraw", redraw},
                                                          {"seed", seed}})}),
        w(trivet::nn::KernelAttention::random_products(
            features, kDepth,
            RngKey(static_cast<std::uint64_t>(seed)).fold("layer").fold("products"))) {
    for (const char* bias : {"query/b", "key/b", "value/b", "output/b"}) {
      set(bias, random_values(kDims, 40, 0.3));
    }
  }
  Weights weights() const {
    return [this](const std::string& path) { return values(path); };
  }
  std::vector<float> w;
};

double product(const Row& a, const Row& b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += a[d] * b[d];
  return sum;
}

// One head of each position, divided by D^(1/4).
Rows head(const Rows& x, std::size_t at) {
  Rows parts;
  for (const Row& row : x) {
    Row part(row.begin() + static_cast<std::ptrdiff_t>(at * kDepth),
             row.begin() + static_cast<std::ptrdiff_t>((at + 1) * kDepth));
    for (double& v : part) v /= std::pow(static_cast<double>(kDepth), 0.25);
    parts.push_back(part);
  }
  return parts;
}

// a of theorem 3.3 of Likhosherstov et al. 2022.
double a_of(const Rows& q, const Rows& k) {
  double phi = 0;
  const double n = static_cast<double>(q.size() * k.size()), d = kDepth;
  for (const Row& x : q) {
    for (const Row& y : k) phi += (product(x, x) + product(y, y) + 2 * product(x, y)) / n;
  }
  const double rho =
      (std::sqrt((2 * phi + d) * (2 * phi + d) + 8 * d * phi) - 2 * phi - d) / (4 * phi);
  return (1 - 1 / rho) / 8;
}

Row features(const Row& x, const std::string& transform, const std::vector<float>& w, double a) {
  Rows products;
  for (std::size_t m = 0; m < w.size() / kDepth; ++m) {
    products.emplace_back(w.begin() + static_cast<std::ptrdiff_t>(m * kDepth),
                          w.begin() + static_cast<std::ptrdiff_t>((m + 1) * kDepth));
  }
  Row u = x;
  if (!products.empty()) {
    u.clear();
    for (const Row& row : products) u.push_back(product(row, x));
  }
  for (std::size_t m = 0; m < u.size(); ++m) {
    double& v = u[m];
    if (transform == "exp") v = std::exp(v - product(x, x) / 2);
    if (transform == "expplus") {
      v = std::exp(a * product(products[m], products[m]) + std::sqrt(1 - 4 * a) * v -
                   product(x, x) / 2);
    }
    if (transform == "relu") v = std::max(v, 0.0) + 1e-3;
    if (transform == "elu") v = v > 0 ? v + 1 : std::exp(v);
    if (transform == "square") v = v * v;
  }
  return u;
}

// `a` by head, where it is not that of x.
Rows reference(const Rows& x, const Kernel& layer, const std::string& transform,
               const std::vector<double>& fixed = {}) {
  const Weights weight = layer.weights();
  const Rows q = affine(x, weight("query/w"), weight("query/b")),
             k = affine(x, weight("key/w"), weight("key/b")),
             v = affine(x, weight("value/w"), weight("value/b"));
  Rows mixed(x.size(), Row(kDims, 0.0));
  for (std::size_t h = 0; h < kHeads; ++h) {
    const Rows asking = head(q, h), asked = head(k, h);
    double a = transform == "expplus" ? a_of(asking, asked) : 0;
    if (!fixed.empty()) a = fixed[h];
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Row f = features(asking[i], transform, layer.w, a);
      double total = transform.starts_with("exp") ? 0 : 1e-6;
      Row sum(kDepth, 0.0);
      for (std::size_t j = 0; j < x.size(); ++j) {
        const double share = product(f, features(asked[j], transform, layer.w, a));
        total += share;
        for (std::size_t d = 0; d < kDepth; ++d) sum[d] += share * v[j][h * kDepth + d];
      }
      for (std::size_t d = 0; d < kDepth; ++d) mixed[i][h * kDepth + d] = sum[d] / total;
    }
  }
  return affine(mixed, weight("output/w"), weight("output/b"));
}

}  // namespace

TEST_CASE("attention by features matches its published formulas in float64", "[nn]") {
  for (const std::string& backend : backends()) {
    for (const std::string transform : {"exp", "expplus", "relu", "elu", "square"}) {
      for (const std::int64_t count : {8, 0}) {
        if (transform == "expplus" && count == 0) continue;
        const Kernel layer(backend, transform, count);
        const std::vector<float> x = random_values(2 * 5 * kDims, 3);
        std::vector<Rows> want;
        for (const Rows& rows : sequences(x, 5, kDims)) {
          want.push_back(reference(rows, layer, transform));
        }
        INFO(backend << " " << transform << " " << count);
        CHECK(largest_error(layer.fprop(layer.tensor(x, {2, 5, kDims})).to_host<float>(),
                            flattened(want)) < 5e-5);
      }
    }
  }
}

TEST_CASE("many random features come near the softmax", "[nn]") {
  // Choromanski et al. 2020, lemma 1: unbiased; the error falls with the root of their number.
  for (const std::string transform : {"exp", "expplus"}) {
    double errors[2] = {0, 0};
    for (const int i : {0, 1}) {
      for (std::int64_t seed = 0; seed < 4; ++seed) {
        const Kernel layer("tiny/Backend", transform, i == 0 ? 16 : 8192, false, seed);
        const std::vector<float> x = random_values(6 * kDims, 3, 0.2);
        const auto want = flattened({attention(sequences(x, 6, kDims)[0], layer.weights(),
                                               {.heads = kHeads, .kv_heads = kHeads})});
        const double error =
            largest_error(layer.fprop(layer.tensor(x, {1, 6, kDims})).to_host<float>(), want);
        errors[i] += error / 4;
      }
    }
    INFO(transform);
    CHECK(errors[1] < 0.02);
    CHECK(errors[1] < errors[0] / 3);
  }
}

TEST_CASE("random products are orthogonal in groups and as long as normal vectors", "[nn]") {
  constexpr std::size_t kCount = 402, kDeep = 8;
  const std::vector<float> w =
      trivet::nn::KernelAttention::random_products(kCount, kDeep, RngKey(3));
  REQUIRE(w.size() == kCount * kDeep);
  Rows rows;
  double squares = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    rows.emplace_back(w.begin() + static_cast<std::ptrdiff_t>(i * kDeep),
                      w.begin() + static_cast<std::ptrdiff_t>((i + 1) * kDeep));
    squares += product(rows[i], rows[i]) / kCount;
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    for (std::size_t j = i / kDeep * kDeep; j < i; ++j) {
      CHECK(std::abs(product(rows[i], rows[j])) < 1e-5);
    }
  }
  // chi^2 of 8 degrees has a mean of 8 and a variance of 16: a deviation of 0.2 for 402 of them.
  CHECK(std::abs(squares - kDeep) < 0.8);
}

TEST_CASE("random products are drawn again in training only, if at all", "[nn]") {
  const std::vector<float> x = random_values(5 * kDims, 3);
  const auto values = [&](const Kernel& layer, bool train, std::int64_t step) {
    FpropContext context;
    context.train = train;
    context.key = RngKey(1).fold(static_cast<std::uint64_t>(step));
    return layer.layer().fprop(layer.tensor(x, {1, 5, kDims}), context).to_host<float>();
  };
  const Kernel redrawn("tiny/Backend", "exp", 8, true), fixed("tiny/Backend", "exp", 8, false),
      seeded("tiny/Backend", "exp", 8, false, 3);
  CHECK(values(redrawn, false, 1) == values(fixed, false, 2));
  CHECK(values(fixed, true, 1) == values(fixed, true, 2));
  CHECK(values(redrawn, true, 1) == values(redrawn, true, 1));
  CHECK(values(redrawn, true, 1) != values(redrawn, true, 2));
  CHECK(values(seeded, false, 1) != values(fixed, false, 1));
}

TEST_CASE("attention by features leaves padding out, and never overflows", "[nn]") {
  for (const std::string transform : {"exp", "expplus", "relu", "elu", "square"}) {
    const Kernel layer("tiny/Backend", transform, 8);
    std::vector<float> x = random_values(5 * kDims, 3);
    const auto alone = layer.fprop(layer.tensor({x.begin(), x.begin() + 3 * kDims}, {1, 3, kDims}))
                           .to_host<float>();
    for (std::size_t i = 3 * kDims; i < x.size(); ++i) x[i] *= 50;
    FpropContext context;
    context.paddings = layer.tensor({0, 0, 0, 1, 1}, {1, 5});
    const auto got = layer.layer().fprop(layer.tensor(x, {1, 5, kDims}), context).to_host<float>();
    INFO(transform);
    CHECK(largest_error(std::vector<float>(got.begin(), got.begin() + 3 * kDims), alone) < 1e-5);
    for (float& v : x) v *= 100;
    for (const float v : layer.fprop(layer.tensor(x, {1, 5, kDims})).to_host<float>()) {
      CHECK(std::isfinite(v));
    }
    context.paddings = layer.tensor({1, 1, 1, 1, 1}, {1, 5});
    for (const float v :
         layer.layer().fprop(layer.tensor(x, {1, 5, kDims}), context).to_host<float>()) {
      CHECK(std::isfinite(v));
    }
  }
}

TEST_CASE("the gradients of attention by features match central differences", "[nn]") {
  for (const std::string& backend : backends()) {
    for (const std::string transform : {"exp", "relu", "elu", "square"}) {
      const Kernel layer(backend, transform, 8);
      // This input, with short steps, is not near the kink of relu.
      trivet::testing::LayerCheckOptions options;
      if (transform == "relu") options.gradients.step = options.gradients.absolute = 2e-3;
      INFO(backend << " " << transform);
      CHECK(trivet::testing::check_layer_gradients(
                layer.layer(), layer.store(),
                layer.tensor(random_values(3 * kDims, 11, 0.5), {1, 3, kDims}), options) == "");
    }
  }
}

TEST_CASE("the gradient of expplus takes its a for a constant", "[nn]") {
  for (const std::string& backend : backends()) {
    const Kernel layer(backend, "expplus", 5);
    const std::vector<float> x = random_values(3 * kDims, 11, 0.5);
    Rows rows = sequences(x, 3, kDims)[0];
    const Rows q = affine(rows, layer.values("query/w"), layer.values("query/b")),
               k = affine(rows, layer.values("key/w"), layer.values("key/b"));
    std::vector<double> fixed;
    for (std::size_t h = 0; h < kHeads; ++h) fixed.push_back(a_of(head(q, h), head(k, h)));
    const auto loss = [&] {
      double sum = 0;
      for (const Row& row : reference(rows, layer, "expplus", fixed)) sum += product(row, row);
      return sum;
    };
    std::vector<double> want;
    for (Row& row : rows) {
      for (double& v : row) {
        constexpr double kStep = 1e-5;
        v += kStep;
        const double above = loss();
        v -= 2 * kStep;
        want.push_back((above - loss()) / (2 * kStep));
        v += kStep;
      }
    }
    const Step step = step_of(layer.layer(), layer.store(), layer.tensor(x, {1, 3, kDims}));
    INFO(backend);
    CHECK(largest_error(step.input_gradient, want) < 1e-4);
  }
}

TEST_CASE("attention by features reports what it cannot take", "[nn]") {
  const Kernel layer("tiny/Backend", "exp", 4);
  CHECK_THROWS_WITH(layer.fprop(Tensor::zeros(layer.device(), {1, 3, 5})),
                    Contains("'layer': expected [B, T, 6]"));
  FpropContext packed;
  packed.segment_ids =
      Tensor::from<std::int32_t>(layer.device(), std::vector<std::int32_t>{1, 2, 0}, {1, 3});
  CHECK_THROWS_WITH(layer.layer().fprop(Tensor::zeros(layer.device(), {1, 3, 6}), packed),
                    Contains("nn/KernelAttention 'layer' would mix the texts of a packed row"));
  CHECK_THROWS_WITH(Kernel("tiny/Backend", "expplus", 0),
                    Contains("feature_transform: is expplus, which is of random products"));
  CHECK_THROWS_WITH(Kernel("tiny/Backend", "exp", 0, true),
                    Contains("redraw: has no effect with num_random_features = 0"));
  CHECK_THROWS_WITH(
      LayerFixture("tiny/Backend", {"nn/TransformerBlock",
                                    Value::table({{"input_dims", 6},
                                                  {"num_heads", 2},
                                                  {"atten_dropout", 0.1},
                                                  {"attention_tpl", "nn/KernelAttention"}})}),
      Contains("atten_dropout: is not used"));
}

}  // namespace kernel_attention_test
