// SPDX-License-Identifier: Apache-2.0
// Updates that processes share: each makes its part, and has slots and averages of this part alone.
// Threads act as the processes.
#include <cmath>
#include <limits>
#include <map>

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "support/thread_group.h"
#include "trivet/backend/mesh.h"
#include "trivet/error.h"
#include "trivet/layer/scope.h"
#include "trivet/tensor/tensor_part.h"
#include "trivet/train/learner.h"
#include "trivet/train/learner_options.h"

namespace shared_block_test {
namespace {

using trivet::Learner;
using trivet::LearnerOptions;
using trivet::MeshShards;
using trivet::OptimizerSegment;
using trivet::ParameterStore;
using trivet::ProcessGroup;
using trivet::Tensor;
using trivet::TensorPart;

// Momentum. Per variable with the sum of each row's gradients, too, a slot of another shape.
class Heavy final : public trivet::Optimizer {
 public:
  struct Seen {
    std::int64_t slot_elements = 0;  // of the last update
  };
  Heavy(Seen& seen, bool per_variable) : seen_(seen), per_variable_(per_variable) {}

  std::vector<std::string> slots() const override {
    return per_variable_ ? std::vector<std::string>{"m", "rows"} : std::vector<std::string>{"m"};
  }
  trivet::Shape slot_shape(std::string_view slot,
                           const trivet::Parameter& parameter) const override {
    if (slot == "m") return parameter.shape();
    return parameter.shape().rank() == 2 ? trivet::Shape{parameter.shape()[0]} : trivet::Shape{0};
  }
  double slot_start(std::string_view) const override { return 0.25; }
  bool per_variable() const override { return per_variable_; }
  std::int64_t group_of(const trivet::Parameter& parameter) const override {
    return parameter.shape().rank() == 1 ? 1 : 0;
  }
  void update(const trivet::OptimizerStep& step, std::span<OptimizerSegment> segments) override {
    seen_.slot_elements = 0;
    for (OptimizerSegment& segment : segments) {
      const auto w = segment.value.mutable_span<float>();
      const auto g = segment.gradient.span<float>();
      const auto m = segment.slots[0].mutable_span<float>();
      seen_.slot_elements += segment.slots[0].size();
      const float norm = per_variable_ ? norm_of(g) : 0;
      if (per_variable_ && segment.slots[1].defined()) add_rows(g, segment.slots[1]);
      const auto rate = static_cast<float>(step.learning_rate);
      for (std::size_t i = 0; i < w.size(); ++i) {
        m[i] = 0.5F * m[i] + step.gradient_scale * g[i];
        w[i] -= rate * (m[i] + (segment.group == 1 ? norm : 0.125F * w[i]));
      }
    }
  }

 private:
  static float norm_of(std::span<const float> values) {
    double sum = 0;
    for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
    return static_cast<float>(std::sqrt(sum));
  }
  static void add_rows(std::span<const float> gradient, Tensor& rows) {
    const std::span<float> sums = rows.mutable_span<float>();
    const std::size_t length = gradient.size() / sums.size();
    for (std::size_t i = 0; i < gradient.size(); ++i) sums[i / length] += gradient[i];
  }

  Seen& seen_;
  bool per_variable_;
};

class Tenth final : public trivet::Schedule {
 public:
  double value(std::int64_t) const override { return 0.1; }
};

// Neither length is a multiple of 16, and the second variable lies across the parts.
const std::map<std::string, trivet::Shape>& variables() {
  static const std::map<std::string, trivet::Shape> all = {
      {"a", {33}}, {"b", {107, 211}}, {"c", {3, 5}}, {"d", {}}, {"late", {1000}}};
  return all;
}

using Tensors = std::map<std::string, std::vector<float>>;

Tensors values_of(const Learner::NamedTensors& tensors) {
  Tensors out;
  for (const auto& [name, tensor] : tensors) out[name] = tensor.to_host<float>();
  return out;
}

struct TensorValues {
  std::string name;
  std::int64_t begin = 0;
  bool is_shared = false;
  std::vector<float> values;
};

void fill(const std::vector<TensorPart>& into, const std::vector<TensorPart>& from) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    if (into[i].name != from[i].name) throw trivet::Error("another order");
    Tensor values = into[i].values;
    values.assign_bytes(from[i].values.to_bytes());
  }
}

struct Result {
  std::vector<TensorValues> parts;  // of the slots
  Tensors weights, averaged, slots, averages;
  std::int64_t slot_elements = 0;
  double norm = 0;  // of the last update's gradients
  std::string error;
};

struct Options {
  LearnerOptions learner{.clip = {.global_norm = 0.5}, .ema = {.decay = 0.75}};
  bool per_variable = false;
  bool has_owners = false;  // devices own whole variables
  float bad = 0;            // a gradient of shard 2 in "c"
  bool restores = false;    // continues in a second learner from what the first one has saved
};

