// SPDX-License-Identifier: Apache-2.0
// Stores of models in stages: processes have the weights of their stages alone, or whole ones.
// Threads act as the processes.
#include "trivet/layer/parameter_store.h"

#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "support/plugins.h"
#include "support/thread_group.h"
#include "trivet/backend/mesh.h"
#include "trivet/error.h"
#include "trivet/layer/pipeline.h"
#include "trivet/layer/scope.h"
#include "trivet/ops.h"
#include "trivet/tape.h"
#include "trivet/tensor/mesh.h"
#include "trivet/tensor/mesh_shards.h"
#include "trivet/train/learner.h"
#include "trivet/train/learner_options.h"

namespace parameter_store_test {
namespace {

using namespace trivet;
using Catch::Contains;
using trivet::test::named_backends;
using trivet::test::NamedBackend;
using trivet::test::on_ranks;

// Momentum.
class Heavy final : public Optimizer {
 public:
  std::vector<std::string> slots() const override { return {"m"}; }
  void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) override {
    for (OptimizerSegment& segment : segments) {
      const auto w = segment.value.mutable_span<float>();
      const auto g = segment.gradient.span<float>();
      const auto m = segment.slots[0].mutable_span<float>();
      for (std::size_t i = 0; i < w.size(); ++i) {
        m[i] = 0.5F * m[i] + step.gradient_scale * g[i];
        w[i] -= static_cast<float>(step.learning_rate) * m[i];
      }
    }
  }
};

class Tenth final : public Schedule {
 public:
  double value(std::int64_t) const override { return 0.1; }
};

// Two stages of two devices each, along data.
MeshConfig mesh_for(int processes) {
  MeshConfig mesh;
  mesh.mesh_axis_names = {"stage", "data"};
  mesh.ici_mesh_shape = {2, 2};
  mesh.processes = processes;
  return mesh;
}

enum class Has { parts, whole };

constexpr std::int64_t kDepth = 640, kRows = 4;  // a weight of kDepth x kDepth is a unit

// x is made of "in", and goes through "a" of stage 0 and "b" of stage 1; "idle" is of stage 1, too.
class Model {
 public:
  Model(Device& device, const Mesh& mesh, const MeshShards& shards, Has has)
      : store(device, RngKey(1)), axis_(mesh.axis("stage")), shards_(shards) {
    Scope scope(store, mesh);
    const InitConfig init{Init::normal, 0.05};
    scope.parameter("in", {kRows, kDepth}, {.init = init});
    scope.at_stage(0).parameter("a", {kDepth, kDepth}, {.init = init});
    scope.at_stage(1).parameter("b", {kDepth, kDepth}, {.init = init});
    scope.at_stage(1).parameter("idle", {7}, {.init = init});
    if (has == Has::parts) {
      store.build_in_parts(shards, shards.count() == 1 ? ParameterStore::Gradients::in_parts
                                                       : ParameterStore::Gradients::whole);
    } else {
      store.build();
    }
    std::vector<LearnerRule> rules;
    rules.push_back(
        {.optimizer = std::make_unique<Heavy>(), .learning_rate = std::make_unique<Tenth>()});
    learner = std::make_unique<Learner>(store, std::move(rules),
                                        LearnerOptions{.clip = {.global_norm = 0.01}}, shards);
  }

  double update() {
    Learner::Step step = learner->begin();
    for (std::int64_t i = 0; i < shards_.count(); ++i) {
      const double weight = static_cast<double>(2 + shards_.first() + i);
      Tape tape;
      Tensor loss;
      {
        const Tape::Recording recording(tape);
        const Tensor y =
            pipeline(value("in"), axis_, {.num_microbatches = 2},
                     [&](const Tensor& rows, std::int64_t part, std::int64_t) {
                       return ops::tanh(ops::linear(rows, value(part == 0 ? "a" : "b")));
                     });
        loss = ops::mul(ops::mean(ops::square(y)), static_cast<float>(weight));
      }
      store.begin_gradients();
      step.begin_gradients(weight, tape);
      tape.backward(loss);
      store.end_gradients();
      step.apply_gradients(weight);
    }
    return step.last_update().gradient_norm;
  }

  const Tensor& value(const std::string& name) { return store.find(name)->value(); }

  ParameterStore store;
  std::unique_ptr<Learner> learner;

 private:
  const MeshAxis& axis_;
  const MeshShards shards_;
};

struct Result {
  std::map<std::string, std::vector<float>> weights, slots;
  std::map<std::string, bool> has_gradient;
  std::uint64_t persistent_bytes = 0;  // before anything is whole
  double norm = 0;
  std::string other_stage;  // the error of a weight that is read outside of its stage
};

Result train(const NamedBackend& backend, int processes, ProcessGroup* group, Has has) {
  const auto device = trivet::test::open(backend);
  const Mesh mesh(mesh_for(processes), group);
  const MeshShards shards(mesh_for(processes), group);
  Model model(*device, mesh, shards, has);
  Result result;
  model.update();
  result.norm = model.update();
  result.persistent_bytes = device->memory().persistent_bytes;
  for (const auto& parameter : model.store.parameters()) {
    result.has_gradient[parameter->path()] = parameter->has_gradient();
  }
  if (shards.has_stage(0) != shards.has_stage(1)) {
    try {
      model.value(shards.has_stage(0) ? "b" : "a").view();
    } catch (const Error& error) {
      result.other_stage = error.message();
    }
  }
  const ParameterStore::ReadAlike alike(model.store);
  for (const auto& parameter : model.store.parameters()) {
    result.weights[parameter->path()] = parameter->value().to_host<float>();
  }
  for (const auto& [name, tensor] : model.learner->slots()) {
    result.slots[name] = tensor.to_host<float>();
  }
  return result;
}

std::vector<Result> train_on(const NamedBackend& backend, int processes, Has has) {
  std::vector<Result> results(static_cast<std::size_t>(processes));
  on_ranks(processes, [&](ProcessGroup& group) {
    results[static_cast<std::size_t>(group.rank())] = train(backend, processes, &group, has);
  });
  return results;
}

void check_same(const Result& result, const Result& one) {
  CHECK((result.weights == one.weights));
  CHECK((result.slots == one.slots));
  CHECK(result.norm == one.norm);
  CHECK(result.has_gradient == one.has_gradient);
}

}  // namespace

