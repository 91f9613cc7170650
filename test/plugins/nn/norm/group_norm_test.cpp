// SPDX-License-Identifier: Apache-2.0
// GroupNorm over the positions so far, and with padding, against plain loops in double.
#include <cmath>
#include <functional>

#include <catch2/catch.hpp>

#include "plugins/training_step.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/layer/extend_step.h"
#include "trivet/ops.h"
#include "trivet/testing/layer_check.h"

namespace nn_group_norm_test {
namespace {

using Catch::Contains;
using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::made;
using trivet::test::random_values;
using trivet::test::with;

constexpr double kTolerance = 2e-5;
constexpr std::size_t kBatch = 2, kLength = 5, kInner = 3, kGroups = 2, kDepth = 2,
                      kDim = kGroups * kDepth, kSize = kBatch * kLength * kInner * kDim;
const std::vector<float> kPadding{1, 0, 0, 1, 0, 0, 0, 0, 0, 1};

struct Rules {
  bool cumulative = true;
  std::vector<float> padding = std::vector<float>(kBatch * kLength, 0);
  std::vector<std::int32_t> segments = std::vector<std::int32_t>(kBatch * kLength, 1);
};

// The definitions in group_norm.h, element by element; x [B, T, P, dim].
std::vector<double> wanted(const std::vector<float>& x, const std::vector<float>& scale,
                           const std::vector<float>& bias, const Rules& rules) {
  std::vector<double> y(x.size());
  const auto at = [](std::size_t row, std::size_t t, std::size_t p, std::size_t c) {
    return ((row * kLength + t) * kInner + p) * kDim + c;
  };
  const auto counts = [&](std::size_t row, std::size_t s) {
    return rules.padding[row * kLength + s] == 0;
  };
  for (std::size_t row = 0; row < kBatch; ++row) {
    const auto sees = [&](std::size_t t, std::size_t s) {
      const bool same = rules.segments[row * kLength + t] == rules.segments[row * kLength + s];
      return counts(row, s) && (!rules.cumulative || (s <= t && same));
    };
    for (std::size_t g = 0; g < kGroups; ++g) {
      // The mean of f(s, element) over the elements that position t sees.
      const auto mean_at = [&](std::size_t t, const std::function<double(std::size_t, double)>& f) {
        double sum = 0, n = 0;
        for (std::size_t s = 0; s < kLength; ++s) {
          if (!sees(t, s)) continue;
          for (std::size_t i = 0; i < kInner * kDepth; ++i) {
            sum += f(s, static_cast<double>(x[at(row, s, i / kDepth, g * kDepth + i % kDepth)]));
            n += 1;
          }
        }
        return n > 0 ? sum / n : 0;
      };
      std::vector<double> mean;
      for (std::size_t t = 0; t < kLength; ++t) {
        mean.push_back(mean_at(t, [](std::size_t, double v) { return v; }));
      }
      for (std::size_t t = 0; t < kLength; ++t) {
        const double variance =
            mean_at(t, [&](std::size_t s, double v) { return (v - mean[s]) * (v - mean[s]); });
        for (std::size_t i = 0; i < kInner * kDepth && counts(row, t); ++i) {
          const std::size_t c = g * kDepth + i % kDepth, k = at(row, t, i / kDepth, c);
          y[k] = (static_cast<double>(x[k]) - mean[t]) / std::sqrt(variance + 1e-3) *
                     static_cast<double>(scale[c]) +
                 static_cast<double>(bias[c]);
        }
      }
    }
  }
  return y;
}

class GroupNorm : public LayerFixture {
 public:
  GroupNorm(const std::string& backend, bool cumulative)
      : LayerFixture(
            backend,
            {"nn/GroupNorm",
             Value::table({{"dim", kDim}, {"num_groups", kGroups}, {"cumulative", cumulative}})}) {
    set("scale", random_values(kDim, 1));
    set("bias", random_values(kDim, 2));
  }
  Tensor input(double stddev = 2) const {
    return tensor(random_values(kSize, 3, stddev), {kBatch, kLength, kInner, kDim});
  }
  FpropContext context(const Rules& rules) const {
    FpropContext context;
    const Rules none;
    if (rules.padding != none.padding) context.paddings = tensor(rules.padding, {2, 5});
    if (rules.segments != none.segments) {
      context.segment_ids = Tensor::from<std::int32_t>(device(), rules.segments, {2, 5});
    }
    return context;
  }
  void check(const Rules& rules) const {
    const Tensor x = input();
    FpropContext with_rules = context(rules);
    const Tensor y = layer().fprop(x, with_rules);
    CHECK(y.shape() == x.shape());
    CHECK(largest_error(y.to_host<float>(), wanted(x.to_host<float>(), values("scale"),
                                                   values("bias"), rules)) < kTolerance);
  }
};

const std::vector<std::int32_t> kSegments{1, 1, 2, 2, 2, 1, 2, 3, 3, 0};

// Runs a layer with a context of its own.
class WithContext final : public trivet::Layer {
 public:
  WithContext(trivet::Layer& layer, FpropContext context)
      : layer_(layer), context_(std::move(context)) {}
  Tensor fprop(const Tensor& x, FpropContext&) override {
    FpropContext own = context_;
    return layer_.fprop(x, own);
  }

