// SPDX-License-Identifier: Apache-2.0
// Lamb, Lars, Lion, Adagrad, RmsProp and Adafactor: a few updates of a few numbers against values
// worked out in double from the formulas in their headers, which name the papers.
#include <algorithm>
#include <optional>

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"
#include "trivet/train/learner.h"

namespace {

using trivet::Init;
using trivet::Parameter;
using trivet::RngKey;
using trivet::Shape;
using trivet::Value;
using Values = std::vector<float>;

// A variable "w" that starts at given values, with an optimizer and a learning rate of 0.1.
struct Variable {
  Variable(const std::string& backend, const Shape& shape, const Values& start,
           const std::string& name, Value fields)
      : device(trivet::test::open_device(backend)), store(*device, RngKey(1)) {
    trivet::test::use_plugin("optim");
    w = &store.add("w", shape, {.init = {Init::constant, 1}});
    store.build();
    trivet::Tensor value = w->value();
    value.assign_bytes(std::as_bytes(std::span(start)));
    learner.emplace(
        store,
        trivet::make(trivet::ConfigOf<trivet::Optimizer>("optim/" + name, std::move(fields))),
        trivet::make(
            trivet::ConfigOf<trivet::Schedule>("optim/Constant", Value::table({{"value", 0.1}}))));
  }
  Values update(const Values& gradient) {
    const auto out = w->gradient().mutable_span<float>();
    std::copy(gradient.begin(), gradient.end(), out.begin());
    learner->begin().apply_gradients();
    return w->value().to_host<float>();
  }

  std::unique_ptr<trivet::Device> device;
  trivet::ParameterStore store;
  Parameter* w = nullptr;
  std::optional<trivet::Learner> learner;
};

void check(const Values& values, const std::vector<double>& expected) {
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(static_cast<double>(values[i]) == Approx(expected[i]).epsilon(1e-6));
  }
}

std::string any_backend() {
  return GENERATE(from_range(trivet::test::backends()));
}

// One number from 1 with the gradients 0.5, -1 and 2.
void check_number(const std::string& name, Value fields, double first, double second,
                  double third) {
  Variable number(any_backend(), {1}, {1}, name, std::move(fields));
  check(number.update({0.5f}), {first});
  check(number.update({-1}), {second});
  check(number.update({2}), {third});
}

// (3, 4) with the gradients (1, 0), (0, -2) and (0.5, 0.5).
void check_pair(const std::string& name, Value fields, const std::vector<double>& first,
                const std::vector<double>& second, const std::vector<double>& third) {
  Variable pair(any_backend(), {2}, {3, 4}, name, std::move(fields));
  check(pair.update({1, 0}), first);
  check(pair.update({0, -2}), second);
  check(pair.update({0.5f, 0.5f}), third);
}

}  // namespace

TEST_CASE("RmsProp divides by the root of recent squares") {
  check_number("RmsProp", Value::table(), 0.6837724339830356, 0.9694866380646916,
               0.6894992764107222);
}

TEST_CASE("RmsProp centered divides by the deviation") {
  check_number("RmsProp", Value::table({{"centered", true}}), 0.6666668888887407,
               0.9559754962577438, 0.6695588887867696);
}

TEST_CASE("RmsProp keeps a momentum of its steps") {
  check_number("RmsProp", Value::table({{"momentum", 0.9}}), 0.6837724339830356, 0.6848818286494236,
               0.4058929221952033);
}

TEST_CASE("RmsProp may be centered and have a momentum") {
  check_number("RmsProp", Value::table({{"momentum", 0.5}, {"centered", true}}), 0.6666668888887407,
               0.7893089407021141, 0.5642133591378267);
}

TEST_CASE("Adagrad divides by the root of all squares, which start above 0") {
  check_number("Adagrad", Value::table(), 0.9154845888128602, 1.0015508779878406,
               0.9150833414927348);
}

