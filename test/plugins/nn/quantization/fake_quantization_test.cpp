// SPDX-License-Identifier: Apache-2.0
// The fields of FakeQuantization against formulas in double and numbers computed by hand. Its
// defaults: test/plugins/nn/basic/parametrization_test.cpp.
#include "nn/quantization/fake_quantization.h"

#include <array>

#include <catch2/catch.hpp>

#include "plugins/nn/quantization/reference.h"
#include "plugins/training_step.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/data/quantized_weights.h"
#include "trivet/error.h"

namespace nn_fake_quantization_test {
namespace {

using Catch::Contains;
using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;
using trivet::test::backends;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::made;
using trivet::test::QuantizationCase;
using trivet::test::quantized_group;
using trivet::test::QuantizedGroup;
using trivet::test::random_values;
using trivet::test::with;

constexpr std::size_t kRows = 6, kColumns = 4;
const std::vector<float> kWeights = random_values(kRows * kColumns, 3);

Value config_of(const QuantizationCase& how) {
  return with("nn/FakeQuantization", {{"bits", how.bits},
                                      {"use_symmetric", how.symmetric},
                                      {"unsigned_int_bounds", how.unsigned_bounds},
                                      {"clipping_coeff", how.clipping}});
}

// The groups [block, column] of `block` rows each.
std::vector<QuantizedGroup> groups_of(const QuantizationCase& how, std::size_t block) {
  std::vector<QuantizedGroup> groups;
  for (std::size_t first = 0; first < kRows; first += block) {
    for (std::size_t c = 0; c < kColumns; ++c) {
      std::vector<double> group;
      for (std::size_t r = first; r < first + block; ++r) {
        group.push_back(kWeights[r * kColumns + c]);
      }
      groups.push_back(quantized_group(group, how));
    }
  }
  return groups;
}

// A number for each weight, [kRows, kColumns], from what `of` says for a group and a row of it.
template <class Of>
std::vector<double> by_weight(const std::vector<QuantizedGroup>& groups, std::size_t block, Of of) {
  std::vector<double> all(kRows * kColumns);
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t c = 0; c < kColumns; ++c) {
      all[r * kColumns + c] = of(groups[r / block * kColumns + c], r % block);
    }
  }
  return all;
}

std::vector<double> values_of(const std::vector<QuantizedGroup>& groups, std::size_t block) {
  return by_weight(groups, block, [](const auto& group, std::size_t i) { return group.values[i]; });
}

Tensor weights(const LayerFixture& layer) {
  return layer.tensor(kWeights, {kRows, kColumns});
}

std::vector<double> column(std::size_t c) {
  std::vector<double> all;
  for (std::size_t r = 0; r < kRows; ++r) all.push_back(kWeights[r * kColumns + c]);
  return all;
}

double error_of(const std::vector<double>& x, const QuantizedGroup& group) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += std::fabs(x[i] - group.values[i]);
  return sum;
}

// d sum(y^2) / d w_i with the scale's part, for the weights x of one column: with the integers' own
// slope m (1 inside, else 0),
//   dy_j = (q_j - z) ds + s (m_j dt_j - dz),  dt_j = dx_j / s - x_j / s^2 ds + dz.
std::vector<double> with_scale_gradient(const std::vector<double>& x, const QuantizationCase& how) {
  const QuantizedGroup group = quantized_group(x, how);
  const double s = group.scale, z = group.zero;
  const double high = std::exp2(how.bits - 1) - 1, steps = std::exp2(how.bits) - 1;
  const auto least = std::min_element(x.begin(), x.end()) - x.begin();
  const auto most = std::max_element(x.begin(), x.end()) - x.begin();
  const auto farthest =
      std::fabs(x[static_cast<std::size_t>(least)]) > x[static_cast<std::size_t>(most)] ? least
                                                                                        : most;
  std::vector<double> gradient;
  for (std::ptrdiff_t i = 0; i < std::ssize(x); ++i) {
    double ds = 0, dz = 0;
    if (how.symmetric) {
      ds = i == farthest ? how.clipping / high * (farthest == least ? -1 : 1) : 0;
    } else {
      ds = how.clipping / steps * ((i == most ? 1 : 0) - (i == least ? 1 : 0));
      const double smallest = how.clipping * x[static_cast<std::size_t>(least)];
      dz = smallest / (s * s) * ds - (i == least ? how.clipping / s : 0);
    }
    double sum = 0;
    for (std::ptrdiff_t j = 0; j < std::ssize(x); ++j) {
      const auto at = static_cast<std::size_t>(j);
      const double dt = (i == j ? 1 / s : 0) - x[at] / (s * s) * ds + dz;
      const double dy = (group.integers[at] - z) * ds + s * ((group.inside[at] ? dt : 0) - dz);
      sum += 2 * group.values[at] * dy;
    }
    gradient.push_back(sum);
  }
  return gradient;
}