TEST_CASE("processes have the weights of their stages, and the bits of one that has all") {
  const NamedBackend backend = named_backends().front();
  const Result one = train(backend, 1, nullptr, Has::parts);
  CHECK_FALSE(one.has_gradient.at("idle"));
  CHECK(one.has_gradient.at("a"));
  CHECK(one.norm > 0.01);
  for (const int processes : {2, 4}) {
    CAPTURE(processes);
    for (const Result& result : train_on(backend, processes, Has::parts)) {
      check_same(result, one);
      CHECK_THAT(result.other_stage, Contains("was read by a process of other stages"));
      // A stage, or half of it. Processes of two shards have whole gradients and a sum of them.
      const double weight = sizeof(float) * kDepth * kDepth;
      const double most = processes == 2 ? 3 + 2 * 3 : 3 * 0.5 + 1;
      CHECK(static_cast<double>(result.persistent_bytes) < (most + 0.1) * weight);
    }
  }
}

TEST_CASE("weights that are built to be loaded have no gradients, and take what is assigned") {
  const auto device = trivet::test::open(named_backends().front());
  const auto bytes_of = [&](bool to_load) {
    ParameterStore store(*device, RngKey(1));
    Parameter& weight = store.add("w", {1000}, {.init = {Init::constant, 3}});
    to_load ? store.build_to_load() : store.build();
    if (to_load) {
      CHECK_THROWS_WITH(store.trainable_gradients(), Contains("built to be loaded"));
    } else {
      CHECK(weight.value().to_host<float>() == std::vector<float>(1000, 3));
    }
    weight.assign(Tensor::full(*device, {1000}, 7));
    CHECK(weight.value().to_host<float>() == std::vector<float>(1000, 7));
    return device->memory().persistent_bytes;
  };
  const auto with_gradients = bytes_of(false), without = bytes_of(true);
  CHECK(with_gradients >= without + 4000);
}

TEST_CASE("a layer of a pipeline that reads a weight of no stage is an error, and no hang") {
  const NamedBackend backend = named_backends().front();
  std::vector<std::string> errors(2);
  on_ranks(2, [&](ProcessGroup& group) {
    const auto device = trivet::test::open(backend);
    const Mesh mesh(mesh_for(2), &group);
    Model model(*device, mesh, MeshShards(mesh_for(2), &group), Has::parts);
    if (group.rank() == 1) return;  // makes no call that would answer
    try {
      pipeline(Tensor::zeros(*device, {2, kDepth}), mesh.axis("stage"), {},
               [&](const Tensor& rows, std::int64_t, std::int64_t) {
                 return ops::add(rows, ops::slice(model.value("in"), 0, 0, rows.dim(0)));
               });
    } catch (const Error& error) {
      errors[0] = error.message();
    }
  });
  CHECK_THAT(errors[0], Contains("reads a weight of no stage"));
}

TEST_CASE("processes with whole weights hand on the gradients of their stages") {
  const NamedBackend backend = named_backends().front();
  const Result one = train(backend, 1, nullptr, Has::whole);
  for (const int processes : {2, 4}) {
    CAPTURE(processes);
    for (const Result& result : train_on(backend, processes, Has::whole)) {
      check_same(result, one);
      CHECK(result.other_stage.empty());
    }
  }
}

TEST_CASE("a stage refuses states, shared layers and numbers that the mesh does not have") {
  const auto device = trivet::test::open_any();
  ParameterStore store(*device, RngKey(1));
  const Mesh mesh(mesh_for(1));
  const Scope scope(store, mesh);
  CHECK_THROWS_WITH(scope.at_stage(2), Contains("stage 2, and the mesh has 2 stages"));
  Scope stage = scope.at_stage(1);
  CHECK_THROWS_WITH(stage.state("mean", {3}, 0), Contains("'mean', which is a state"));
  const ConfigOf<Layer> shared("nn/Relu", Value::table({{"shared", "one"}}));
  CHECK_THROWS_WITH(stage.layer("relu", shared), Contains("which is shared as 'one'"));
  CHECK(stage.parameter("w", {3}).stage() == 1);
  CHECK(stage.child("deeper").parameter("w", {3}).stage() == 1);
  Scope root(store, mesh);
  CHECK(root.parameter("v", {3}).stage() == Parameter::kEveryStage);
}

TEST_CASE("frozen weights are no running states, and frozen states remain what they are") {
  const auto device = trivet::test::open_any();
  ParameterStore store(*device, trivet::RngKey(1));
  trivet::Scope scope(store);
  trivet::Parameter& weight = scope.parameter("weight", {40}, {});
  trivet::Parameter& mean = scope.state("mean", {3}, 1);
  store.freeze(weight);
  store.freeze(mean);
  store.build();
  CHECK(weight.is_frozen());
  CHECK_FALSE(mean.is_frozen());
  CHECK(store.states().size() == 64);
  CHECK(store.running_states().size() == 16);  // in multiples of 16
  CHECK(store.running_states().to_host<float>()[2] == 1);
}

}  // namespace parameter_store_test
