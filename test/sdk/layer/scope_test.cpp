// SPDX-License-Identifier: Apache-2.0
// Scopes and parameter stores: paths, blocks, initial values, shared layers.
#include "trivet/layer/scope.h"

#include <algorithm>
#include <cstdint>

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "trivet/backend/mesh.h"
#include "trivet/error.h"
#include "trivet/layer.h"
#include "trivet/tensor/mesh.h"

namespace scope_test {
namespace {

using trivet::ConfigOf;
using trivet::Init;
using trivet::Layer;
using trivet::Parameter;
using trivet::ParameterStore;
using trivet::RngKey;
using trivet::Scope;
using trivet::Tensor;
using trivet::Value;

struct Fixture {
  std::unique_ptr<trivet::Device> device = trivet::test::open_device("tiny/Backend");
  ParameterStore store{*device, RngKey(5)};
  Scope root{store};
  Fixture() { trivet::test::use_plugin("nn"); }
};

ConfigOf<Layer> linear(std::int64_t in, std::int64_t out, const std::string& shared = "") {
  Value fields = Value::table({{"input_dims", in}, {"output_dims", out}});
  if (!shared.empty()) fields.set("shared", shared);
  return {"nn/Linear", std::move(fields)};
}

std::vector<std::string> paths(const ParameterStore& store) {
  std::vector<std::string> out;
  for (const auto& parameter : store.parameters()) out.push_back(parameter->path());
  return out;
}

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const trivet::Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE_METHOD(Fixture, "names become paths in the order of making") {
  Scope encoder = root.child("encoder");
  encoder.parameter("w", {2, 3});
  encoder.child("layer_0").parameter("b", {3});
  root.state("steps", {}, 0);
  CHECK(paths(store) == std::vector<std::string>{"encoder/w", "encoder/layer_0/b", "steps"});
  CHECK(store.find("encoder/w")->shape() == trivet::Shape{2, 3});
  CHECK(store.find("encoder/v") == nullptr);
  CHECK(store.trainable_count() == 9);
  CHECK(store.count() == 10);
}

TEST_CASE_METHOD(Fixture, "all scopes of a model have its mesh, and one device without one") {
  CHECK(root.child("a").mesh().axis("mdl").extent() == 1);
  trivet::MeshConfig config;
  config.ici_mesh_shape = {1, 1, 4};
  const trivet::Mesh mesh(config);
  Scope model(store, mesh);
  CHECK(&model.mesh() == &mesh);
  CHECK(model.child("a").child("b").mesh().axis("mdl").extent() == 4);
  CHECK(model.child("a").parameter("w", {2}, {.blocks = 4}).blocks() == 4);
  CHECK(root.parameter("w", {2}).blocks() == 1);
}

TEST_CASE_METHOD(Fixture, "names that other tools could not split are refused") {
  for (const std::string name : {"", "a/b", "a b", "w\n", "größe"}) {
    INFO("'" << name << "'");
    CHECK_THAT(error_of([&] { root.parameter(name, {1}); }), Catch::Contains("cannot name"));
    CHECK_THROWS_AS(root.child(name), trivet::Error);
  }
}

TEST_CASE_METHOD(Fixture, "two parameters, or two layers, of one path are refused") {
  root.parameter("w", {1});
  CHECK_THAT(error_of([&] { root.parameter("w", {1}); }),
             Catch::Contains("already a parameter 'w'"));
  root.layer("a", "nn/Relu");
  CHECK_THAT(error_of([&] { root.layer("a", "nn/Relu"); }),
             Catch::Contains("already a layer at 'a'"));
}

TEST_CASE_METHOD(Fixture, "values exist from build on, and nothing can be added afterwards") {
  Parameter& w = root.parameter("w", {2}, {.init = {Init::constant, 0.5}});
  CHECK_THAT(error_of([&] { w.value(); }), Catch::Contains("'w'") && Catch::Contains("before"));
  store.build();
  CHECK(w.value().to_host<float>() == std::vector<float>{0.5f, 0.5f});
  CHECK_THROWS_AS(root.parameter("b", {1}), trivet::Error);
  CHECK_THROWS_AS(store.build(), trivet::Error);
}

TEST_CASE_METHOD(Fixture, "starting values depend on the seed and the path alone") {
  const auto draw = [&](std::uint64_t seed, const std::string& before, const std::string& name) {
    ParameterStore other(*device, RngKey(seed));
    Scope scope(other);
    if (!before.empty()) scope.parameter(before, {7});
    Parameter& parameter = scope.parameter(name, {33}, {.init = {Init::normal, 1}});
    other.build();
    return parameter.value().to_host<float>();
  };
  const std::vector<float> values = draw(5, "", "w");
  CHECK(draw(5, "first", "w") == values);
  CHECK(draw(6, "", "w") != values);
  CHECK(draw(5, "", "v") != values);
}

TEST_CASE_METHOD(Fixture, "segments start at 64 bytes, do not touch, and the gaps are zero") {
  Parameter& a = root.parameter("a", {3}, {.init = {Init::constant, 1}});
  Parameter& s = root.state("s", {2}, 9);
  Parameter& b = root.parameter("b", {2, 10}, {.init = {Init::constant, 2}});
  Parameter& empty = root.parameter("empty", {0, 4});
  Parameter& c = root.parameter("c", {}, {.init = {Init::constant, 4}});
  store.build();
  CHECK(store.offset_of(a) == 0);
  CHECK(store.offset_of(b) == 16);
  CHECK(store.offset_of(empty) == 48);
  CHECK(store.offset_of(c) == 48);
  for (Parameter* parameter : {&a, &b, &c, &s}) {
    CHECK(reinterpret_cast<std::uintptr_t>(parameter->value().view().data) % 64 == 0);
    CHECK(parameter->value().shape() == parameter->shape());
  }
  const std::vector<float> block = store.trainable_values().to_host<float>();
  std::vector<float> expected(64, 0);
  std::fill_n(expected.begin(), 3, 1.f);
  std::fill_n(expected.begin() + 16, 20, 2.f);
  expected[48] = 4;
  CHECK(block == expected);
  CHECK(s.value().to_host<float>() == std::vector<float>{9, 9});
  CHECK_FALSE(s.trainable());
}

TEST_CASE_METHOD(Fixture, "a gradient that no op wrote is zero, one that was written stays") {
  Parameter& a = root.parameter("a", {3});
  Parameter& b = root.parameter("b", {2});
  store.build();
  for (Parameter* parameter : {&a, &b}) {
    for (float& g : parameter->gradient().mutable_span<float>()) g = 7;
  }
  store.begin_gradients();
  CHECK_FALSE(a.slot().written);
  b.slot().written = true;
  store.end_gradients();
  CHECK(a.gradient().to_host<float>() == std::vector<float>{0, 0, 0});
  CHECK(b.gradient().to_host<float>() == std::vector<float>{7, 7});
  CHECK_FALSE(a.has_gradient());
  CHECK(b.has_gradient());
}

TEST_CASE_METHOD(Fixture, "assign copies values in place and checks shape and type") {
  Parameter& s = root.state("s", {2}, 0);
  store.build();
  const void* position = s.value().view().data;
  const std::vector<float> values{1, 2};
  s.assign(Tensor::from(*device, std::span<const float>(values), {2}));
  CHECK(s.value().to_host<float>() == values);
  CHECK(s.value().view().data == position);
  Tensor host = Tensor::host({2});
  host.mutable_span<float>()[0] = 3;
  host.mutable_span<float>()[1] = 4;
  s.assign(host);
  CHECK(s.value().to_host<float>() == std::vector<float>{3, 4});
  CHECK_THAT(error_of([&] { s.assign(Tensor::zeros(*device, {3})); }), Catch::Contains("'s'"));
  CHECK_THROWS_AS(s.assign(Tensor::zeros(*device, {2}, trivet::DType::i32)), trivet::Error);
}

TEST_CASE_METHOD(Fixture, "an empty template makes no layer") {
  CHECK(root.layer("activation", {}) == nullptr);
}

TEST_CASE_METHOD(Fixture, "layers shared by name are one layer with one set of weights") {
  const auto first = root.layer("a", linear(3, 4, "tied"));
  const auto second = root.child("deep").layer("b", linear(3, 4, "tied"));
  CHECK(first == second);
  CHECK(paths(store) == std::vector<std::string>{"a/w", "a/b"});
  const auto other = root.layer("c", linear(3, 4, "other"));
  CHECK(other != first);
}

TEST_CASE_METHOD(Fixture, "a shared name with two configs is refused, naming both positions") {
  root.layer("a", linear(3, 4, "tied"));
  const std::string text = error_of([&] { root.layer("b", linear(3, 5, "tied")); });
  CHECK_THAT(text, Catch::Contains("'tied'") && Catch::Contains("'a'") && Catch::Contains("'b'"));
}

TEST_CASE_METHOD(Fixture, "a shared layer inside itself is refused") {
  Value inner = Value::table({{"type", "nn/Sequential"}, {"shared", "loop"}});
  Value outer = Value::table({{"shared", "loop"}});
  outer.set("layers", Value::array({inner}));
  const ConfigOf<Layer> config("nn/Sequential", outer);
  CHECK_THAT(error_of([&] { root.layer("a", config); }), Catch::Contains("contains itself"));
}

TEST_CASE_METHOD(Fixture, "a type that no plugin has is refused with the nearest name") {
  CHECK_THAT(error_of([&] { root.layer("a", "nn/Linaer"); }), Catch::Contains("nn/Linear"));
}

}  // namespace scope_test
