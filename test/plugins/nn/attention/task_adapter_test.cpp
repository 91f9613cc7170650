// SPDX-License-Identifier: Apache-2.0
// Adapters with weights for each task (Praxis' MultitaskResidualAdapter) after a transformer block.
#include "nn/attention/task_adapter.h"

#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "plugins/lm/transformer_reference.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/testing/layer_check.h"

namespace task_adapter_test {
namespace {

using Catch::Contains;
using namespace trivet;
using test::affine;
using test::flattened;
using test::largest_error;
using test::LayerFixture;
using test::random_values;
using test::Row;
using test::Rows;
using test::sequences;
using Ids = std::vector<std::int32_t>;

constexpr double kTolerance = 2e-5;
constexpr std::int64_t kBatch = 2, kLength = 3, kDims = 4, kBetween = 2, kTasks = 3;

Value block(std::initializer_list<std::pair<std::string_view, Value>> more) {
  Value config = Value::table({{"type", "nn/TransformerBlock"},
                               {"input_dims", kDims},
                               {"num_heads", 2},
                               {"hidden_dims", 6}});
  for (const auto& [name, value] : more) config.set(name, value);
  return config;
}

Value with_tasks(std::initializer_list<std::pair<std::string_view, Value>> more = {}) {
  Value config = block({{"adapter_dims", kBetween}, {"adapter_tasks", kTasks}});
  for (const auto& [name, value] : more) config.set(name, value);
  return config;
}

ConfigOf<Layer> layer_of(const Value& config) {
  return ConfigOf<Layer>(ConfigValue::from_value(config, Layer::kKind, "layer"));
}

std::string below(const Parameter& parameter) {
  return parameter.path().substr(std::string("layer/").size());
}

void randomize(const LayerFixture& layer) {
  std::uint64_t seed = 80;
  for (const auto& parameter : layer.store().parameters()) {
    layer.set(below(*parameter), random_values(parameter->shape().size(), ++seed, 0.5));
  }
}

Tensor input(const LayerFixture& layer) {
  return layer.tensor(random_values(kBatch * kLength * kDims, 3), {kBatch, kLength, kDims});
}

std::vector<float> output(const LayerFixture& layer, const Ids& ids = {}, const Shape& shape = {}) {
  FpropContext context;
  if (!ids.empty()) context.task_ids = Tensor::from<std::int32_t>(layer.device(), ids, shape);
  return layer.layer().fprop(input(layer), context).to_host<float>();
}

// The block alone, with the weights that `layer` has for it.
std::vector<float> without_adapter(const LayerFixture& layer, const std::string& backend) {
  const LayerFixture plain(backend, layer_of(block({})));
  for (const auto& parameter : plain.store().parameters()) {
    plain.set(below(*parameter), layer.values(below(*parameter)));
  }
  return output(plain);
}

// The weights of one task.
std::vector<float> of_task(const std::vector<float>& all, std::int32_t task) {
  const auto size = static_cast<std::ptrdiff_t>(all.size()) / kTasks;
  return {all.begin() + task * size, all.begin() + (task + 1) * size};
}

// y + up[t] relu(down[t] norm(y)), position by position.
std::vector<double> expected(const LayerFixture& layer, const std::string& backend,
                             const Ids& of_position) {
  std::vector<Rows> want;
  std::size_t position = 0;
  for (const Rows& rows : sequences(without_adapter(layer, backend), kLength, kDims)) {
    const Rows normed = test::layer_norm(rows, layer.values("adapter_norm/scale"),
                                         layer.values("adapter_norm/bias"));
    Rows adapted;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int32_t task = of_position[position++];
      const auto weights = [&](const char* name) { return of_task(layer.values(name), task); };
      Row between = affine(normed[i], weights("adapter_down_w"), weights("adapter_down_b"));
      for (double& unit : between) unit = std::max(unit, 0.0);
      Row sum = affine(between, weights("adapter_up_w"), weights("adapter_up_b"));
      for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += rows[i][j];
      adapted.push_back(sum);
    }
    want.push_back(adapted);
  }
  return flattened(want);
}

// Sets the task ids before the layer, for checks that make their own context.
class OfTasks final : public Layer {
 public:
  OfTasks(Layer& layer, Tensor ids) : layer_(layer), ids_(std::move(ids)) {}
  Tensor fprop(const Tensor& x, FpropContext& context) override {
    context.task_ids = ids_;
    return layer_.fprop(x, context);
  }

 private:
  Layer& layer_;
  Tensor ids_;
};

}  // namespace

TEST_CASE("each row or position gets the adapter of its task") {
  const std::string backend = GENERATE(from_range(test::backends()));
  INFO(backend);
  const LayerFixture layer(backend, layer_of(with_tasks()));
  CHECK(layer.parameter("adapter_down_w").shape() == Shape({kTasks, kDims, kBetween}));
  CHECK(layer.parameter("adapter_down_b").shape() == Shape({kTasks, kBetween}));
  CHECK(layer.parameter("adapter_up_w").shape() == Shape({kTasks, kBetween, kDims}));
  CHECK(layer.parameter("adapter_up_b").shape() == Shape({kTasks, kDims}));
  randomize(layer);
  CHECK(largest_error(output(layer, {2, 1}, {kBatch}),
                      expected(layer, backend, {2, 2, 2, 1, 1, 1})) < kTolerance);
  CHECK(largest_error(output(layer, {0, 2, 1, 1, 0, 2}, {kBatch, kLength}),
                      expected(layer, backend, {0, 2, 1, 1, 0, 2})) < kTolerance);
}