struct Trainee {
  Trainee(trivet::Device& device, const Options& options, const MeshShards& shards)
      : store(device, trivet::RngKey(1)) {
    trivet::Scope scope(store);
    for (const auto& [name, shape] : variables()) scope.parameter(name, shape, {});
    scope.state("moving", {7}, 1);
    if (options.has_owners) {
      store.build(shards, ParameterStore::Pieces::variables);
    } else {
      store.build();
    }
    std::vector<trivet::LearnerRule> rules;
    rules.push_back({.optimizer = std::make_unique<Heavy>(seen, options.per_variable),
                     .learning_rate = std::make_unique<Tenth>()});
    learner = std::make_unique<Learner>(store, std::move(rules), options.learner, shards);
  }
  Heavy::Seen seen;
  ParameterStore store;
  std::unique_ptr<Learner> learner;
};

Tensors weights_of(ParameterStore& store) {
  Tensors out;
  for (const auto& parameter : store.parameters()) {
    out[parameter->path()] = parameter->value().to_host<float>();
  }
  return out;
}

// "late" has no gradient in the first update, and then only one of shard 3.
double update(Trainee& trainee, const MeshShards& shards, std::int64_t number,
              const Options& options) {
  Learner::Step step = trainee.learner->begin();
  step.begin_part(trivet::RngKey(7).fold(static_cast<std::uint64_t>(number)));
  for (std::int64_t shard = shards.first(); shard < shards.first() + shards.count(); ++shard) {
    std::int64_t salt = 1000 * number + 100 * shard;
    for (const auto& [name, shape] : variables()) {
      trivet::Parameter& parameter = *trainee.store.find(name);
      const bool has = name != "late" || (number > 0 && shard == 3);
      parameter.set_has_gradient(has);
      const auto gradient = parameter.gradient().mutable_span<float>();
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        const double wave = std::sin(static_cast<double>(++salt) * 1.7);
        gradient[i] =
            has ? static_cast<float>(std::ldexp(wave, static_cast<int>(salt % 20) - 12)) : 0;
      }
      if (options.bad != 0 && shard == 2 && name == "c") gradient[4] = options.bad;
    }
    step.apply_gradients(static_cast<double>(1 + shard % 3));
  }
  return step.last_update().gradient_norm;
}

Result train(const Options& options, ProcessGroup* group) {
  const auto device = trivet::test::open_device("tiny/Backend");
  trivet::MeshConfig mesh;
  mesh.ici_mesh_shape = {8, 1, 1};
  const MeshShards shards(mesh, group);
  auto trainee = std::make_unique<Trainee>(*device, options, shards);
  Result result;
  try {
    for (std::int64_t number = 0; number < 3; ++number) {
      result.norm = update(*trainee, shards, number, options);
      if (!options.restores || number != 1) continue;
      auto next = std::make_unique<Trainee>(*device, options, shards);
      for (const auto& parameter : next->store.parameters()) {
        parameter->assign(trainee->store.find(parameter->path())->value());
      }
      fill(next->learner->slot_parts(), trainee->learner->slot_parts());
      next->learner->restart_average();
      fill(next->learner->average_parts(), trainee->learner->average_parts());
      next->learner->set_step(trainee->learner->step());
      trainee = std::move(next);
    }
  } catch (const trivet::Error& failure) {
    result.error = failure.message();
    return result;
  }
  result.slots = values_of(trainee->learner->slots());
  result.averages = values_of(trainee->learner->averages());
  for (const TensorPart& part : trainee->learner->slot_parts()) {
    result.parts.push_back({part.name, part.begin, part.is_shared, part.values.to_host<float>()});
  }
  result.slot_elements = trainee->seen.slot_elements;
  {
    const Learner::UseAverages averages(*trainee->learner);
    result.averaged = weights_of(trainee->store);
  }
  result.weights = weights_of(trainee->store);
  return result;
}

std::vector<Result> train_on(int count, const Options& options) {
  trivet::test::open_device("tiny/Backend");  // loads the plugin, once
  std::vector<Result> results(static_cast<std::size_t>(count));
  trivet::test::on_ranks(count, [&](ProcessGroup& group) {
    results[static_cast<std::size_t>(group.rank())] = train(options, &group);
  });
  return results;
}

void check_same(const Result& result, const Result& one) {
  CHECK((result.weights == one.weights));
  CHECK((result.averaged == one.averaged));
  CHECK((result.slots == one.slots));
  CHECK((result.averages == one.averages));
  CHECK(result.norm == one.norm);
}

}  // namespace

