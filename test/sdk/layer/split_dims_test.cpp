// SPDX-License-Identifier: Apache-2.0
// Splits of dimensions in a config: what can be written, what it means on a mesh, and mistakes.
#include "trivet/layer/split_dims.h"

#include <catch2/catch.hpp>

#include "trivet/backend/mesh.h"
#include "trivet/config.h"
#include "trivet/tensor/mesh.h"

namespace split_dims_test {

using namespace trivet;
using Catch::Contains;

struct SplitsConfig {
  SplitDims wt;
  SplitDims out = {"data", "mdl?", ""};

  void validate(Diagnostics& diagnostics) const { wt.check_rank(2, "wt", diagnostics); }
};
TRIVET_CONFIG(SplitsConfig, trivet::NoBase, (wt, "Axes of w."), (out, "Axes of the output."))

namespace {

SplitDims wt_of(Value list) {
  return decode<SplitsConfig>(Value::table({{"wt", std::move(list)}})).wt;
}

std::string error_of(Value list) {
  try {
    wt_of(std::move(list));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

Mesh mesh_of(std::vector<std::string> names) {
  MeshConfig config;
  config.mesh_axis_names = std::move(names);
  return Mesh(config);
}

}  // namespace

TEST_CASE("splits are written as Praxis has them, and read back") {
  const Value lists[] = {Value::array(), Value::array({"data", "mdl"}), Value::array({-1, "mdl?"}),
                         Value::array({2, -1}),
                         Value::array({Value::array({"replica", "data"}), "mdl"})};
  for (const Value& list : lists) {
    INFO(to_toml(list));
    const SplitDims dims = wt_of(list);
    CHECK(dims.dims.size() == list.items().size());
    const Value back = encode(SplitsConfig{.wt = dims});
    CHECK(*back.find("wt") == list);
    CHECK(wt_of(*back.find("wt")) == dims);
  }
  CHECK(wt_of(Value::array({"data", "mdl?"})) == SplitDims{"data", "mdl?"});
  CHECK(wt_of(Value::array({-1, "mdl"})) == SplitDims{"", "mdl"});
  CHECK_FALSE(wt_of(Value::array({-1, "mdl"})) == SplitDims{"", "mdl?"});
  // A list of one name is that name.
  CHECK(wt_of(Value::array({Value::array({"mdl"}), -1})) == SplitDims{"mdl", ""});
}

TEST_CASE("the schema has the default of splits") {
  const Schema& schema = schema_of<SplitsConfig>();
  CHECK(*schema.find("wt")->default_value == Value::array());
  CHECK(*schema.find("out")->default_value == Value::array({"data", "mdl?", -1}));
}

TEST_CASE("mistakes in splits are reported with their location") {
  CHECK_THAT(error_of(Value::array({"data", "modle"})),
             Contains("wt[1]: there is no axis 'modle'") &&
                 Contains("known are replica, data, mdl, data_expert, stage, seq"));
  CHECK_THAT(error_of(Value::array({"mdl", "mdl?"})),
             Contains("wt[1]: names the axis 'mdl' twice"));
  CHECK_THAT(error_of(Value::array({Value::array({"data", "data"}), -1})),
             Contains("wt[0][1]: names the axis 'data' twice"));
  CHECK_THAT(error_of(Value::array({6, -1})),
             Contains("wt[0]: is 6, and a mesh has the axes 0 to 5 at most"));
  CHECK_THAT(error_of(Value::array({-2, -1})), Contains("wt[0]: is -2"));
  CHECK_THAT(error_of(Value::array({0.5, -1})), Contains("wt[0]: is no axis of a mesh"));
  CHECK_THAT(error_of(Value::array({"mdl"})), Contains("wt: has 1 entries for 2 dimensions"));
  CHECK_THAT(error_of(Value("mdl")), Contains("wt: expected an array"));
}

TEST_CASE("splits find the dimension over an axis of a mesh, by name or index") {
  const Mesh usual;
  CHECK(SplitDims{"data", "mdl"}.dim_over("mdl", usual, "p") == 1);
  CHECK(SplitDims{"data", "mdl"}.dim_over("data", usual, "p") == 0);
  CHECK(SplitDims{"data", ""}.dim_over("mdl", usual, "p") == std::nullopt);
  CHECK(SplitDims{}.dim_over("mdl", usual, "p") == std::nullopt);
  const SplitDims both = wt_of(Value::array({-1, Value::array({"data", "mdl"})}));
  CHECK(both.dim_over("mdl", usual, "p") == 1);
  const SplitDims index = wt_of(Value::array({2, -1}));
  CHECK(index.dim_over("mdl", usual, "p") == 0);
  CHECK(index.dim_over("mdl", mesh_of({"mdl", "data", "replica"}), "p") == std::nullopt);
  CHECK_THROWS_WITH(index.dim_over("mdl", mesh_of({"data", "mdl"}), "task.model"),
                    Contains("task.model: has the index 2, and the mesh has 2 axes"));
  CHECK_THROWS_WITH(wt_of(Value::array({2, "mdl"})).dim_over("mdl", usual, "task.model"),
                    Contains("task.model: names the axis 'mdl' twice"));
}

}  // namespace split_dims_test