TEST_CASE("rows without ids have the task of the block, or an error that says what to do") {
  const std::string backend = GENERATE(from_range(test::backends()));
  INFO(backend);
  const LayerFixture layer(backend, layer_of(with_tasks({{"adapter_task_id", 1}})));
  randomize(layer);
  CHECK(output(layer) == output(layer, {1, 1}, {kBatch}));
  CHECK(output(layer) != output(layer, {1, 2}, {kBatch}));
  const LayerFixture unset(backend, layer_of(with_tasks()));
  CHECK_THROWS_WITH(output(unset), Contains("adapters of 3 tasks") && Contains("adapter_task_id"));
  const LayerFixture one(backend, layer_of(with_tasks({{"adapter_tasks", 1}})));
  randomize(one);
  CHECK(output(one) == output(one, {0, 0}, {kBatch}));
}

// WeightHParams without `init` are Xavier in Praxis; its fans of [tasks, a, b] are tasks * a and
// tasks * b, those of [tasks, a] are tasks and a.
TEST_CASE("an adapter of a task starts as in Praxis") {
  constexpr std::int64_t kWide = 400;
  const LayerFixture layer("tiny/Backend", layer_of(with_tasks({{"adapter_dims", kWide}})));
  const auto largest = [&](const char* name) {
    double most = 0;
    for (const float value : layer.values(name)) {
      most = std::max(most, std::abs(static_cast<double>(value)));
    }
    return most;
  };
  CHECK(largest("adapter_up_w") == 0);
  CHECK(largest("adapter_down_w") ==
        Approx(std::sqrt(6.0 / (kTasks * (kDims + kWide)))).epsilon(0.02));
  CHECK(largest("adapter_down_b") == Approx(std::sqrt(6.0 / (kTasks + kWide))).epsilon(0.02));
  CHECK(largest("adapter_up_b") > 0);
  CHECK(largest("adapter_up_b") <= std::sqrt(6.0 / (kTasks + kDims)));
}

TEST_CASE("gradients of adapters of tasks match central differences") {
  const std::string backend = GENERATE(from_range(test::backends()));
  const bool positions = GENERATE(false, true);
  INFO(backend << (positions ? " positions" : " rows"));
  const LayerFixture layer(backend, layer_of(with_tasks()));
  randomize(layer);
  // Far from the corner of relu: units that are in use for every input, and units that are not.
  layer.set("adapter_down_b", {6, -6, 6, 6, -6, 6});
  const Tensor ids = positions ? Tensor::from<std::int32_t>(layer.device(), Ids{0, 2, 2, 0}, {2, 2})
                               : Tensor::from<std::int32_t>(layer.device(), Ids{2, 0}, {2});
  OfTasks of_tasks(layer.layer(), ids);
  const Tensor x = layer.tensor(random_values(4 * kDims, 21), {2, 2, kDims});
  CHECK(testing::check_layer_gradients(of_tasks, layer.store(), x) == "");
}

TEST_CASE("a cache gives what the whole sequence gives, with ids of rows and of positions") {
  const std::string backend = GENERATE(from_range(test::backends()));
  INFO(backend);
  const LayerFixture layer(backend, layer_of(with_tasks({{"causal", true}})));
  randomize(layer);
  const Tensor x = input(layer);
  for (const bool positions : {false, true}) {
    INFO((positions ? "positions" : "rows"));
    const Tensor ids = positions ? Tensor::from<std::int32_t>(layer.device(), Ids{0, 2, 1, 1, 0, 2},
                                                              {kBatch, kLength})
                                 : Tensor::from<std::int32_t>(layer.device(), Ids{2, 1}, {kBatch});
    FpropContext whole;
    whole.task_ids = ids;
    const std::vector<float> want = layer.layer().fprop(x, whole).to_host<float>();
    const auto cache = make_cache(layer.layer(), "layer", kBatch, kLength);
    std::vector<Tensor> parts;
    for (std::int64_t i = 0; i < kLength; ++i) {
      FpropContext context;
      context.task_ids = positions ? ops::slice(ids, 1, i, i + 1) : ids;
      parts.push_back(extend_step(layer.layer(), ops::slice(x, 1, i, i + 1), cache.get(), context));
    }
    CHECK(largest_error(ops::concat(parts, 1).to_host<float>(), want) < kTolerance);
  }
}

TEST_CASE("ids of tasks that do not exist or do not fit are errors") {
  const std::string backend = GENERATE(from_range(test::backends()));
  INFO(backend);
  const LayerFixture layer(backend, layer_of(with_tasks()));
  for (const std::int32_t id : {-1, 3}) {
    CHECK_THROWS_WITH(output(layer, {0, id}, {kBatch}), Contains(std::to_string(id)));
  }
  CHECK_THROWS_WITH(output(layer, {0, 1, 2}, {3}), Contains("task_ids i32 [B] or [B, T]"));
  CHECK_THROWS_WITH(output(layer, {0, 1}, {kBatch, 1}), Contains("task_ids i32 [B] or [B, T]"));
  const auto refused = [](const Value& config) { LayerFixture("tiny/Backend", layer_of(config)); };
  CHECK_THROWS_WITH(refused(block({{"adapter_tasks", 2}})),
                    Contains("adapter_tasks") && Contains("adapter_dims"));
  CHECK_THROWS_WITH(refused(block({{"adapter_task_id", 0}})),
                    Contains("adapter_task_id") && Contains("without adapter_tasks"));
  CHECK_THROWS_WITH(refused(with_tasks({{"adapter_task_id", 3}})),
                    Contains("adapter_task_id") && Contains("2"));
}

}  // namespace task_adapter_test
