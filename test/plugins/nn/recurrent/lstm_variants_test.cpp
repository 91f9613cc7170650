// SPDX-License-Identifier: Apache-2.0
// Coupled gates, layer norm and zoneout of recurrent layers: the formulas in double, the choice in
// training, and errors.
#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "plugins/nn/recurrent_reference.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/testing/layer_check.h"

namespace nn_lstm_variants_test {

using Catch::Contains;
using trivet::FpropContext;
using trivet::RngKey;
using trivet::Tensor;
using trivet::Value;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using namespace trivet::test::recurrent;

namespace {

std::string any_backend() {
  return GENERATE(from_range(trivet::test::backends()));
}

FpropContext training(std::uint64_t key = 5) {
  FpropContext context;
  context.train = true;
  context.key = RngKey(key);
  return context;
}

// An Lstm whose cell counts: every position adds kTick to it. Its output gate opens from position
// to position, so an output grows unless it is kept, and then shows the cell's count.
class Counter : public LayerFixture {
 public:
  static constexpr std::int64_t kRows = 16, kPlaces = 60, kDims = 8;
  static constexpr double kTick = 0.01, kOpening = 0.03;

  Counter(const std::string& backend, double zoneout)
      : LayerFixture(backend, {"nn/Lstm", Value::table({{"input_dims", 1},
                                                        {"output_dims", kDims},
                                                        {"cell_value_cap", 0},
                                                        {"zoneout", zoneout}})}) {
    constexpr std::size_t kAll = 4 * kDims;
    std::vector<float> wm((1 + kDims) * kAll, 0.0f), b(kAll, 100.0f);  // 100: wide open
    std::fill_n(b.begin(), kDims, static_cast<float>(std::atanh(kTick)));
    std::fill_n(b.end() - kDims, kDims, 0.0f);
    std::fill_n(wm.begin() + kAll - kDims, kDims, 1.0f);
    set("wm", wm);
    set("b", b);
  }

  std::vector<float> outputs(FpropContext context) const {
    std::vector<float> x;
    for (std::int64_t i = 0; i < kRows * kPlaces; ++i) {
      x.push_back(static_cast<float>(kOpening * static_cast<double>(i % kPlaces)));
    }
    return layer().fprop(tensor(x, {kRows, kPlaces, 1}), context).to_host<float>();
  }
  // [rows, positions] with `value` at the positions [begin, end) of all rows, 0 elsewhere.
  template <class T>
  Tensor marked(std::int64_t begin, std::int64_t end, T value) const {
    std::vector<T> marks;
    for (std::int64_t i = 0; i < kRows * kPlaces; ++i) {
      const std::int64_t t = i % kPlaces;
      marks.push_back(begin <= t && t < end ? value : T{0});
    }
    return Tensor::from<T>(device(), marks, {kRows, kPlaces});
  }