TEST_CASE("Adagrad may have its constant under the root, as optax and Praxis") {
  // By hand: 1 - 0.1 * 0.5 / sqrt(0.1 + 0.25 + 0.05), then sums of 1.35 and 5.35.
  check_number("Adagrad", Value::table({{"epsilon", 0.0}, {"epsilon_root", 0.05}}),
               0.9209430584957905, 1.0054584839686422, 0.9193921873862552);
}

TEST_CASE("Lion steps by the sign, with its decay in the step") {
  check_number("Lion", Value::table(), 0.9, 1.0, 0.9);
}

TEST_CASE("Lion decays weights") {
  check_number("Lion", Value::table({{"weight_decay", 0.1}}), 0.89, 0.9811, 0.871289);
}

TEST_CASE("Lamb scales Adam's step to the norm of the weights") {
  check_pair("Lamb", Value::table(), {2.5, 4.0}, {2.1843628858857227, 4.350532754808464},
             {1.7556582403116692, 4.581179869557789});
}

TEST_CASE("Lamb's weight decay is part of the step that is scaled") {
  check_pair("Lamb", Value::table({{"weight_decay", 0.01}}),
             {2.5003766131556144, 3.980597131187743}, {2.1701924374905515, 4.315184604690173},
             {1.7325259667199142, 4.5195215671960725});
}

TEST_CASE("variables excluded from Lamb's adaptation step as in Adam") {
  Value fields = Value::table({{"weight_decay", 0.01}});
  fields.set("exclude_from_layer_adaptation", Value::array({"w"}));
  check_pair("Lamb", fields, {2.8970000999999, 3.996}, {2.82709736927037, 4.066417629751472},
             {2.749360701053358, 4.102653262872783});
}

TEST_CASE("variables excluded from decay are excluded from adaptation unless it has its own list") {
  // Without decay and adaptation Lamb is Adam: the first step is lr.
  Value fields = Value::table({{"weight_decay", 0.01}});
  fields.set("exclude_from_weight_decay", Value::array({"w"}));
  Variable both(any_backend(), {2}, {3, 4}, "Lamb", fields);
  check(both.update({1, 0}), {2.9, 4.0});
  fields.set("exclude_from_layer_adaptation", Value::array({}));
  Variable adapted(any_backend(), {2}, {3, 4}, "Lamb", fields);
  check(adapted.update({1, 0}), {2.5, 4.0});
}

TEST_CASE("Lars scales the gradient to the norm of the weights") {
  check_pair("Lars", Value::table({{"eeta", 0.02}}), {2.99, 4.0}, {2.981, 4.00998801281537},
             {2.965833690515846, 4.011910914865049});
}

TEST_CASE("Lars looks ahead along its momentum, and decays by the gradient") {
  check_pair("Lars", Value::table({{"eeta", 0.02}, {"weight_decay", 0.01}, {"nesterov", true}}),
             {2.9810143112721557, 3.9992626916998897}, {2.972632162137097, 4.0179007276703125},
             {2.9519269342862, 4.012137296116015});
}

TEST_CASE("Lars with popular momentum scales the step and not the gradient") {
  check_pair("Lars", Value::table({{"eeta", 0.02}, {"classic_momentum", false}}), {2.99, 4.0},
             {2.985901272343865, 4.009108283680301}, {2.9788047892694762, 4.016150595128168});
}

TEST_CASE("Lars with popular momentum looks ahead, too") {
  Value fields = Value::table({{"eeta", 0.02}, {"classic_momentum", false}});
  fields.set("nesterov", true);
  fields.set("weight_decay", 0.01);
  check_pair("Lars", fields, {2.990007532248503, 3.999611942999942},
             {2.9876640025697565, 4.009320497557383}, {2.9780822058358214, 4.012182720387124});
}

TEST_CASE("variables excluded from Lars' adaptation, and norms of 0, have a trust of 1") {
  Value fields = Value::table({{"eeta", 0.02}});
  fields.set("exclude_from_layer_adaptation", Value::array({"w"}));
  check_pair("Lars", fields, {2.9, 4.0}, {2.81, 4.2}, {2.679, 4.33});
  Variable zeros(any_backend(), {2}, {0, 0}, "Lars", Value::table());
  check(zeros.update({1, -2}), {-0.1, 0.2});
  Variable still(any_backend(), {2}, {3, 4}, "Lars", Value::table());
  check(still.update({0, 0}), {3, 4});
}

