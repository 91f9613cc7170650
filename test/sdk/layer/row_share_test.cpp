// SPDX-License-Identifier: Apache-2.0
// Weights of whose rows each process computes with its own, for the shards of all. Threads act as
// the processes.
#include "trivet/layer/row_share.h"

#include <algorithm>
#include <map>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "support/thread_group.h"
#include "trivet/backend/mesh.h"
#include "trivet/error.h"
#include "trivet/layer/remat.h"
#include "trivet/layer/scope.h"
#include "trivet/ops.h"
#include "trivet/tape.h"
#include "trivet/tensor/axis_exchange.h"
#include "trivet/train/learner.h"
#include "trivet/train/learner_options.h"
#include "trivet/train/optim_update.h"

namespace row_share_test {
namespace {

using trivet::AxisExchange;
using trivet::Learner;
using trivet::MeshShards;
using trivet::ParameterStore;
using trivet::ProcessGroup;
using trivet::RowShare;
using trivet::Tensor;
using trivet::test::NamedBackend;
namespace ops = trivet::ops;

class Descent final : public trivet::Optimizer {
 public:
  std::vector<std::string> slots() const override { return {}; }
  void update(const trivet::OptimizerStep& step,
              std::span<trivet::OptimizerSegment> segments) override {
    const trivet::NoGrad no_grad;
    for (trivet::OptimizerSegment& segment : segments) {
      const Tensor change = ops::mul(ops::mul(segment.gradient, step.gradient_scale),
                                     static_cast<float>(step.learning_rate));
      trivet::assign(segment.value, ops::sub(segment.value, change));
    }
  }
};

class Half final : public trivet::Schedule {
 public:
  double value(std::int64_t) const override { return 0.5; }
};

constexpr std::int64_t kRows = 8, kDims = 32, kHidden = 40;

trivet::MeshConfig mesh_of_four() {
  trivet::MeshConfig mesh;
  mesh.ici_mesh_shape = {1, 4, 1};
  return mesh;
}

struct Options {
  bool begins_gradients = true;
  bool uses_remat = false;
  bool uses_twice = false;
  bool has_equal_counts = true;  // of each shard
  bool shares_rows = true;
};

class Trainee {
 public:
  Trainee(trivet::Device& device, const MeshShards& shards, const Options& options)
      : store(device, trivet::RngKey(1)), shards_(shards), options_(options) {
    trivet::Scope scope(store);
    scope.parameter("table", {20, kDims}, {});
    scope.parameter("up", {kRows, kDims, kHidden}, {.rows_apart = options.shares_rows});
    scope.parameter("down", {kRows, kHidden, kDims}, {.rows_apart = options.shares_rows});
    scope.parameter("odd", {7, 16}, {.rows_apart = true});
    using Gradients = ParameterStore::Gradients;
    store.build_in_parts(shards, shards.count() == 1 ? Gradients::in_parts : Gradients::whole);
    std::vector<trivet::LearnerRule> rules;
    rules.push_back(
        {.optimizer = std::make_unique<Descent>(), .learning_rate = std::make_unique<Half>()});
    learner = std::make_unique<Learner>(
        store, std::move(rules), trivet::LearnerOptions{.clip = {.global_norm = 0.05}}, shards);
  }

  Tensor products(const Tensor& x) {
    const trivet::Parameter &up = *store.find("up"), &down = *store.find("down");
    const RowShare* const share = RowShare::of({&up, &down});
    shared += share != nullptr ? 1 : 0;
    if (share == nullptr) return ops::matmul(ops::tanh(ops::matmul(x, up.value())), down.value());
    std::vector<Tensor> parts = share->dispatch(x);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Tensor h = ops::tanh(ops::matmul(parts[i], share->rows(up, i)));
      parts[i] = ops::matmul(h, share->rows(down, i));
    }
    return share->combine(parts);
  }

  Tensor loss(std::int64_t shard) {
    const std::int64_t n = options_.has_equal_counts ? 3 : shard;  // one shard has none
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < kRows * n; ++i) {
      ids.push_back(static_cast<std::int32_t>((i * 7 + shard * 3) % 20));
    }
    Device& device = store.device();
    const Tensor table = store.find("table")->value();
    const Tensor x = ops::reshape(
        ops::gather_rows(table, Tensor::from<std::int32_t>(
                                    device, ids, {static_cast<std::int64_t>(ids.size())})),
        {kRows, n, kDims});
    const auto layer = [this](std::span<const Tensor> in, trivet::RematPass) {
      return std::vector<Tensor>{products(in[0])};
    };
    const Tensor inputs[] = {x};
    Tensor y = options_.uses_remat ? trivet::remat(layer, inputs, trivet::RematKeeps{}).front()
                                   : products(x);
    if (options_.uses_twice) y = products(ops::add(x, y));
    const Tensor other = ops::mean(ops::square(store.find("odd")->value()));
    return ops::add(ops::mul(ops::sum(ops::square(ops::add(y, 0.3F))), 0.05F), other);
  }