 private:
  trivet::Layer& layer_;
  FpropContext context_;
};

}  // namespace

TEST_CASE("a cumulative GroupNorm normalizes each position by those up to it") {
  const GroupNorm norm(GENERATE(from_range(trivet::test::backends())), true);
  norm.check({});
  norm.check({.padding = kPadding});
  norm.check({.segments = kSegments});
  norm.check({.padding = kPadding, .segments = kSegments});
}

TEST_CASE("padded positions do not count in GroupNorm and become 0") {
  const GroupNorm norm(GENERATE(from_range(trivet::test::backends())), false);
  norm.check({.cumulative = false});
  norm.check({.cumulative = false, .padding = kPadding});
  norm.check({.cumulative = false, .padding = std::vector<float>(10, 1)});
}

TEST_CASE("a cumulative GroupNorm by hand") {
  // One group of one channel: positions 1, 3 have means 1, 2, and squares 0, then (0 + 1) / 2.
  const LayerFixture norm(
      "tiny/Backend",
      {"nn/GroupNorm",
       Value::table({{"dim", 1}, {"num_groups", 1}, {"epsilon", 0.5}, {"cumulative", true}})});
  const std::vector<float> y = norm.fprop(norm.tensor({1, 3}, {1, 2, 1})).to_host<float>();
  CHECK(y[0] == 0);
  CHECK(y[1] == Approx(1).epsilon(1e-6));
}

TEST_CASE("the gradients of GroupNorm's statistics match central differences") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const bool cumulative = GENERATE(true, false);
  INFO(backend << (cumulative ? " cumulative" : " whole"));
  const GroupNorm norm(backend, cumulative);
  const Tensor x = norm.input(1);
  for (const Rules& rules : {Rules{}, Rules{.padding = kPadding, .segments = kSegments}}) {
    WithContext layer(norm.layer(), norm.context(rules));
    CHECK(trivet::testing::check_layer_gradients(layer, norm.store(), x) == "");
  }
}

TEST_CASE("a cumulative GroupNorm decodes with a cache") {
  const GroupNorm norm(GENERATE(from_range(trivet::test::backends())), true);
  const Tensor x = norm.input();
  for (const Rules& rules :
       {Rules{}, Rules{.padding = kPadding}, Rules{.padding = kPadding, .segments = kSegments}}) {
    const FpropContext whole = norm.context(rules);
    FpropContext context = whole;
    const std::vector<float> want = norm.layer().fprop(x, context).to_host<float>();
    for (const std::vector<std::int64_t>& sizes :
         {std::vector<std::int64_t>{5}, {1, 1, 1, 1, 1}, {2, 0, 3}}) {
      const auto cache = trivet::make_cache(norm.layer(), "layer", kBatch, kLength);
      std::vector<Tensor> parts;
      std::int64_t begin = 0;
      for (const std::int64_t size : sizes) {
        const auto part = [&](const Tensor& all) {
          return all.defined() ? trivet::ops::slice(all, 1, begin, begin + size) : Tensor();
        };
        FpropContext chunk;
        chunk.paddings = part(whole.paddings);
        chunk.segment_ids = part(whole.segment_ids);
        parts.push_back(trivet::extend_step(norm.layer(), part(x), cache.get(), chunk));
        begin += size;
      }
      CHECK(largest_error(trivet::ops::concat(parts, 1).to_host<float>(), want) < kTolerance);
    }
  }
}

TEST_CASE("a cache of GroupNorm may be reordered") {
  const GroupNorm norm(GENERATE(from_range(trivet::test::backends())), true);
  const Tensor x = norm.input();
  const auto cache = trivet::make_cache(norm.layer(), "layer", kBatch, kLength);
  FpropContext context;
  trivet::extend_step(norm.layer(), trivet::ops::slice(x, 1, 0, 4), cache.get(), context);
  const std::vector<std::int32_t> second{1};
  cache->reorder(second);
  const Tensor rest = trivet::ops::slice(trivet::ops::slice(x, 0, 1, 2), 1, 4, 5);
  const Tensor y = trivet::extend_step(norm.layer(), rest, cache.get(), context);
  const Tensor whole = norm.layer().fprop(x, context);
  const Tensor want = trivet::ops::slice(trivet::ops::slice(whole, 0, 1, 2), 1, 4, 5);
  CHECK(largest_error(y.to_host<float>(), want.to_host<float>()) < kTolerance);
}

TEST_CASE("only a cumulative GroupNorm of sequences decodes") {
  const GroupNorm whole("tiny/Backend", false);
  CHECK_THROWS_WITH(trivet::make_cache(whole.layer(), "layer", 1, 2),
                    Contains("'layer' cannot decode with a cache"));
  const GroupNorm norm("tiny/Backend", true);
  CHECK_THROWS_WITH(norm.fprop(Tensor::zeros(norm.device(), {2, kDim})),
                    Contains("[nn/GroupNorm] 'layer': expected [B, T, .., 4]"));
  CHECK(norm.fprop(Tensor::zeros(norm.device(), {2, 0, kDim})).shape() ==
        trivet::Shape{2, 0, kDim});
}

}  // namespace nn_group_norm_test