const QuantizationCase kCases[] = {
    {.bits = 4, .clipping = 0.7},
    {.bits = 5, .unsigned_bounds = true},
    {.bits = 8, .symmetric = false},
    {.bits = 3, .symmetric = false},
    {.bits = 4, .symmetric = false, .clipping = 0.8},
};

}  // namespace

TEST_CASE("FakeQuantization rounds to its range, and gives what is clipped no gradient") {
  const std::string backend = GENERATE(from_range(backends()));
  for (const QuantizationCase& how : kCases) {
    for (const std::size_t block : {kRows, std::size_t{3}}) {
      INFO(backend << " " << how.bits << " " << how.symmetric << " " << how.clipping << " "
                   << block);
      Value config = config_of(how);
      if (block < kRows) config.set("block_size", static_cast<std::int64_t>(block));
      const LayerFixture layer = made(backend, config);
      const auto groups = groups_of(how, block);
      const std::vector<double> want = values_of(groups, block);
      const auto step = trivet::test::step_of(layer.layer(), layer.store(), weights(layer));
      CHECK(largest_error(step.y, want) < 1e-5);
      CHECK(largest_error(step.input_gradient,
                          by_weight(groups, block, [](const auto& group, auto i) {
                            return group.inside[i] ? 2 * group.values[i] : 0;
                          })) < 1e-5);
    }
  }
}

TEST_CASE("FakeQuantization gives the numbers that quantized weights of a checkpoint have") {
  const std::string backend = GENERATE(from_range(backends()));
  const int bits = GENERATE(8, 4);
  const auto stored =
      trivet::quantize_weights(kWeights, {kRows, kColumns}, bits, trivet::ScaleAxis::columns);
  const std::vector<trivet::SafetensorsEntry> entries = {
      {"w", stored.dtype, stored.shape, stored.integers},
      {"w_quantized_scale", trivet::DType::f32, stored.scale_shape,
       std::as_bytes(std::span(stored.scales))}};
  const trivet::DequantizedEntries plain(entries, "file");
  const LayerFixture layer = made(backend, with("nn/FakeQuantization", {{"bits", bits}}));
  const std::vector<float> want = layer.fprop(weights(layer)).to_host<float>();
  const auto bytes = std::as_bytes(std::span(want));
  const auto got = plain.entries()[0].data;
  CHECK(std::equal(got.begin(), got.end(), bytes.begin(), bytes.end()));
}

