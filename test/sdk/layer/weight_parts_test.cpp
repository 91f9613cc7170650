// SPDX-License-Identifier: Apache-2.0
// Weights and gradients of which each process has parts. Threads act as the processes.
#include <map>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "support/thread_group.h"
#include "trivet/backend/mesh.h"
#include "trivet/error.h"
#include "trivet/layer/remat.h"
#include "trivet/layer/scope.h"
#include "trivet/layer/weight_share.h"
#include "trivet/ops.h"
#include "trivet/tape.h"
#include "trivet/tensor/tensor_part.h"
#include "trivet/train/learner.h"
#include "trivet/train/learner_options.h"
#include "trivet/train/optim_update.h"

namespace weight_parts_test {
namespace {

using trivet::Learner;
using trivet::MeshShards;
using trivet::Parameter;
using trivet::ParameterStore;
using trivet::ProcessGroup;
using trivet::Tensor;
using trivet::test::NamedBackend;
namespace ops = trivet::ops;

// Momentum, by element or with the mean of a variable's gradients.
class Heavy final : public trivet::Optimizer {
 public:
  explicit Heavy(bool per_variable = false) : per_variable_(per_variable) {}
  bool per_variable() const override { return per_variable_; }
  trivet::Shape slot_shape(std::string_view, const Parameter& parameter) const override {
    return {parameter.shape().size()};
  }
  std::vector<std::string> slots() const override { return {"m"}; }
  void update(const trivet::OptimizerStep& step,
              std::span<trivet::OptimizerSegment> segments) override {
    const trivet::NoGrad no_grad;
    const auto rate = static_cast<float>(step.learning_rate);
    for (trivet::OptimizerSegment& segment : segments) {
      Tensor gradient = ops::mul(segment.gradient, step.gradient_scale);
      if (per_variable_) gradient = ops::sub(gradient, ops::mean(gradient));
      trivet::assign(segment.slots[0], ops::add(ops::mul(segment.slots[0], 0.5F), gradient));
      trivet::assign(segment.value, ops::sub(segment.value, ops::mul(segment.slots[0], rate)));
    }
  }

 private:
  bool per_variable_;
};

class Tenth final : public trivet::Schedule {
 public:
  double value(std::int64_t) const override { return 0.1; }
};

// No kernel is tested here, and millions of weights take their time.
const NamedBackend& fastest_backend() {
  return trivet::test::named_backends().back();
}

// Each wide weight is a unit of its own, and there are more of them than may be whole at once.
constexpr std::int64_t kWide = 10, kElements = (1 << 18) + 5;

trivet::MeshConfig mesh_for(std::int64_t processes, std::int64_t overlap = 2) {
  trivet::MeshConfig mesh;
  mesh.overlap = overlap;
  mesh.ici_mesh_shape = {1, 4, 1};
  mesh.processes = processes;
  return mesh;
}

std::string wide(std::int64_t i) {
  return "wide_" + std::to_string(i);
}

struct Options {
  bool begins_gradients = true;
  ParameterStore::Gradients gradients = ParameterStore::Gradients::in_parts;
  std::int64_t updates = 2;
  // Reads one weight more, or another one first, in the process of this rank.
  int odd_rank = -1;
  // All processes do so in every other update.
  bool alternates = false;
  std::int64_t overlap = 2;
  ParameterStore::Pieces pieces = ParameterStore::Pieces::elements;
  ParameterStore::Keeps keeps = ParameterStore::Keeps::own_parts;
  trivet::LearnerOptions learner{.clip = {.global_norm = 0.004}, .ema = {.decay = 0.75}};
  bool has_whole_variables() const { return pieces == ParameterStore::Pieces::variables; }
};

class Trainee {
 public:
  Trainee(trivet::Device& device, const MeshShards& shards, const Options& options)
      : store(device, trivet::RngKey(1)), shards_(shards) {
    trivet::Scope scope(store);
    scope.parameter("tied", {3, 5}, {});
    for (std::int64_t i = 0; i < kWide; ++i) scope.parameter(wide(i), {kElements}, {});
    scope.parameter("late", {1000}, {});
    scope.parameter("unused", {17}, {});
    scope.state("moving", {7}, 1);
    store.build_in_parts(shards, options.gradients, options.pieces, options.keeps);
    std::vector<trivet::LearnerRule> rules;
    rules.push_back({.optimizer = std::make_unique<Heavy>(options.has_whole_variables()),
                     .learning_rate = std::make_unique<Tenth>()});
    learner = std::make_unique<Learner>(store, std::move(rules), options.learner, shards);
  }

