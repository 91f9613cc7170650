// SPDX-License-Identifier: Apache-2.0
// The further forms of attention by features: scales, softmax of features, first positions by
// softmax, and windows of chunks, against their formulas in double.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "nn/encoders/kernel_attention.h"
#include "plugins/lm/transformer_reference.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/testing/layer_check.h"

namespace kernel_forms_test {
namespace {

using namespace trivet::test;
using Catch::Contains;
using trivet::FpropContext;
using trivet::RngKey;
using trivet::Tensor;
using trivet::Value;

constexpr std::size_t kDims = 6, kHeads = 2, kDepth = 3;

struct Form {
  std::string transform = "exp";
  std::size_t features = 4;
  double scale = 1 / std::sqrt(3.0);
  bool by_length = false, is_short = false;
  std::size_t begin = 0;
  std::size_t chunk = 0, window = 0;  // 0: no windows
  double decay = 1;
  bool left = false;
};

Value fields_of(const Form& form) {
  Value fields = Value::table({{"input_dims", kDims},
                               {"num_heads", kHeads},
                               {"feature_transform", form.transform},
                               {"num_random_features", form.features},
                               {"scale", form.scale},
                               {"scale_by_length", form.by_length},
                               {"is_short_seq", form.is_short},
                               {"begin_kernel", form.begin}});
  if (form.chunk == 0) return fields;
  fields.set("use_causal_windowed", true);
  fields.set("causal_chunk_length", form.chunk);
  fields.set("causal_window_length", form.window);
  if (form.decay < 1) fields.set("causal_window_decay", form.decay);
  fields.set("causal_padding", form.left ? "left" : "right");
  return fields;
}

struct Kernel : LayerFixture {
  Kernel(const std::string& backend, const Form& given)
      : LayerFixture(backend, {"nn/KernelAttention", fields_of(given)}),
        form(given),
        w(trivet::nn::KernelAttention::random_products(static_cast<std::int64_t>(form.features),
                                                       kDepth,
                                                       RngKey(0).fold("layer").fold("products"))) {
    for (const char* bias : {"query/b", "key/b", "value/b", "output/b"}) {
      set(bias, random_values(kDims, 40, 0.3));
    }
    if (form.begin > 0) set("softmax_output/b", random_values(kDims, 41, 0.3));
  }
  // Positions from `counted` on are padding.
  std::vector<float> run(const std::vector<float>& x, std::size_t counted) const {
    const std::size_t length = x.size() / kDims;
    std::vector<float> paddings(length, 0.0F);
    for (std::size_t i = counted; i < length; ++i) paddings[i] = 1;
    const auto rows = static_cast<std::int64_t>(length);
    FpropContext context;
    if (counted < length) context.paddings = tensor(paddings, {1, rows});
    return layer().fprop(tensor(x, {1, rows, kDims}), context).to_host<float>();
  }
  Form form;
  std::vector<float> w;
};

double product(const Row& a, const Row& b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += a[d] * b[d];
  return sum;
}

// The products u of a row with the random vectors.
Row products(const Row& x, const Kernel& layer) {
  if (layer.form.features == 0) return x;
  Row u;
  for (std::size_t m = 0; m < layer.form.features; ++m) {
    double sum = 0;
    for (std::size_t d = 0; d < kDepth; ++d) sum += x[d] * layer.w[m * kDepth + d];
    u.push_back(sum);
  }
  return u;
}

// kernel_attention.h; `shift` is subtracted from the exponents.
// `a` is that of expplus.
Row features(const Row& x, const Kernel& layer, double shift, double a) {
  const std::string& transform = layer.form.transform;
  Row u = products(x, layer);
  if (transform == "expplus") {
    for (std::size_t m = 0; m < u.size(); ++m) {
      const auto first = layer.w.begin() + static_cast<std::ptrdiff_t>(m * kDepth);
      const Row w(first, first + kDepth);
      u[m] = std::exp(a * product(w, w) + std::sqrt(1 - 4 * a) * u[m] - product(x, x) / 2);
    }
  }
  for (double& v : u) {
    if (transform == "exp") v = std::exp(v - shift) * std::exp(-product(x, x) / 2);
    if (transform == "expmod") v = std::exp(v - shift) * std::exp(-std::sqrt(3.0) / 2);
    if (transform == "relu") v = std::max(v, 0.0) + 1e-3;
    if (transform == "elu") v = v > 0 ? v + 1 : std::exp(v);
    if (transform == "square") v = v * v;
  }
  if (layer.form.is_short && layer.form.features > 0) {
    for (double& v : u) v /= std::sqrt(static_cast<double>(layer.form.features));
  }
  return u;
}

Row head(const Row& x, std::size_t at, double factor) {
  Row part(x.begin() + static_cast<std::ptrdiff_t>(at * kDepth),
           x.begin() + static_cast<std::ptrdiff_t>((at + 1) * kDepth));
  for (double& v : part) v *= factor;
  return part;
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

// How much the key j counts for the query i.
double share_of(const Form& form, std::size_t i, std::size_t j, std::size_t length) {
  if (form.chunk == 0) return 1;
  const std::size_t before = form.left ? (form.chunk - length % form.chunk) % form.chunk : 0;
  const std::size_t asking = (i + before) / form.chunk, asked = (j + before) / form.chunk;
  if (asked > asking || asking - asked >= form.window) return 0;
  return std::pow(form.decay, static_cast<double>(asking - asked));
}

Rows reference(const Rows& x, const Kernel& layer, std::size_t counted) {
  const Form& form = layer.form;
  const Rows q = affine(x, layer.values("query/w"), layer.values("query/b")),
             k = affine(x, layer.values("key/w"), layer.values("key/b")),
             v = affine(x, layer.values("value/w"), layer.values("value/b"));
  double scale = form.scale;
  if (form.by_length) scale *= std::log(static_cast<double>(counted)) / std::log(512.0);
  const double asking_scale = form.is_short ? scale : std::sqrt(scale);
  const double asked_scale = form.is_short ? 1 : std::sqrt(scale);
  double largest[] = {-1e300, -1e300};  // of queries, of keys
  for (std::size_t i = 0; i < counted; ++i) {
    for (std::size_t h = 0; h < kHeads; ++h) {
      if (i >= form.begin) {
        for (const double u : products(head(q[i], h, asking_scale), layer)) {
          largest[0] = std::max(largest[0], u);
        }
      }
      for (const double u : products(head(k[i], h, asked_scale), layer)) {
        largest[1] = std::max(largest[1], u);
      }
    }
  }
  if (!form.is_short) largest[0] = largest[1] = 0;  // they cancel
  const auto plus = [&](std::size_t h) {
    Rows asking, asked;
    for (std::size_t i = 0; i < counted; ++i) {
      if (i >= form.begin) asking.push_back(head(q[i], h, asking_scale));
      asked.push_back(head(k[i], h, asked_scale));
    }
    return form.transform == "expplus" ? a_of(asking, asked) : 0;
  };
  const bool cancels = form.transform.starts_with("exp");
  Rows out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    Row mixed(kDims, 0.0);
    const bool is_first = i < form.begin;
    for (std::size_t h = 0; h < kHeads; ++h) {
      const double a = plus(h);
      double total = form.is_short || is_first || cancels ? 0 : 1e-6;
      for (std::size_t j = 0; j < counted; ++j) {
        double share = 0;
        if (is_first) {
          share = std::exp(scale * product(head(q[i], h, 1), head(k[j], h, 1)));
        } else {
          share = product(features(head(q[i], h, asking_scale), layer, largest[0], a),
                          features(head(k[j], h, asked_scale), layer, largest[1], a));
          share = form.is_short ? std::exp(share) : share * share_of(form, i, j, x.size());
        }
        total += share;
        for (std::size_t d = 0; d < kDepth; ++d) {
          mixed[h * kDepth + d] += share * v[j][h * kDepth + d];
        }
      }
      for (std::size_t d = 0; d < kDepth; ++d) mixed[h * kDepth + d] /= total;
    }
    const std::string output = is_first ? "softmax_output" : "output";
    out.push_back(affine(mixed, layer.values(output + "/w"), layer.values(output + "/b")));
  }
  return out;
}

std::vector<Form> forms() {
  std::vector<Form> all;
  for (const char* transform : {"identity", "expmod"}) {
    // Sums of products of any sign may be near 0: these are not.
    all.push_back(
        {.transform = transform, .features = std::string(transform) == "expmod" ? 8U : 0U});
  }
  all.push_back({.scale = 0.2});
  all.push_back({.transform = "relu", .scale = 0.9, .by_length = true});
  for (const char* transform : {"exp", "expmod", "relu", "elu", "square", "identity"}) {
    all.push_back({.transform = transform, .is_short = true});
  }
  all.push_back({.transform = "identity", .features = 0, .is_short = true});
  all.push_back({.by_length = true, .begin = 2});
  all.push_back({.transform = "elu", .is_short = true, .begin = 3});
  all.push_back({.transform = "expplus", .begin = 2});
  all.push_back({.begin = 9});
  for (const bool left : {false, true}) {
    all.push_back({.transform = "elu", .chunk = 2, .window = 2, .left = left});
    all.push_back({.transform = "exp", .chunk = 3, .window = 1, .decay = 0.5, .left = left});
  }
  all.push_back({.transform = "exp", .features = 0, .chunk = 1, .window = 3, .decay = 0.5});
  all.push_back({.transform = "square", .chunk = 2, .window = 100, .decay = 0.7});
  return all;
}

std::string name_of(const Form& form) {
  return form.transform + " short " + std::to_string(form.is_short) + " begin " +
         std::to_string(form.begin) + " chunk " + std::to_string(form.chunk) + " left " +
         std::to_string(form.left);
}

}  // namespace

TEST_CASE("the forms of attention by features match their formulas in float64", "[nn]") {
  for (const std::string& backend : backends()) {
    for (const Form& form : forms()) {
      for (const std::size_t counted : {7U, 5U}) {
        const Kernel layer(backend, form);
        const std::vector<float> x = random_values(7 * kDims, 5, 0.8);
        const std::vector<float> got = layer.run(x, counted);
        const Rows want = reference(sequences(x, 7, kDims)[0], layer, counted);
        INFO(backend << " " << name_of(form) << " counted " << counted);
        // Positions of padding ask, too; what they get is not of interest.
        for (std::size_t i = 0; i < counted * kDims; ++i) {
          CHECK(got[i] == Approx(want[i / kDims][i % kDims]).margin(1e-4).epsilon(1e-3));
        }
      }
    }
  }
}

TEST_CASE("the gradients of the forms of attention by features match differences", "[nn][slow]") {
  for (const std::string& backend : backends()) {
    for (const Form& form :
         {Form{.transform = "elu", .is_short = true, .begin = 1},
          Form{.transform = "exp", .is_short = true}, Form{.transform = "expmod"},
          Form{.transform = "identity", .is_short = true},
          Form{.transform = "exp", .by_length = true, .chunk = 2, .window = 2, .decay = 0.5},
          Form{.transform = "elu", .chunk = 2, .window = 2, .left = true}}) {
      const Kernel layer(backend, form);
      INFO(backend << " " << name_of(form));
      CHECK(trivet::testing::check_layer_gradients(
                layer.layer(), layer.store(),
                layer.tensor(random_values(5 * kDims, 11, 0.5), {1, 5, kDims})) == "");
    }
  }
}

TEST_CASE("no position of a window sees a later chunk", "[nn]") {
  for (const char* transform : {"exp", "relu", "elu", "square"}) {
    const Kernel layer("tiny/Backend", {.transform = transform, .chunk = 2, .window = 2});
    std::vector<float> x = random_values(6 * kDims, 5);
    const std::vector<float> before = layer.run(x, 6);
    for (std::size_t i = 4 * kDims; i < x.size(); ++i) x[i] = 3 - 5 * x[i];
    const std::vector<float> after = layer.run(x, 6);
    INFO(transform);
    for (std::size_t i = 0; i < 4 * kDims; ++i) CHECK(before[i] == after[i]);
    CHECK(before != after);
  }
}

TEST_CASE("forms of attention by features that exclude each other are refused by name", "[nn]") {
  const auto refused = [](const Value& more, const std::string& text) {
    Value fields = Value::table({{"input_dims", 6}, {"num_heads", 2}});
    for (const Value::Member& member : more.members()) fields.set(member.key, member.value);
    INFO(text);
    CHECK_THROWS_WITH(LayerFixture("tiny/Backend", {"nn/KernelAttention", fields}), Contains(text));
  };
  const Value windows = Value::table({{"use_causal_windowed", true}});
  const auto with = [](Value table, const char* key, const Value& value) {
    table.set(key, value);
    return table;
  };
  refused(with(windows, "is_short_seq", true), "is_short_seq: does not go with");
  refused(with(windows, "begin_kernel", 2), "begin_kernel: does not go with");
  refused(with(windows, "feature_transform", "expplus"), "feature_transform: is expplus");
  refused(with(windows, "feature_transform", "expmod"), "feature_transform: is expmod");
  refused(with(Value::table({{"is_short_seq", true}}), "feature_transform", "expplus"),
          "feature_transform: is expplus");
  for (const auto& [field, value] :
       {std::pair{"causal_chunk_length", Value(2)}, std::pair{"causal_window_length", Value(2)},
        std::pair{"causal_window_decay", Value(0.5)}, std::pair{"causal_padding", Value("left")}}) {
    refused(Value::table({{field, value}}),
            std::string(field) + ": has no effect without use_causal_windowed = true");
  }
  refused(Value::table({{"scale", 0.0}}), "scale");
  const Kernel layer("tiny/Backend", {.chunk = 2, .window = 1});
  LayerFixture unfilled("tiny/Backend",
                        {"nn/KernelAttention", Value::table({{"input_dims", 6},
                                                             {"num_heads", 2},
                                                             {"use_causal_windowed", true},
                                                             {"causal_chunk_length", 2}})});
  CHECK_THROWS_WITH(unfilled.fprop(Tensor::zeros(unfilled.device(), {1, 3, 6})),
                    Contains("3 positions are no multiple of causal_chunk_length = 2"));
  CHECK(unfilled.fprop(Tensor::zeros(unfilled.device(), {1, 4, 6})).dim(1) == 4);
}

}  // namespace kernel_forms_test
