// SPDX-License-Identifier: Apache-2.0
// Updates of a learner whose shards several processes share; threads act as the processes.
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "support/thread_group.h"
#include "trivet/backend/mesh.h"
#include "trivet/layer/scope.h"
#include "trivet/train/learner.h"
#include "trivet/train/learner_options.h"

namespace learner_processes_test {
namespace {

using trivet::Learner;
using trivet::MeshShards;
using trivet::OptimizerSegment;
using trivet::OptimizerStep;
using trivet::ProcessGroup;

class Plain final : public trivet::Optimizer {
 public:
  std::vector<std::string> slots() const override { return {}; }
  void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) override {
    for (OptimizerSegment& segment : segments) {
      const auto w = segment.value.mutable_span<float>();
      const auto g = segment.gradient.span<float>();
      const auto rate = static_cast<float>(step.learning_rate) * step.gradient_scale;
      for (std::size_t i = 0; i < w.size(); ++i) w[i] -= rate * g[i];
    }
  }
};

class One final : public trivet::Schedule {
 public:
  double value(std::int64_t) const override { return 1; }
};

trivet::MeshConfig mesh_of(std::int64_t shards) {
  trivet::MeshConfig mesh;
  mesh.ici_mesh_shape = {shards, 1, 1};
  return mesh;
}

// A shard: its gradient of "both", which shard 3 alone has of "late", too.
struct Part {
  float gradient;
  double weight;
  float loss;
};

struct Result {
  std::vector<float> both, late;
  bool skipped = false;
  double norm = 0;
  bool operator==(const Result&) const = default;
};

// One update from the parts of the shards of this process.
Result update(std::span<const Part> parts, ProcessGroup* group,
              const trivet::GradientClipConfig& clip = {}, float start = 1) {
  const auto device = trivet::test::open_device("tiny/Backend");
  trivet::ParameterStore store(*device, trivet::RngKey(1));
  trivet::Scope scope(store);
  for (const char* name : {"both", "late"}) {
    scope.parameter(name, {2}, {.init = {trivet::Init::constant, 1}});
  }
  store.build();
  store.find("both")->assign(trivet::Tensor::full(*device, {2}, static_cast<double>(start)));
  std::vector<trivet::LearnerRule> rules;
  rules.push_back(
      {.optimizer = std::make_unique<Plain>(), .learning_rate = std::make_unique<One>()});
  const MeshShards shards(mesh_of(static_cast<std::int64_t>(parts.size())), group);
  Learner learner(store, std::move(rules), {.clip = clip, .skip_bad_updates = true}, shards);
  Learner::Step step = learner.begin({.loss_bound = 10});
  for (std::int64_t i = shards.first(); i < shards.first() + shards.count(); ++i) {
    const Part& part = parts[static_cast<std::size_t>(i)];
    for (const char* name : {"both", "late"}) {
      trivet::Parameter& parameter = *store.find(name);
      const bool has = name == std::string("both") || i == 3;
      parameter.set_has_gradient(has);
      for (float& g : parameter.gradient().mutable_span<float>()) g = has ? part.gradient : 0;
    }
    step.apply_gradients(part.weight, trivet::Tensor::scalar(*device, part.loss));
  }
  return {store.find("both")->value().to_host<float>(),
          store.find("late")->value().to_host<float>(), step.last_update().skipped,
          step.last_update().gradient_norm};
}

std::vector<Result> on_processes(int count, std::span<const Part> parts,
                                 const trivet::GradientClipConfig& clip = {}, float start = 1) {
  trivet::test::open_device("tiny/Backend");  // loads the plugin, once
  std::vector<Result> results(static_cast<std::size_t>(count));
  trivet::test::on_ranks(count, [&](ProcessGroup& group) {
    results[static_cast<std::size_t>(group.rank())] = update(parts, &group, clip, start);
  });
  return results;
}

}  // namespace

TEST_CASE("all processes make the update of one, whichever of them has a gradient") {
  const Part parts[] = {{0.5F, 1, 2}, {-0.25F, 2, 3}, {1, 1, 4}, {0.125F, 4, 5}};
  const Result one = update(parts, nullptr);
  CHECK_FALSE(one.skipped);
  // (1 * 0.5 - 2 * 0.25 + 1 * 1 + 4 * 0.125) / 8 = 0.1875, and 4 * 0.125 / 8 = 0.0625.
  CHECK(one.both == std::vector<float>(2, 1 - 0.1875F));
  CHECK(one.late == std::vector<float>(2, 1 - 0.0625F));
  for (const int count : {2, 4}) {
    for (const Result& result : on_processes(count, parts)) CHECK((result == one));
  }
}

TEST_CASE("gradients of -0 change no weight of -0, whatever the number of processes") {
  const Part parts[] = {{-0.0F, 1, 2}, {-0.0F, 1, 2}, {-0.0F, 1, 2}, {-0.0F, 1, 2}};
  const auto is_negative_zero = [](const Result& result) {
    return result.both[0] == 0 && std::signbit(result.both[0]);
  };
  CHECK(is_negative_zero(update(parts, nullptr, {}, -0.0F)));
  for (const Result& result : on_processes(4, parts, {}, -0.0F)) CHECK(is_negative_zero(result));
}

TEST_CASE("an update that is bad in one process is skipped in all") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Part bad_loss[] = {{1, 1, 2}, {1, 1, nan}, {1, 1, 2}, {1, 1, 2}};
  const Part high_mean[] = {{1, 1, 2}, {1, 1, 2}, {1, 1, 2}, {1, 1, 40}};
  const Part bad_gradient[] = {{1, 1, 2}, {1, 1, 2}, {nan, 1, 2}, {1, 1, 2}};
  for (const std::span<const Part> parts :
       {std::span<const Part>(bad_loss), std::span<const Part>(high_mean),
        std::span<const Part>(bad_gradient)}) {
    for (const Result& result : on_processes(2, parts)) {
      CHECK(result.skipped);
      CHECK(result.both == std::vector<float>(2, 1));
    }
  }
  // The square of this gradient is infinite in float, and the limit on each part makes it 0.
  const Part huge[] = {{1, 1, 2}, {3e30F, 1, 2}, {1, 1, 2}, {1, 1, 2}};
  for (const Result& result : on_processes(2, huge, {.global_norm = 1, .each_part = true})) {
    CHECK(result.skipped);
  }
  // One loss above the bound, whose mean is below it.
  const Part one_high[] = {{1, 1, 2}, {1, 1, 2}, {1, 1, 2}, {1, 1, 30}};
  for (const Result& result : on_processes(2, one_high)) CHECK_FALSE(result.skipped);
}

}  // namespace learner_processes_test