  // The tied weight is used first and last, as a table of an embedding and a softmax. "late" has a
  // gradient of shard 3 alone.
  Tensor loss(std::int64_t shard, bool is_odd) {
    const auto scale = static_cast<float>(0.01 * static_cast<double>(shard + 1));
    Tensor x = ops::mean(ops::square(value("tied")));
    if (is_odd) value(wide(5)).view();
    for (std::int64_t i = 0; i < kWide; ++i) {
      const auto term = [this, i, scale](std::span<const Tensor> inputs, trivet::RematPass) {
        const Tensor before = ops::expand(inputs[0], {kElements});
        const Tensor mixed = ops::add(ops::mul(value(wide(i)), scale), before);
        const Tensor mean = ops::mean(ops::square(mixed));
        // This weight is used again, outside of what runs again.
        return std::vector<Tensor>{i == 0 ? ops::add(mean, ops::mean(value(wide(1)))) : mean};
      };
      const Tensor inputs[] = {x};
      x = i % 3 == 0 ? trivet::remat(term, inputs, trivet::RematKeeps{}).front()
                     : term(inputs, trivet::RematPass::forward).front();
    }
    const Tensor late = ops::mean(value("late"));
    if (shard == 3) x = ops::add(x, late);
    return ops::add(x, ops::mul(ops::mean(value("tied")), scale));
  }

  double update(const Options& options, int rank) {
    Learner::Step step = learner->begin();
    step.begin_part(trivet::RngKey(7));
    const bool is_odd = rank == options.odd_rank || (options.alternates && updates_++ % 2 == 1);
    for (std::int64_t i = 0; i < shards_.count(); ++i) {
      const std::int64_t shard = shards_.first() + i;
      const double weight = static_cast<double>(1 + shard % 3);
      trivet::Tape tape;
      Tensor loss_of_shard;
      {
        const trivet::Tape::Recording recording(tape);
        loss_of_shard = loss(shard, is_odd);
      }
      store.begin_gradients();
      if (options.begins_gradients) step.begin_gradients(weight, tape);
      tape.backward(loss_of_shard);
      persistent_bytes = store.device().memory().persistent_bytes;
      store.end_gradients();
      step.apply_gradients(weight);
    }
    return step.last_update().gradient_norm;
  }

  const Tensor& value(const std::string& name) { return store.find(name)->value(); }

  ParameterStore store;
  std::unique_ptr<Learner> learner;
  std::uint64_t persistent_bytes = 0;  // after the last backward pass