TEST_CASE("processes that share updates have the weights, slots and averages of one process") {
  for (const bool restores : {false, true}) {
    const Options options{.restores = restores};
    const Result one = train(options, nullptr);
    REQUIRE(one.error.empty());
    CHECK(one.slots.size() == variables().size());
    CHECK((one.averaged != one.weights));
    for (const int count : {2, 4, 8}) {
      CAPTURE(restores, count);
      std::int64_t elements = 0;
      for (const Result& result : train_on(count, options)) {
        check_same(result, one);
        elements += result.slot_elements;
        // Each process has its part of the slots, and no more.
        CHECK(result.slot_elements <= one.slot_elements / count + 16 * 8);
      }
      CHECK(elements >= one.slot_elements);
    }
  }
}

TEST_CASE("averages of states are whole in each process") {
  Options options;
  options.learner.ema.trainable_weights_only = false;
  const Result one = train(options, nullptr);
  CHECK(one.averages.contains("moving"));
  for (const Result& result : train_on(4, options)) check_same(result, one);
}

TEST_CASE("the parts of processes make up whole tensors") {
  for (const bool has_owners : {false, true}) {
    const Options options{.per_variable = has_owners, .has_owners = has_owners};
    const Result one = train(options, nullptr);
    for (const TensorValues& part : one.parts) {
      CHECK_FALSE(part.is_shared);
      CHECK(part.values == one.slots.at(part.name));
    }
    for (const int count : {2, 8}) {
      CAPTURE(has_owners, count);
      Tensors joined;
      for (const Result& result : train_on(count, options)) {
        REQUIRE(result.parts.size() == one.parts.size());
        for (std::size_t i = 0; i < one.parts.size(); ++i) {
          const TensorValues& part = result.parts[i];
          CHECK(part.name == one.parts[i].name);
          CHECK(part.is_shared);
          std::vector<float>& all = joined[part.name];
          if (!part.values.empty()) CHECK(std::ssize(all) == part.begin);
          all.insert(all.end(), part.values.begin(), part.values.end());
        }
      }
      CHECK((joined == one.slots));
    }
  }
}

TEST_CASE("processes that own whole variables make the updates of these alone", "[slow]") {
  Options per_variable{.per_variable = true, .has_owners = true},
      limited = per_variable, noisy = per_variable, by_element = per_variable;
  limited.learner.clip = {.global_norm = 0.5, .per_variable_norm = 0.2};
  noisy.learner.gradient_noise.stddev = 0.01;
  by_element.per_variable = false;
  for (const Options& options : {per_variable, limited, noisy, by_element}) {
    for (const bool restores : {false, true}) {
      Options now = options;
      now.restores = restores;
      const Result one = train(now, nullptr);
      REQUIRE(one.error.empty());
      CHECK(one.slots.size() == variables().size() + (now.per_variable ? 2 : 0));
      CHECK((one.averaged != one.weights));
      CHECK(one.norm > 0.5);  // the limit applies
      for (const int count : {2, 4, 8}) {
        CAPTURE(restores, count);
        std::int64_t elements = 0;
        for (const Result& result : train_on(count, now)) {
          check_same(result, one);
          CHECK(result.slot_elements < one.slot_elements);
          elements += result.slot_elements;
        }
        // Where an optimizer works by element, segments have the padding between variables.
        if (now.per_variable) CHECK(elements == one.slot_elements);
      }
    }
  }
}

TEST_CASE("an update that is bad in one variable's gradient is skipped by all owners") {
  Options options{
      .per_variable = true, .has_owners = true, .bad = std::numeric_limits<float>::quiet_NaN()};
  options.learner.skip_bad_updates = true;
  const Result one = train(options, nullptr);
  REQUIRE(one.error.empty());
  CHECK(one.slot_elements == 0);  // no update was made
  for (const Result& result : train_on(4, options)) {
    CHECK(result.error.empty());
    CHECK(result.slot_elements == 0);
    CHECK((result.weights == one.weights));
    CHECK((result.slots == one.slots));
  }
}

TEST_CASE("updates that work per variable are made whole where no device owns variables") {
  Options per_variable{.per_variable = true}, limited;
  limited.learner.clip = {.per_variable_norm = 0.01};
  for (const Options& options : {per_variable, limited}) {
    const Result one = train(options, nullptr);
    REQUIRE(one.error.empty());
    for (const Result& result : train_on(2, options)) {
      check_same(result, one);
      CHECK(result.slot_elements == one.slot_elements);
    }
  }
}

TEST_CASE("all processes name the variable whose gradient is not finite") {
  for (const bool has_owners : {false, true}) {
    const Options options{.has_owners = has_owners, .bad = std::numeric_limits<float>::infinity()};
    const Result one = train(options, nullptr);
    CHECK_THAT(one.error, Catch::Contains("are not finite, first in 'c'"));
    for (const Result& result : train_on(8, options)) CHECK(result.error == one.error);
  }
}

}  // namespace shared_block_test
