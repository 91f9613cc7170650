// SPDX-License-Identifier: Apache-2.0
// Blocks of positions against the whole sequence, and over processes; threads act as these.
#include "trivet/layer/sequence_blocks.h"

#include <bit>
#include <cmath>
#include <mutex>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "sdk/tensor/tensor_bits.h"
#include "support/thread_group.h"
#include "trivet/backend/mesh.h"
#include "trivet/backend/mesh_layout.h"
#include "trivet/error.h"
#include "trivet/layer/extend_step.h"
#include "trivet/layer/remat.h"
#include "trivet/ops.h"
#include "trivet/ops/ops_mesh.h"
#include "trivet/tape.h"
#include "trivet/tensor/mesh.h"

namespace sequence_blocks_test {
namespace {

using namespace trivet;
using trivet::test::Bits;
using trivet::test::bits_of;
using trivet::test::on_ranks;
using trivet::test::open_any;
using Run = SequenceCut::Run;
using Catch::Contains;

constexpr std::int64_t kBatch = 2, kDepth = 3;

Tensor values_of(Device& device, const Shape& shape, int seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    values.push_back(static_cast<float>(std::sin(static_cast<double>(i * 31 + seed * 7 + 1))));
  }
  return Tensor::from(device, std::span<const float>(values), shape);
}

MeshConfig mesh_of(std::int64_t devices) {
  MeshConfig mesh;
  mesh.mesh_axis_names = {"seq"};
  mesh.ici_mesh_shape = {devices};
  return mesh;
}

// tanh(x w), whose weights are drawn.
class Product : public LocalLayer {
 public:
  explicit Product(Scope scope) : w_(scope.parameter("w", {kDepth, kDepth})) {}
  Tensor fprop(const Tensor& x, FpropContext&) override {
    return ops::tanh(ops::linear(x, w_.value()));
  }

 protected:
  Parameter& w_;
};

// x less the mean of all positions.
class Centered final : public Layer, public SequenceBlocks {
 public:
  Tensor fprop(const Tensor& x, FpropContext&) override {
    return ops::sub(x, ops::mean(x, 1, {.keep_dims = true}));
  }
  std::vector<Tensor> fprop_blocks(std::span<const Tensor> x, SequenceCut& cut) override {
    const std::vector<Tensor> wholes = ops::fan_out(cut.whole_of(x), cut.axis());
    std::vector<Tensor> y;
    for (std::size_t i = 0; i < x.size(); ++i) {
      y.push_back(ops::sub(x[i], ops::mean(wholes[i], 1, {.keep_dims = true})));
    }
    return y;
  }
  const void* extension(std::string_view id) const noexcept override {
    return id == kLayerSequenceBlocks ? static_cast<const SequenceBlocks*>(this) : nullptr;
  }
};

// x v times the mean of all positions, in each process, with a loss of its own.
class Scaled final : public Layer, public SequenceBlocks {
 public:
  explicit Scaled(Scope scope) : v_(scope.parameter("v", {kDepth, kDepth})) {}
  Tensor fprop(const Tensor& x, FpropContext& context) override {
    const Tensor y = ops::linear(x, v_.value());
    context.aux_losses.set("scaled", ops::mean(ops::mul(y, y)));
    return ops::mul(y, ops::mean(x, 1, {.keep_dims = true}));
  }
  std::vector<Tensor> fprop_blocks(std::span<const Tensor> x, SequenceCut& cut) override {
    return fprop_whole(*this, x, cut);
  }
  const void* extension(std::string_view id) const noexcept override {
    return id == kLayerSequenceBlocks ? static_cast<const SequenceBlocks*>(this) : nullptr;
  }

 private:
  Parameter& v_;
};

enum class Way { whole, blocks, again };

// The results of four layers, of which the first and the last are one, and their gradients.
struct Seen {
  std::vector<float> y, loss, of_x, of_w, of_v;
  Bits bits() const {
    Bits all;
    for (const auto* values : {&y, &loss, &of_x, &of_w, &of_v}) {
      for (const float value : *values) all.push_back(std::bit_cast<std::uint32_t>(value));
    }
    return all;
  }
};

Seen computed(Way way, std::int64_t length, const MeshAxis& axis) {
  const auto device = open_any();
  ParameterStore store(*device, RngKey(3));
  Product product{Scope(store)};
  Centered centered;
  Scaled scaled{Scope(store)};
  store.build();
  GradientSlot slot;
  const Tensor x = make_leaf(values_of(*device, {kBatch, length, kDepth}, 1), slot);
  FpropContext context;
  store.begin_gradients();
  Tape tape;
  Tensor y, own, loss;
  {
    const Tape::Recording recording(tape);
    Layer* const layers[] = {&product, &centered, &scaled, &product};
    if (way == Way::whole) {
      y = x;
      for (Layer* layer : layers) y = layer->fprop(y, context);
    } else {
      SequenceCut cut(context, x, axis);
      std::vector<Tensor> blocks = cut.blocks_of(x);
      for (Layer* layer : layers) {
        blocks = way == Way::again ? remat_blocks(*layer, blocks, cut, {})
                                   : fprop_blocks(*layer, blocks, cut);
      }
      y = cut.whole_of(blocks);
      context.aux_losses = cut.whole().aux_losses;
    }
    own = context.aux_losses.at("scaled");
    loss = ops::add(ops::sum(ops::mul(y, values_of(*device, y.shape(), 9))), ops::mul(own, 3));
  }
  tape.backward(loss);
  return {.y = y.to_host<float>(),
          .loss = own.to_host<float>(),
          .of_x = slot.gradient.to_host<float>(),
          .of_w = store.find("w")->gradient().to_host<float>(),
          .of_v = store.find("v")->gradient().to_host<float>()};
}

void check_near(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).margin(1e-5));
}

}  // namespace