TEST_CASE("FakeQuantization of numbers by hand") {
  struct Case {
    QuantizationCase how;
    std::vector<float> x, y;
  };
  const Case cases[] = {
      // The integers are -4 .. 3 and the scale is 1, with half the range 1/2.
      {{.bits = 3}, {3, -1.2F, 0.4F, -3}, {3, -1, 0, -3}},
      {{.bits = 3, .clipping = 0.5}, {3, -1.2F, 0.4F, -3}, {1.5F, -1, 0.5F, -2}},
      // 0 .. 3, so the scale is 1; negative numbers become 0.
      {{.bits = 2, .unsigned_bounds = true}, {3, 1.4F, 0.7F, -2}, {3, 1, 1, 0}},
      // -2 .. 1 with the scale (4 - 1) / 3 = 1 and the zero point -2 - 1.
      {{.bits = 2, .symmetric = false}, {1, 1.4F, 2.6F, 4}, {1, 1, 3, 4}},
      // Equal numbers stay.
      {{.bits = 2, .symmetric = false}, {0.75F, 0.75F}, {0.75F, 0.75F}},
      {{.bits = 2}, {0, 0}, {0, 0}},
  };
  for (const std::string& backend : backends()) {
    for (const Case& c : cases) {
      const LayerFixture layer = made(backend, config_of(c.how));
      const Tensor x = layer.tensor(c.x, {static_cast<std::int64_t>(c.x.size()), 1});
      CHECK(largest_error(layer.fprop(x).to_host<float>(), c.y) < 1e-6);
    }
  }
}

TEST_CASE("without stop_scale_gradient the gradient has the part of the scale") {
  const std::string backend = GENERATE(from_range(backends()));
  for (QuantizationCase how : kCases) {
    if (how.unsigned_bounds) continue;
    INFO(backend << " " << how.bits << " " << how.symmetric << " " << how.clipping);
    Value config = config_of(how);
    config.set("stop_scale_gradient", false);
    const LayerFixture layer = made(backend, config);
    const auto step = trivet::test::step_of(layer.layer(), layer.store(), weights(layer));
    CHECK(largest_error(step.y, values_of(groups_of(how, kRows), kRows)) < 1e-5);
    std::vector<double> want(kRows * kColumns);
    for (std::size_t c = 0; c < kColumns; ++c) {
      const std::vector<double> gradient = with_scale_gradient(column(c), how);
      for (std::size_t r = 0; r < kRows; ++r) want[r * kColumns + c] = gradient[r];
    }
    CHECK(largest_error(step.input_gradient, want) < 1e-4);
  }
}

TEST_CASE("num_optimize_clipping chooses the clipping of the least error") {
  const std::string backend = GENERATE(from_range(backends()));
  const bool per_channel = GENERATE(false, true);
  constexpr std::array kCandidates = {1.0, 0.8, 0.6, 0.4};
  // Sums of the errors of each column, and of all, for each candidate.
  std::vector<double> want(kRows * kColumns);
  const auto take = [&](std::size_t c, double clipping) {
    const QuantizedGroup group = quantized_group(column(c), {.bits = 2, .clipping = clipping});
    for (std::size_t r = 0; r < kRows; ++r) want[r * kColumns + c] = group.values[r];
  };
  std::array<double, 4> sums{};
  std::size_t others = 0;  // columns whose best candidate is not 1
  for (std::size_t c = 0; c < kColumns; ++c) {
    std::array<double, 4> errors{};
    for (std::size_t i = 0; i < 4; ++i) {
      errors[i] =
          error_of(column(c), quantized_group(column(c), {.bits = 2, .clipping = kCandidates[i]}));
      sums[i] += errors[i];
    }
    const auto best = std::min_element(errors.begin(), errors.end()) - errors.begin();
    others += best != 0 ? 1 : 0;
    take(c, kCandidates[static_cast<std::size_t>(best)]);
  }
  REQUIRE(others > 0);
  if (!per_channel) {
    const auto best = std::min_element(sums.begin(), sums.end()) - sums.begin();
    REQUIRE(best != 0);
    for (std::size_t c = 0; c < kColumns; ++c) take(c, kCandidates[static_cast<std::size_t>(best)]);
  }
  const LayerFixture layer =
      made(backend, with("nn/FakeQuantization", {{"bits", 2},
                                                 {"num_optimize_clipping", 4},
                                                 {"min_clipping", 0.4},
                                                 {"optimize_clipping_per_channel", per_channel}}));
  CHECK(largest_error(layer.fprop(weights(layer)).to_host<float>(), want) < 1e-5);
}