 private:
  const MeshShards shards_;
  int updates_ = 0;
};

using Tensors = std::map<std::string, std::vector<float>>;

struct Result {
  Tensors weights, averaged, slots;
  Tensors parts;  // of the weights, of this process; what others have, too, only if it is alone
  std::map<std::string, std::int64_t> begins;
  double norm = 0;
  std::uint64_t persistent_bytes = 0;  // of Trainee
  std::string error;
};

Tensors weights_of(ParameterStore& store) {
  Tensors out;
  for (const auto& parameter : store.parameters()) {
    out[parameter->path()] = parameter->value().to_host<float>();
  }
  return out;
}

Result train(const NamedBackend& backend, const Options& options, ProcessGroup* group) {
  const auto device = trivet::test::open(backend);
  const MeshShards shards(mesh_for(1, options.overlap), group);
  Result result;
  try {
    Trainee trainee(*device, shards, options);
    for (std::int64_t i = 0; i < options.updates; ++i) {
      result.norm = trainee.update(options, group != nullptr ? group->rank() : 0);
    }
    result.persistent_bytes = trainee.persistent_bytes;
    for (const auto& [name, tensor] : trainee.learner->slots()) {
      result.slots[name] = tensor.to_host<float>();
    }
    {
      const Learner::UseAverages averages(*trainee.learner);
      const ParameterStore::Whole whole(trainee.store);
      result.averaged = weights_of(trainee.store);
    }
    result.weights = weights_of(trainee.store);
    for (const trivet::TensorPart& part : trainee.store.value_parts()) {
      if (group != nullptr && !part.is_shared) continue;
      result.parts[part.name] = part.values.to_host<float>();
      result.begins[part.name] = part.begin;
    }
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

void check_same(const Result& result, const Result& one) {
  CHECK(result.error.empty());
  CHECK((result.weights == one.weights));
  CHECK((result.averaged == one.averaged));
  CHECK((result.slots == one.slots));
  CHECK(result.norm == one.norm);
}

// A store of one process of two, whose other one does nothing but take part in gathers.
template <class Body>
void in_parts(const Body& body) {
  const NamedBackend backend = fastest_backend();
  trivet::test::on_ranks(2, [&](ProcessGroup& group) {
    const auto device = trivet::test::open(backend);
    trivet::MeshConfig mesh;
    mesh.ici_mesh_shape = {1, 2, 1};
    auto store = std::make_unique<ParameterStore>(*device, trivet::RngKey(1));
    trivet::Scope scope(*store);
    for (const char* name : {"a", "b"}) scope.parameter(name, {4, 8}, {});
    store->build_in_parts(MeshShards(mesh, &group), ParameterStore::Gradients::in_parts);
    body(std::move(store), group.rank());
  });
}

}  // namespace

TEST_CASE("processes that have parts of the weights have the bits of one that has all", "[slow]") {
  for (const NamedBackend& backend : trivet::test::named_backends()) {
    CAPTURE(backend.name);
    const Result one = train(backend, {}, nullptr);
    REQUIRE(one.error.empty());
    CHECK((one.averaged != one.weights));
    CHECK(one.norm > 0.004);  // the limit applies
    for (const Result& result : train_on(backend, 4, {})) check_same(result, one);
  }
}

TEST_CASE("processes that have whole variables have the bits of one that has all", "[slow]") {
  const NamedBackend backend = fastest_backend();
  Options plain{.pieces = ParameterStore::Pieces::variables}, limited = plain, noisy = plain,
                                                              whole = plain;
  limited.learner.clip = {.global_norm = 0.004, .per_variable_norm = 0.002};
  noisy.learner.gradient_noise.stddev = 0.01;
  whole.gradients = ParameterStore::Gradients::whole;
  for (const Options& options : {plain, limited, noisy, whole}) {
    const Result one = train(backend, options, nullptr);
    REQUIRE(one.error.empty());
    CHECK(one.norm > 0.004);
    for (const Result& result : train_on(backend, 4, options)) check_same(result, one);
    if (options.gradients == ParameterStore::Gradients::in_parts) continue;
    for (const Result& result : train_on(backend, 2, options)) check_same(result, one);
  }
}

TEST_CASE("weights in parts: gradients may be whole, and a process may have several shards") {
  using Gradients = ParameterStore::Gradients;
  const NamedBackend backend = fastest_backend();
  const Result one = train(backend, {}, nullptr);
  for (const Options& options :
       {Options{.begins_gradients = false}, Options{.gradients = Gradients::whole}}) {
    for (const Result& result : train_on(backend, 4, options)) check_same(result, one);
  }
  for (const Result& result : train_on(backend, 2, {.gradients = Gradients::whole})) {
    check_same(result, one);
  }
}

// In any order, which nobody else notices.
TEST_CASE("processes that keep all weights have the bits of those that have parts") {
  using Keeps = ParameterStore::Keeps;
  const NamedBackend backend = fastest_backend();
  const Result one = train(backend, {}, nullptr);
  for (const Options& options : {Options{.overlap = 0, .keeps = Keeps::all},
                                 Options{.odd_rank = 2, .overlap = 16, .keeps = Keeps::all}}) {
    for (const Result& result : train_on(backend, 4, options)) check_same(result, one);
  }
  const Options whole{.gradients = ParameterStore::Gradients::whole, .keeps = Keeps::all};
  for (const Result& result : train_on(backend, 2, whole)) check_same(result, one);
}

TEST_CASE("a process that keeps all weights has the memory of its parts beside them") {
  const NamedBackend backend = fastest_backend();
  const auto device = trivet::test::open(backend);
  const Options options{.updates = 1, .keeps = ParameterStore::Keeps::all};
  Trainee whole(*device, MeshShards(mesh_for(1), nullptr), options);
  const trivet::WeightShare share = trivet::weight_share(whole.store, mesh_for(4));
  CHECK(share.keeps_all);
  CHECK(share.whole == share.all);
  CHECK(share.ahead == 0);
  const auto bytes = [](std::int64_t floats) { return 4 * static_cast<std::uint64_t>(floats); };
  for (const Result& result : train_on(backend, 4, options)) {
    // Weights, gradients, slots and averages; those of two units under way; and 64 KiB for the loss
    // and the sums of squares.
    const std::int64_t most = 4 * share.own + share.all + 2 * share.largest;
    CHECK(result.persistent_bytes <= bytes(most) + (1 << 16));
    CHECK(result.persistent_bytes >= bytes(4 * (share.all - 3 * share.own) + share.all));
    // Each saves its own parts.
    std::size_t saved = 0;
    for (const auto& [name, values] : result.parts) saved += values.size();
    CHECK(saved <= static_cast<std::size_t>(share.own));
  }
}

TEST_CASE("a process has the memory of its parts and of what is whole at once") {
  const NamedBackend backend = fastest_backend();
  const auto device = trivet::test::open(backend);
  const auto pieces = GENERATE(ParameterStore::Pieces::elements, ParameterStore::Pieces::variables);
  const Options options{.pieces = pieces};
  Trainee whole(*device, MeshShards(mesh_for(1), nullptr), options);
  const trivet::WeightShare share = trivet::weight_share(whole.store, mesh_for(4));
  CHECK(share.all == whole.store.trainable_size());
  CHECK(share.largest >= kElements);
  CHECK(share.whole < share.all);
  const auto bytes = [](std::int64_t floats) { return 4 * static_cast<std::uint64_t>(floats); };
  for (const Result& result : train_on(backend, 4, options)) {
    // Weights, gradients, slots and averages; and the gathered ones, at most one less than there is
    // room for, with those ahead. 64 KiB are for the loss and the sums of squares.
    CHECK(result.persistent_bytes <= bytes(4 * share.own + share.whole + share.ahead) + (1 << 16));
    const std::int64_t least = share.all - 3 * share.own;
    CHECK(result.persistent_bytes >= bytes(4 * least + share.whole - share.largest));
  }
}

TEST_CASE("the parts of weights make up whole ones, and each process has its share") {
  const NamedBackend backend = fastest_backend();
  const auto pieces = GENERATE(ParameterStore::Pieces::elements, ParameterStore::Pieces::variables);
  const Options options{.updates = 1, .pieces = pieces};
  const Result one = train(backend, options, nullptr);
  CHECK((one.parts == one.weights));
  Tensors joined;
  joined["moving"] = one.weights.at("moving");  // each process has the states
  for (const Result& result : train_on(backend, 4, options)) {
    std::int64_t elements = 0, all = 0;
    for (const auto& [name, values] : result.parts) {
      std::vector<float>& whole = joined[name];
      if (!values.empty()) CHECK(std::ssize(whole) == result.begins.at(name));
      whole.insert(whole.end(), values.begin(), values.end());
      elements += std::ssize(values);
      all += std::ssize(one.weights.at(name));
    }
    CHECK(elements < all / 2);
  }
  CHECK((joined == one.weights));
}

// A gather ahead then has another unit than the one that is read next.
TEST_CASE("weights that updates read in another order have the bits of one process", "[slow]") {
  const NamedBackend backend = fastest_backend();
  for (const std::int64_t overlap : {0, 1, 3, 16}) {
    CAPTURE(overlap);
    const Options options{.updates = 5, .alternates = true, .overlap = overlap};
    const Result one = train(backend, options, nullptr);
    for (const Result& result : train_on(backend, 4, options)) check_same(result, one);
  }
}

TEST_CASE("processes that read other weights end the update") {
  const NamedBackend backend = fastest_backend();
  const auto results = train_on(backend, 4, {.updates = 1, .odd_rank = 2});
  for (const Result& result : results) {
    CHECK_THAT(result.error, Catch::Contains("process 2 has read the weights in another order"));
  }
}

TEST_CASE("weights in parts are assigned, and not changed in place") {
  in_parts([](std::unique_ptr<ParameterStore> store, int rank) {
    Parameter& a = *store->find("a");
    Tensor value = a.value();
    const std::vector<float> before = store->find("b")->value().to_host<float>();
    std::string errors;
    try {
      value.mutable_view();
    } catch (const trivet::Error& failure) {
      errors += failure.message() + failure.hint();
    }
    try {
      value.mutable_span<float>();
    } catch (const trivet::Error& failure) {
      errors += failure.message() + failure.hint();
    }
    try {
      store->trainable_values();
    } catch (const trivet::Error& failure) {
      errors += failure.message();
    }
    const std::vector<float> seven(32, 7);
    a.assign(Tensor::full(store->device(), {4, 8}, 7));
    const std::vector<float> assigned = a.value().to_host<float>();
    const ParameterStore::Whole whole(*store);
    value.assign_bytes(std::as_bytes(std::span<const float>(before)));
    const std::vector<float> while_whole = a.value().to_host<float>();
    if (rank != 0) return;  // checks are made by one thread
    CHECK_THAT(errors, Catch::Contains("cannot be written to") &&
                           Catch::Contains("Parameter::assign") &&
                           Catch::Contains("no block of all"));
    CHECK(assigned == seven);
    CHECK(while_whole == before);
    CHECK(store->find("b")->value().to_host<float>() == before);
  });
}

TEST_CASE("a weight in parts does not outlive its store") {
  in_parts([](std::unique_ptr<ParameterStore> store, int rank) {
    const Tensor value = store->find("a")->value();
    store.reset();
    if (rank == 0) CHECK_THROWS_WITH(value.to_host<float>(), Catch::Contains("was gone"));
  });
}

namespace {

// y = x, with a gradient that runs ops of another weight on a tape of its own.
thread_local Parameter* hidden_weight = nullptr;

void hidden_vjp(trivet::Vjp& v) {
  trivet::Tape tape;
  Tensor loss;
  {
    const trivet::Tape::Recording recording(tape);
    loss = ops::mean(hidden_weight->value());
  }
  tape.backward(loss);
  v.add(0, v.grad_output());
}
constexpr trivet::OpDef kHidden{"hidden", hidden_vjp};

}  // namespace

TEST_CASE("a gradient that comes after its sum is an error") {
  trivet::MeshConfig mesh;
  mesh.ici_mesh_shape = {1, 2, 1};
  trivet::test::on_ranks(2, [&](ProcessGroup& group) {
    const auto device = trivet::test::open(fastest_backend());
    ParameterStore store(*device, trivet::RngKey(1));
    trivet::Scope scope(store);
    Parameter& weight = scope.parameter("weight", {200, 100}, {});
    store.build_in_parts(MeshShards(mesh, &group), ParameterStore::Gradients::in_parts);
    std::vector<trivet::LearnerRule> rules;
    rules.push_back(
        {.optimizer = std::make_unique<Heavy>(), .learning_rate = std::make_unique<Tenth>()});
    Learner learner(store, std::move(rules), {}, MeshShards(mesh, &group));
    Learner::Step step = learner.begin();
    trivet::Tape tape;
    trivet::GradientSlot slot;
    Tensor loss;
    hidden_weight = &weight;
    const Tensor start = trivet::make_leaf(Tensor::scalar(*device, 1), slot);
    {
      const trivet::Tape::Recording recording(tape);
      Tensor x = ops::reshape(start, {});
      trivet::record(kHidden, {start}, x);
      loss = ops::mul(x, ops::mean(weight.value()));
    }
    store.begin_gradients();
    step.begin_gradients(1, tape);
    std::string error;
    try {
      tape.backward(loss);
    } catch (const trivet::Error& failure) {
      error = failure.message() + failure.hint();
    }
    if (group.rank() != 0) return;
    CHECK_THAT(error, Catch::Contains("a gradient of 'weight'") && Catch::Contains("remat"));
  });
}

}  // namespace weight_parts_test