TEST_CASE("blocks have stripes of both ends of a sequence, or neighbors") {
  const auto device = open_any();
  const FpropContext context;
  const auto runs = [&](std::int64_t length, std::int64_t devices) {
    const SequenceCut cut(context, Tensor::zeros(*device, {1, length, 1}), MeshAxis(devices));
    std::vector<std::vector<Run>> all;
    for (std::size_t i = 0; i < cut.count(); ++i) {
      all.emplace_back(cut.runs(i).begin(), cut.runs(i).end());
    }
    return all;
  };
  using All = std::vector<std::vector<Run>>;
  CHECK(runs(8, 1) == All{{{0, 8}}});
  CHECK(runs(8, 2) == All{{{0, 2}, {6, 2}}, {{2, 4}}});
  CHECK(runs(6, 3) == All{{{0, 1}, {5, 1}}, {{1, 1}, {4, 1}}, {{2, 2}}});
  CHECK(runs(6, 2) == All{{{0, 3}}, {{3, 3}}});
}

TEST_CASE("blocks compute what the whole sequence does, in any number of processes") {
  for (const std::int64_t length : {24, 36}) {  // stripes, but neighbors of 36 for 12 devices
    for (const std::int64_t devices : {1, 2, 3, 4, 12}) {
      CAPTURE(length, devices);
      const Seen whole = computed(Way::whole, length, MeshAxis());
      const Seen blocks = computed(Way::blocks, length, MeshAxis(devices));
      check_near(blocks.y, whole.y);
      check_near(blocks.loss, whole.loss);
      check_near(blocks.of_x, whole.of_x);
      check_near(blocks.of_w, whole.of_w);
      check_near(blocks.of_v, whole.of_v);
      CHECK((computed(Way::again, length, MeshAxis(devices)).bits() == blocks.bits()));
      for (const int processes : {2, 4, 12}) {
        const MeshConfig mesh = mesh_of(devices);
        if (!MeshLayout(mesh).can_share(processes)) continue;
        for (const Way way : {Way::blocks, Way::again}) {
          std::mutex mutex;
          std::vector<Bits> found;
          on_ranks(processes, [&](ProcessGroup& group) {
            const Mesh shared(mesh, &group);
            const Seen seen = computed(way, length, shared.axis("seq"));
            const std::scoped_lock lock(mutex);
            found.push_back(seen.bits());
          });
          for (const Bits& bits : found) CHECK((bits == blocks.bits()));
        }
      }
    }
  }
}

TEST_CASE("a block has its part of the context, and a key of its own") {
  const auto device = open_any();
  const auto numbers = [&](const std::vector<std::int32_t>& values, const Shape& shape) {
    return Tensor::from<std::int32_t>(*device, values, shape);
  };
  using Ints = std::vector<std::int32_t>;
  FpropContext context;
  context.key = RngKey(5);
  context.segment_ids = numbers({0, 1, 2, 3, 4, 5, 6, 7}, {1, 8});
  context.task_ids = numbers({4}, {1});
  const Tensor x = Tensor::zeros(*device, {1, 8, 1});
  SequenceCut cut(context, x, MeshAxis(2));
  REQUIRE(cut.count() == 2);
  CHECK(cut.context(0).segment_ids.to_host<std::int32_t>() == Ints{0, 1, 6, 7});
  CHECK(cut.context(0).positions.to_host<std::int32_t>() == Ints{0, 1, 6, 7});
  CHECK(cut.context(1).positions.to_host<std::int32_t>() == Ints{2, 3, 4, 5});
  CHECK(cut.context(1).task_ids.to_host<std::int32_t>() == Ints{4});
  CHECK_FALSE(cut.whole().positions.defined());
  const auto draws = [&](const FpropContext& of) {
    return bits_of(ops::dropout(Tensor::full(*device, {64}, 1), 0.5F, of.key));
  };
  CHECK((draws(cut.context(0)) != draws(cut.context(1))));
  CHECK((draws(cut.context(0)) != draws(context)));
  context.positions = numbers({3, 2, 1, 0, 0, 1, 2, 3}, {1, 8});
  SequenceCut given(context, x, MeshAxis(2));
  CHECK(given.context(0).positions.to_host<std::int32_t>() == Ints{3, 2, 2, 3});
}