TEST_CASE("vn_scale adds noise in training and rounds in evaluations") {
  const std::string backend = GENERATE(from_range(backends()));
  const std::string type = GENERATE("uniform", "normal");
  const bool stop = GENERATE(true, false);
  const LayerFixture layer =
      made(backend, with("nn/FakeQuantization", {{"vn_scale", 0.25},
                                                 {"vn_start_step", 5},
                                                 {"vn_noise_type", type},
                                                 {"stop_scale_gradient", stop}}));
  CHECK(largest_error(layer.fprop(weights(layer)).to_host<float>(),
                      values_of(groups_of({}, kRows), kRows)) < 1e-6);
  FpropContext context;
  context.step = 4;
  CHECK(trivet::test::step_of(layer.layer(), layer.store(), weights(layer), context).y == kWeights);
  context.step = 5;
  const auto step = trivet::test::step_of(layer.layer(), layer.store(), weights(layer), context);
  std::vector<float> noise(kWeights.size());
  const trivet::RngKey key = trivet::RngKey(3).fold("layer").fold("variational_noise");
  if (type == "uniform") {
    trivet::random_uniform(key, -0.5, 0.5, noise);
  } else {
    trivet::random_normal(key, 0, 1, noise);
  }
  std::vector<double> want(kWeights.size()), gradient(kWeights.size());
  for (std::size_t c = 0; c < kColumns; ++c) {
    std::size_t most = c;
    for (std::size_t i = c; i < want.size(); i += kColumns) {
      if (std::fabs(kWeights[i]) > std::fabs(kWeights[most])) most = i;
    }
    double of_scale = 0;
    for (std::size_t i = c; i < want.size(); i += kColumns) {
      const double share = 0.25 * static_cast<double>(noise[i]);
      want[i] =
          static_cast<double>(kWeights[i]) + share * std::fabs(static_cast<double>(kWeights[most]));
      gradient[i] = 2 * want[i];
      of_scale += 2 * want[i] * share;
    }
    if (!stop) gradient[most] += of_scale * (kWeights[most] < 0 ? -1 : 1);
  }
  CHECK(largest_error(step.y, want) < 1e-5);
  CHECK(largest_error(step.input_gradient, gradient) < 1e-5);
}

TEST_CASE("FakeQuantization refuses fields that contradict each other or do nothing") {
  const auto refuses = [](std::initializer_list<std::pair<std::string_view, Value>> fields,
                          const std::string& message) {
    CHECK_THROWS_WITH(made("tiny/Backend", with("nn/FakeQuantization", fields)), Contains(message));
  };
  refuses({{"use_symmetric", false}, {"unsigned_int_bounds", true}},
          "unsigned_int_bounds: has no effect");
  refuses({{"clipping_coeff", 0.5}, {"num_optimize_clipping", 3}}, "clipping_coeff: is chosen by");
  refuses({{"optimize_clipping_per_channel", true}},
          "optimize_clipping_per_channel: has no effect");
  refuses({{"min_clipping", 0.25}}, "min_clipping: has no effect");
  refuses({{"vn_scale", 0.5}, {"use_symmetric", false}}, "vn_scale: needs symmetric");
  refuses({{"vn_start_step", 3}}, "vn_start_step: has no effect");
  refuses({{"vn_noise_type", "normal"}}, "vn_noise_type: has no effect");
  refuses({{"clipping_coeff", 0}}, "clipping_coeff");
  const LayerFixture layer = made("tiny/Backend", with("nn/FakeQuantization", {{"block_size", 4}}));
  CHECK_THROWS_WITH(layer.fprop(weights(layer)),
                    Contains("[nn/FakeQuantization] 'layer': block_size = 4 does not divide the 6 "
                             "weights of a column of [6, 4]"));
}

}  // namespace nn_fake_quantization_test