TEST_CASE("Adafactor keeps means over rows and columns, or all squares of small variables") {
  const Values start{1, -2, 3, 4, 5, -6}, first{1, 2, 3, 4, 5, 6}, second{-1, 0.5f, 2, 0, 1, -3};
  const auto two_updates = [&](Value fields) {
    Variable matrix(any_backend(), {2, 3}, start, "Adafactor", std::move(fields));
    matrix.update(first);
    return matrix.update(second);
  };
  check(two_updates(Value::table({{"min_dim_size_to_factor", 2}})),
        {1.0204794054895727, -2.1265122318066965, 2.7968100552546966, 3.894534391139071,
         4.868339920154424, -6.032670514658959});
  check(two_updates(Value::table()),
        {1.0, -2.1367986374674186, 2.819209254988002, 3.9, 4.870140099114346, -6.033729077251251});
  check(two_updates(Value::table({{"min_dim_size_to_factor", 2},
                                  {"clip_threshold", 0.5},
                                  {"multiply_by_parameter_scale", true},
                                  {"beta1", 0.9},
                                  {"weight_decay", 0.1}})),
        {0.98354382708084, -2.006486862205274, 2.8679561512390834, 3.880421258828266,
         4.852203933637932, -5.896372253984794});
}

TEST_CASE("Adafactor with Adam's decay has its bias correction") {
  // By hand in double: b = 0 at the first update, 0.99 (1 - 0.99) / (1 - 0.99^2) at the second.
  Variable pair(any_backend(), {2}, {3, 4}, "Adafactor", Value::table({{"decay_method", "adam"}}));
  check(pair.update({1, -2}), {2.9, 4.1});
  check(pair.update({-1, 0.5F}), {3.0, 4.065623987814513});
}

TEST_CASE(
    "Adafactor's slots have the documented sizes, and axes before the last two are matrices") {
  Variable stack(any_backend(), {2, 3, 5}, Values(30, 1), "Adafactor",
                 Value::table({{"min_dim_size_to_factor", 2}}));
  const auto slots = stack.learner->slots();
  REQUIRE(slots.size() == 2);
  CHECK(slots[0].first == "w/row");
  CHECK(slots[0].second.shape() == Shape{2, 3});
  CHECK(slots[1].first == "w/column");
  CHECK(slots[1].second.shape() == Shape{2, 5});
  // Each matrix by itself: equal gradients within one give steps of lr, whatever the other has.
  Values gradient(30, 0.25f);
  std::fill(gradient.begin() + 15, gradient.end(), -8.0f);
  std::vector<double> expected(30, 0.9);
  std::fill(expected.begin() + 15, expected.end(), 1.1);
  check(stack.update(gradient), expected);

  Variable small(any_backend(), {2, 3}, Values(6, 1), "Adafactor", Value::table({{"beta1", 0.9}}));
  REQUIRE(small.learner->slots().size() == 2);
  CHECK(small.learner->slots()[0].first == "w/v");
  CHECK(small.learner->slots()[1].first == "w/m");
}