TEST_CASE("the gradient of a weight is the sum of the blocks' in the order of the mesh") {
  const auto device = open_any();
  ParameterStore store(*device, RngKey(3));
  Parameter& w = Scope(store).parameter("w", {1}, {.init = {Init::constant, 1}});
  store.build();
  // 1e8 + 1 - 1e8 + 1 of four blocks: 0 by halves, 1 from left to right.
  const Tensor x = Tensor::from<float>(*device, std::vector<float>{1e8F, 1, -1e8F, 1}, {1, 4, 1});
  const FpropContext context;
  store.begin_gradients();
  Tape tape;
  Tensor loss;
  {
    const Tape::Recording recording(tape);
    SequenceCut cut(context, x, MeshAxis(4));
    const std::vector<Tensor> blocks = cut.blocks_of(x);
    std::vector<Tensor> y(4);
    cut.for_each([&](std::size_t i, FpropContext&) { y[i] = ops::mul(blocks[i], w.value()); });
    loss = ops::sum(cut.whole_of(y));
  }
  tape.backward(loss);
  CHECK(w.gradient().item() == 0);
}

TEST_CASE("what blocks of positions refuse") {
  const auto device = open_any();
  ParameterStore store(*device, RngKey(3));
  Product product{Scope(store)};
  Parameter& state = Scope(store).state("state", {1}, 0);
  store.build();
  const FpropContext context;
  const Tensor x = values_of(*device, {kBatch, 4, kDepth}, 1);
  CHECK_THROWS_WITH(SequenceCut(context, x, MeshAxis(3)),
                    Contains("mesh: has 3 devices along seq, which do not divide the 4 positions"));
  SequenceCut cut(context, x, MeshAxis(2));
  const std::vector<Tensor> blocks = cut.blocks_of(x);
  CHECK_THROWS_WITH(cut.for_each([&](std::size_t, FpropContext&) { state.assign(state.value()); }),
                    Contains("the value of 'state' was changed in a block of positions"));
  CHECK_THROWS_WITH(cut.for_each([&](std::size_t, FpropContext& own) {
    own.aux_losses.set("balance", Tensor::full(*device, {}, 1));
  }),
                    Contains("the loss 'balance' of a layer is that of a block"));
  Tape tape;
  const Tape::Recording recording(tape);
  SequenceCut again(context, x, MeshAxis(2));
  CHECK_THROWS_WITH(
      again.for_each([&](std::size_t i, FpropContext& own) { remat(product, blocks[i], own); }),
      Contains("'w' is read in a block of positions by what is computed again"));
}

TEST_CASE("a scope of sequence blocks has no states and no layers that have no blocks") {
  const auto device = open_any();
  const Mesh mesh(mesh_of(2)), one;
  ParameterStore store(*device, RngKey(3)), other(*device, RngKey(3));
  const Scope outside(store, mesh), alone = Scope(other, one).in_sequence_blocks();
  CHECK_FALSE(store.has_sequence_blocks());
  Scope inside = outside.in_sequence_blocks().child("block");
  CHECK(store.has_sequence_blocks());
  CHECK_FALSE(other.has_sequence_blocks());
  CHECK_THROWS_WITH(inside.state("mean", {1}, 0),
                    Contains("mesh: has devices along seq, and a layer that computes blocks of the "
                             "positions would have 'block/mean', which is a state"));
  class Mixed final : public Layer {
    Tensor fprop(const Tensor& x, FpropContext&) override { return x; }
  } const mixed;
  const Centered centered;
  CHECK_THROWS_WITH(expect_sequence_blocks(inside, &mixed, "block/mixed"),
                    Contains("mesh: has 2 devices along seq, and 'block/mixed' cannot compute a "
                             "part of the positions"));
  CHECK_NOTHROW(expect_sequence_blocks(outside, &mixed, "mixed"));
  CHECK_NOTHROW(expect_sequence_blocks(alone, &mixed, "mixed"));
  CHECK_NOTHROW(expect_sequence_blocks(inside, &centered, "block/centered"));
  CHECK_NOTHROW(expect_sequence_blocks(inside, nullptr, "block/none"));
}

}  // namespace sequence_blocks_test
