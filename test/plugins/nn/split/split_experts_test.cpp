// SPDX-License-Identifier: Apache-2.0
// Experts whose hidden dimension is split over mdl.
#include <catch2/catch.hpp>

#include "plugins/nn/split/splits.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/testing/layer_check.h"

namespace nn_expert_split_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

Value mapping(const Value& emh, const Value& ehm) {
  return Value::table({{"emh", emh}, {"ehm", ehm}});
}

Value hidden(const char* axis = "mdl") {
  return mapping(Value::array({"data", -1, axis}), Value::array({"data", axis, -1}));
}

ConfigOf<Layer> experts(const Value& mapping = hidden(), std::int64_t hidden_dims = 12) {
  return {"nn/MoeFeedForward", Value::table({{"input_dims", 6},
                                             {"hidden_dims", hidden_dims},
                                             {"num_experts", 3},
                                             {"weight_split_dims_mapping", mapping}})};
}

std::string error_of(const ConfigOf<Layer>& config, std::int64_t mdl) {
  try {
    const LayerFixture fixture("tiny/Backend", config, mdl);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("experts in blocks compute what whole ones do") {
  const std::string backend = GENERATE(from_range(backends()));
  const ConfigOf<Layer> gated = with_field(experts(), "use_gated_activation", true);
  const SplitCase cases[] = {
      {"experts", experts(), {2, 4, 6}},
      {"gated", with_field(gated, "activation", "nn/Silu"), {2, 4, 6}},
      {"an activation that is not plain",
       with_field(gated, "activation", "nn/SquaredRelu"),
       {8, 6}},
      {"no activation", with_field(experts(), "activation", "none"), {8, 6}},
      {"experts that choose", with_field(gated, "gating_func", "expert_choice"), {8, 6}},
  };
  for (const SplitCase& layer : cases) check_split(layer, backend, {2, 3, 4});
  const LayerFixture split(backend, gated, 4);
  for (const char* name : {"in", "wi_gate", "out"}) CHECK(split.parameter(name).blocks() == 4);
  CHECK(split.parameter("gate").blocks() == 1);
}

TEST_CASE("gradients of experts in blocks match central differences") {
  const std::string backend = GENERATE(from_range(backends()));
  const LayerFixture fixture(
      backend, with_field(with_field(experts(), "activation", "nn/Tanh"), "relu_dropout", 0.25), 2);
  testing::LayerCheckOptions options;
  options.train = true;
  CHECK(testing::check_layer_gradients(fixture.layer(), fixture.store(),
                                       fixture.tensor(random_values(24, 3), {4, 6}),
                                       options) == "");
}

TEST_CASE("a split of experts that cannot be is refused") {
  CHECK_THAT(error_of(experts(hidden(), 10), 4),
             Contains("task.model: 'layer': weight_split_dims_mapping.emh splits dimension 2 of "
                      "[3, 6, 10] over the 4 devices along mdl, which do not divide it"));
  CHECK(error_of(experts(hidden("mdl?"), 10), 4) == "no error");
  const Value whole = Value::array({-1, -1, -1});
  CHECK_THAT(error_of(experts(mapping(Value::array({"mdl", -1, -1}), whole)), 3),
             Contains("weight_split_dims_mapping.emh splits num_experts or input_dims over mdl") &&
                 Contains("name mdl in the entry of hidden_dims"));
  CHECK_THAT(error_of(experts(mapping(whole, Value::array({-1, -1, "mdl"}))), 3),
             Contains("weight_split_dims_mapping.ehm splits num_experts or input_dims"));
  CHECK_THAT(error_of(experts(mapping(Value::array({-1, -1, "mdl"}), whole)), 3),
             Contains("weight_split_dims_mapping splits hidden_dims over mdl in one of emh and ehm "
                      "only") &&
                 Contains("name mdl in both, or in none"));
  CHECK_THAT(error_of(experts(Value::table({{"emh", Value::array({"mdl"})}})), 1),
             Contains("weight_split_dims_mapping.emh: has 1 entries for 3 dimensions"));
}

}  // namespace nn_expert_split_test