  double update() {
    Learner::Step step = learner->begin();
    step.begin_part(trivet::RngKey(7));
    for (std::int64_t i = 0; i < shards_.count(); ++i) {
      const std::int64_t shard = shards_.first() + i;
      const double weight = 0.1 + static_cast<double>(shard);
      trivet::Tape tape;
      Tensor loss_of_shard;
      {
        const trivet::Tape::Recording recording(tape);
        loss_of_shard = loss(shard);
      }
      store.begin_gradients();
      if (options_.begins_gradients) step.begin_gradients(weight, tape);
      tape.backward(loss_of_shard);
      store.end_gradients();
      step.apply_gradients(weight);
    }
    return step.last_update().gradient_norm;
  }

  ParameterStore store;
  std::unique_ptr<Learner> learner;
  int shared = 0;  // calls

 private:
  using Device = trivet::Device;
  const MeshShards shards_;
  const Options options_;
};

struct Result {
  std::map<std::string, std::vector<float>> weights;
  double norm = 0;
  int shared = 0;
  std::vector<AxisExchange> exchanges;
  std::string error;
};

Result train(const NamedBackend& backend, const Options& options, ProcessGroup* group) {
  const auto device = trivet::test::open(backend);
  Result result;
  try {
    Trainee trainee(*device, MeshShards(mesh_of_four(), group), options);
    for (int i = 0; i < 3; ++i) {
      trivet::take_axis_exchanges(*device);
      result.norm = trainee.update();
      result.exchanges = trivet::take_axis_exchanges(*device);
    }
    result.shared = trainee.shared;
    const ParameterStore::Whole whole(trainee.store);
    for (const auto& parameter : trainee.store.parameters()) {
      result.weights[parameter->path()] = parameter->value().to_host<float>();
    }
    CHECK(RowShare::of({trainee.store.find("up")}) == nullptr);
  } catch (const trivet::Error& failure) {
    result.error = failure.message();
  }
  return result;
}

std::vector<Result> train_on(const NamedBackend& backend, int count, const Options& options) {
  std::vector<Result> results(static_cast<std::size_t>(count));
  trivet::test::on_ranks(count, [&](ProcessGroup& group) {
    results[static_cast<std::size_t>(group.rank())] = train(backend, options, &group);
  });
  return results;
}

std::int64_t calls_of(const Result& result, AxisExchange::Kind kind) {
  std::int64_t calls = 0;
  for (const AxisExchange& one : result.exchanges) calls += one.kind == kind ? one.calls : 0;
  return calls;
}

}  // namespace

TEST_CASE("rows that processes compute with for all have the bits of one process", "[slow]") {
  for (const NamedBackend& backend : trivet::test::named_backends()) {
    const Options cases[] = {{},
                             {.begins_gradients = false},
                             {.uses_remat = true},
                             {.uses_twice = true},
                             {.has_equal_counts = false},
                             {.begins_gradients = false, .uses_twice = true}};
    for (const Options& options : cases) {
      CAPTURE(backend.name, options.begins_gradients, options.uses_remat, options.uses_twice,
              options.has_equal_counts);
      const Result one = train(backend, options, nullptr);
      REQUIRE(one.error == "");
      CHECK(one.shared == 0);
      CHECK(one.norm > 0.05);  // the limit applies
      for (const int count : {2, 4}) {
        for (const Result& result : train_on(backend, count, options)) {
          CHECK(result.error == "");
          CHECK((result.weights == one.weights));
          CHECK(result.norm == one.norm);
          CHECK((result.shared > 0) == (count == 4));  // two processes have two shards each
        }
      }
    }
  }
}
TEST_CASE("rows apart move what they work on, and neither weights nor gradients") {
  const NamedBackend backend = trivet::test::named_backends().front();
  const Result apart = train_on(backend, 4, {}).front();
  const Result gathered = train_on(backend, 4, {.shares_rows = false}).front();
  using Kind = AxisExchange::Kind;
  CHECK(calls_of(apart, Kind::exchange_rows) == 4);  // two ways, in each direction
  CHECK(calls_of(gathered, Kind::exchange_rows) == 0);
  // "up" and "down" are units of their own.
  CHECK(calls_of(apart, Kind::gather_parts) == 2);
  CHECK(calls_of(apart, Kind::sum_to_part) == 2);
}

}  // namespace row_share_test
