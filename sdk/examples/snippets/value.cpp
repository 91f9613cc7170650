// SPDX-License-Identifier: Apache-2.0
// What trivet/config/value.h shows.
#include <string>

#include <catch2/catch.hpp>

#include <trivet/config/value.h>

namespace value_example {

using namespace trivet;

TEST_CASE("example: a value is built and read by paths") {
  std::string used;
  const auto use = [&](const std::string& text) { used = text; };
  // [value]
  Value v = Value::table();
  v.set("dims", 128);
  v.set_path("task.model.type", "vision/Mlp");  // makes missing tables
  if (const Value* type = v.find_path("task.model.type")) use(type->as_string());
  // [/value]
  CHECK(used == "vision/Mlp");
  CHECK(to_toml(v) == R"({dims = 128, task = {model = {type = "vision/Mlp"}}})");
}

}  // namespace value_example