  // The outputs of one element of the state at all positions, as many as elements in all rows.
  static std::vector<std::vector<float>> elements(const std::vector<float>& y) {
    std::vector<std::vector<float>> all(kRows * kDims);
    for (std::size_t i = 0; i < y.size(); ++i) {
      all[i / (kPlaces * kDims) * kDims + i % kDims].push_back(y[i]);
    }
    return all;
  }
  // The cell's count, from an output that was not kept.
  static std::int64_t count(float output, std::size_t t) {
    const double gate = sigmoid(kOpening * static_cast<double>(t));
    return std::lround(std::atanh(static_cast<double>(output) / gate) / kTick);
  }
};

}  // namespace

TEST_CASE("coupled gates and layer norm of Lstm follow their formulas") {
  const std::string backend = any_backend();
  const bool reverse = GENERATE(false, true), coupled = GENERATE(false, true);
  const bool norms = GENERATE(false, true);
  const double cap = GENERATE(10.0, 0.25), zoneout = GENERATE(0.0, 0.3);
  INFO(backend << ": reverse " << reverse << ", coupled_gates " << coupled << ", layer_norm "
               << norms << ", cell_value_cap " << cap << ", zoneout " << zoneout);
  const double forget_bias = coupled ? 0 : 0.5;
  const Made layer(backend, "nn/Lstm",
                   {{"reverse", reverse},
                    {"coupled_gates", coupled},
                    {"layer_norm", norms},
                    {"forget_gate_bias", forget_bias},
                    {"cell_value_cap", cap},
                    {"zoneout", zoneout}});
  const Cell cell = lstm(
      layer, {.forget_bias = forget_bias, .cap = cap, .coupled = coupled, .layer_norm = norms});
  check(layer, zoned_out(cell, zoneout), 2, reverse);
}

TEST_CASE("Gru has zoneout, too") {
  const Made layer(any_backend(), "nn/Gru", {{"zoneout", 0.3}});
  check(layer, zoned_out(gru(layer), 0.3), 1, false);
}

TEST_CASE("coupled gates are three, and layer norm starts with a scale of 1") {
  const LayerFixture layer(
      "tiny/Backend", {"nn/Lstm", Made::fields({{"coupled_gates", true}, {"layer_norm", true}})});
  CHECK(layer.parameter("wm").shape() == trivet::Shape{kIn + kOut, 3 * kOut});
  CHECK(layer.values("b") == std::vector<float>(3 * kOut, 0.0f));
  CHECK(layer.values("ln_scale") == std::vector<float>(3 * kOut, 1.0f));
  const LayerFixture plain("tiny/Backend", {"nn/Lstm", Made::fields({})});
  CHECK(plain.parameter("wm").shape() == trivet::Shape{kIn + kOut, 4 * kOut});
  CHECK(plain.store().parameters().size() == 2);
}

TEST_CASE("coupled gates, layer norm and zoneout decode with a cache") {
  const std::string backend = any_backend();
  const bool train = GENERATE(false, true);
  const Made coupled(backend, "nn/Lstm",
                     {{"coupled_gates", true}, {"layer_norm", true}, {"zoneout", 0.4}});
  const Made normed(backend, "nn/Lstm", {{"layer_norm", true}, {"zoneout", 0.4}});
  const Made gated(backend, "nn/Gru", {{"zoneout", 0.4}});
  for (const Made* layer : {&coupled, &normed, &gated}) {
    FpropContext context = training();
    context.train = train;
    context.paddings = layer->tensor({1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0}, {2, kLength});
    context.segment_ids = layer->ids({0, 0, 1, 1, 1, 2, 1, 2, 2, 2, 2, 2});
    const auto want = layer->layer().fprop(layer->input(), context).to_host<float>();
    CHECK(largest_error(in_chunks(*layer, context), want) < kTolerance);
  }
}

TEST_CASE("gradients of coupled gates, layer norm and zoneout match central differences") {
  const std::string backend = any_backend();
  const bool train = GENERATE(false, true), coupled = GENERATE(false, true);
  const Made lstm(backend, "nn/Lstm",
                  {{"coupled_gates", coupled}, {"layer_norm", true}, {"zoneout", 0.4}});
  const Made gru(backend, "nn/Gru", {{"zoneout", 0.4}});
  for (const Made* layer : {&lstm, &gru}) {
    INFO(backend << " train " << train << " coupled " << coupled);
    CHECK(trivet::testing::check_layer_gradients(layer->layer(), layer->store(), layer->input(),
                                                 {.train = train}) == "");
  }
}

TEST_CASE("zoneout keeps about its share of outputs and of cells, each by itself, in training") {
  const Counter counter(any_backend(), 0.3);
  const auto elements = Counter::elements(counter.outputs(training()));
  double changes = 0, ticks = 0, pairs = 0;
  std::vector<std::int64_t> changes_at(Counter::kPlaces, 0);
  for (const auto& y : elements) {
    std::int64_t changes_here = 0;
    for (std::size_t t = 1; t < y.size(); ++t) {
      if (y[t] == y[t - 1]) continue;
      ++changes_here;
      ++changes_at[t];
      // The previous position changed the output, too: the two outputs show what happened to the
      // cell.
      if (t < 2 || y[t - 1] == y[t - 2]) continue;
      ++pairs;
      ticks += static_cast<double>(Counter::count(y[t], t) - Counter::count(y[t - 1], t - 1));
    }
    changes += static_cast<double>(changes_here);
    // 41 of 59, give or take 3.5: no element is always kept or never.
    CHECK(changes_here > 20);
    CHECK(changes_here < 59);
  }
  // 7552 draws, and about half as many: 0.7 with deviations of 0.005 and 0.007.
  CHECK(changes / static_cast<double>(elements.size() * (Counter::kPlaces - 1)) ==
        Approx(0.7).margin(0.025));
  CHECK(ticks / pairs == Approx(0.7).margin(0.035));
  // 90 of 128, give or take 5.
  for (std::size_t t = 1; t < changes_at.size(); ++t) {
    CHECK(changes_at[t] > 60);
    CHECK(changes_at[t] < 120);
  }
}

TEST_CASE("zoneout's choice depends on the key alone, and is a mean outside training") {
  const std::string backend = any_backend();
  const Counter counter(backend, 0.3), none(backend, 0);
  CHECK(counter.outputs(training(5)) == counter.outputs(training(5)));
  CHECK(counter.outputs(training(5)) != counter.outputs(training(6)));
  FpropContext evaluation = training(5), other = training(6);
  evaluation.train = other.train = false;
  CHECK(counter.outputs(evaluation) == counter.outputs(other));
  CHECK(none.outputs(training(5)) == none.outputs(evaluation));
}

TEST_CASE("padding keeps a state and segments restart it, with zoneout, too") {
  const Counter counter(any_backend(), 0.3);
  FpropContext context = training();
  context.paddings = counter.marked<float>(10, 40, 1);
  const auto padded = Counter::elements(counter.outputs(context));
  bool none_changed = true, none_counted = true;
  for (const auto& y : padded) {
    for (std::size_t t = 10; t < 40; ++t) none_changed = none_changed && y[t] == y[9];
    // Ten positions before the padding, and all after it.
    for (std::size_t t = 40; t < y.size(); ++t) {
      if (y[t] == y[t - 1]) continue;
      none_counted = none_counted && Counter::count(y[t], t) <= static_cast<std::int64_t>(t) - 29;
    }
  }
  CHECK(none_changed);
  CHECK(none_counted);

  context = training();
  context.segment_ids = counter.marked<std::int32_t>(25, Counter::kPlaces, 1);
  bool anew = true;
  for (const auto& y : Counter::elements(counter.outputs(context))) {
    anew = anew && (y[25] == 0 || Counter::count(y[25], 25) == 1);
  }
  CHECK(anew);
}

TEST_CASE("Lstm refuses invalid settings, naming the field") {
  const auto make = [](std::initializer_list<std::pair<std::string_view, Value>> more) {
    return LayerFixture("tiny/Backend", {"nn/Lstm", Made::fields(more)});
  };
  CHECK_THROWS_WITH(make({{"coupled_gates", true}, {"forget_gate_bias", 1.0}}),
                    Contains("forget_gate_bias") && Contains("coupled_gates = false"));
  CHECK_NOTHROW(make({{"coupled_gates", true}, {"forget_gate_bias", 0.0}}));
  CHECK_THROWS_WITH(make({{"zoneout", 1.0}}), Contains("zoneout"));
  CHECK_THROWS_WITH(make({{"zoneout", -0.1}}), Contains("zoneout"));
}

}  // namespace nn_lstm_variants_test
