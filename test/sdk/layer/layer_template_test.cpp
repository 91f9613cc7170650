// SPDX-License-Identifier: Apache-2.0
// Which fields of a template are completed, and which it sets itself.
#include "trivet/layer/layer_template.h"

#include <catch2/catch.hpp>

using trivet::complete;
using trivet::ConfigOf;
using trivet::Layer;
using trivet::Value;

namespace {

// The result of complete() for a template with `given` in the field.
Value completed(const Value& given, const Value& value, const Value& unset) {
  ConfigOf<Layer> layer("a/Layer", Value::table({{"field", given}, {"other", 3}}));
  complete(layer, "field", value, unset);
  CHECK(layer.key() == "a/Layer");
  CHECK(*layer.fields().find("other") == Value(3));
  return *layer.fields().find("field");
}

}  // namespace

TEST_CASE("an unset field of a template is completed") {
  CHECK(completed(0, 7, 0) == Value(7));
  CHECK(completed(0, 0.5, 0.0) == Value(0.5));  // the 0 of a file, for a field of type float
  CHECK(completed("none", "nn/Gelu", Value()) == Value("nn/Gelu"));
  CHECK(completed(Value(), 7, 0) == Value(7));
  CHECK(completed(true, false, true) == Value(false));
  CHECK(completed(10240, 64, 10240) == Value(64));
}

TEST_CASE("a set field of a template stays") {
  CHECK(completed(5, 7, 0) == Value(5));
  CHECK(completed(false, true, Value()) == Value(false));
  CHECK(completed("nn/Relu", "nn/Gelu", Value()) == Value("nn/Relu"));
}

TEST_CASE("a field that is left out is set, but not to its default") {
  ConfigOf<Layer> layer = "a/Layer";
  complete(layer, "depth", 0, 0);
  complete(layer, "rate", 0.0, 0.0);
  CHECK(layer.fields().members().empty());
  complete(layer, "depth", 4, 0);
  CHECK(*layer.fields().find("depth") == Value(4));
}

TEST_CASE("members of a table are completed that a template leaves out or empty") {
  const Value table = Value::table({{"a", Value::array({1})}, {"b", Value::array()}, {"c", 3}});
  ConfigOf<Layer> layer = "a/Layer";
  trivet::complete_members(layer, "splits", table);
  CHECK(*layer.fields().find("splits") == Value::table({{"a", Value::array({1})}, {"c", 3}}));

  layer = {"a/Layer",
           Value::table(
               {{"splits",
                 Value::table({{"a", Value::array({2})}, {"b", Value::array()}, {"c", "none"}})}})};
  trivet::complete_members(layer, "splits", table);
  CHECK(*layer.fields().find("splits") ==
        Value::table({{"a", Value::array({2})}, {"b", Value::array()}, {"c", 3}}));

  layer = "a/Layer";
  trivet::complete_members(layer, "splits", Value::table({{"b", Value::array()}}));
  CHECK(layer.fields().members().empty());
}