TEST_CASE("Adafactor factors the largest axes, the others number matrices") {
  // A variable [3, 2, 5]: with factored_axes = largest axis 1 numbers matrices of 3 by 5. Its
  // updates are those of a variable [2, 3, 5] with the same matrices.
  // No weight comes near 0, where the rounding of an update would be a large part of it.
  Values turned(30), straight(30), turned_gradient(30), straight_gradient(30);
  for (std::size_t matrix = 0; matrix < 2; ++matrix) {
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t column = 0; column < 5; ++column) {
        const std::size_t a = (row * 2 + matrix) * 5 + column, b = (matrix * 3 + row) * 5 + column;
        turned[a] = straight[b] = 0.25f * static_cast<float>(b) + 3;
        turned_gradient[a] = straight_gradient[b] = static_cast<float>(b * b % 17) - 7.5f;
      }
    }
  }
  Value fields = Value::table({{"min_dim_size_to_factor", 3}, {"factored_axes", "largest"}});
  const std::string backend = any_backend();
  Variable largest(backend, {3, 2, 5}, turned, "Adafactor", fields);
  REQUIRE(largest.learner->slots().size() == 2);
  CHECK(largest.learner->slots()[0].second.shape() == Shape{2, 3});
  CHECK(largest.learner->slots()[1].second.shape() == Shape{2, 5});
  fields.erase("factored_axes");
  Variable last(backend, {2, 3, 5}, straight, "Adafactor", fields);
  largest.update(turned_gradient);
  const Values got = largest.update(turned_gradient);
  last.update(straight_gradient);
  const Values wanted = last.update(straight_gradient);
  std::vector<double> expected(30);
  for (std::size_t b = 0; b < 30; ++b) {
    expected[(b / 5 % 3 * 2 + b / 15) * 5 + b % 5] = static_cast<double>(wanted[b]);
  }
  check(got, expected);
  // With the last axes 2 < 3 rows are too few, and there are squares for each number.
  Variable small(backend, {3, 2, 5}, turned, "Adafactor", fields);
  REQUIRE(small.learner->slots().size() == 1);
  CHECK(small.learner->slots()[0].first == "w/v");
}

TEST_CASE("Adafactor scales updates to the norm of the weights") {
  // By hand, (3, 4) with gradient (1, -2): x = (1, -1) of norm sqrt(2), scaled to 0.1 * 5.
  Value fields = Value::table({{"layerwise_adaptation", true}});
  Variable pair(any_backend(), {2}, {3, 4}, "Adafactor", fields);
  check(pair.update({1, -2}), {2.646446609406726, 4.353553390593274});
  // s = 0.1 max(rms(w), epsilon2) = 0.1 * sqrt(12.5): the update has the norm s * 5.
  fields.set("multiply_by_parameter_scale", true);
  Variable relative(any_backend(), {2}, {3, 4}, "Adafactor", fields);
  check(relative.update({1, -2}), {1.75, 5.25});
  // Weights of norm 0 have the ratio 1.
  Variable zeros(any_backend(), {2}, {0, 0}, "Adafactor",
                 Value::table({{"layerwise_adaptation", true}}));
  check(zeros.update({1, -2}), {-0.1, 0.1});
  fields = Value::table(
      {{"layerwise_adaptation", true}, {"exclude_from_layer_adaptation", Value::array({"w"})}});
  Variable excluded(any_backend(), {2}, {3, 4}, "Adafactor", fields);
  check(excluded.update({1, -2}), {2.9, 4.1});
}

TEST_CASE("Adafactor and Adagrad refuse fields that contradict each other") {
  const auto refused = [](const std::string& name, Value fields) {
    trivet::test::use_plugin("optim");
    try {
      trivet::make(trivet::ConfigOf<trivet::Optimizer>("optim/" + name, std::move(fields)));
    } catch (const trivet::ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK_THAT(
      refused("Adafactor", Value::table({{"exclude_from_layer_adaptation", Value::array({"w"})}})),
      Catch::Contains("has no effect without layerwise_adaptation"));
  CHECK_THAT(refused("Adafactor", Value::table({{"layerwise_adaptation", true},
                                                {"multiply_by_parameter_scale", true},
                                                {"epsilon2", 0.0}})),
             Catch::Contains("epsilon2"));
  CHECK_THAT(refused("Adagrad", Value::table({{"epsilon", 0.0}})), Catch::Contains("epsilon_root"));
}

TEST_CASE("zero gradients change no variable") {
  const std::string name =
      GENERATE("Lamb", "Lars", "Lion", "Adagrad", "RmsProp", "Shampoo", "Adafactor");
  Variable pair(any_backend(), {2}, {3, 4}, name, Value::table());
  check(pair.update({0, 0}), {3, 4});
}
