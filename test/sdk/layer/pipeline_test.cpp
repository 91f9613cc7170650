// SPDX-License-Identifier: Apache-2.0
// Pipelines against the layers in turn, and over processes; threads act as these.
#include "trivet/layer/pipeline.h"

#include <bit>
#include <cmath>
#include <mutex>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "sdk/tensor/tensor_bits.h"
#include "support/plugins.h"
#include "support/thread_group.h"
#include "trivet/backend/mesh.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tape.h"
#include "trivet/tensor/axis_exchange.h"
#include "trivet/tensor/mesh.h"
#include "trivet/tensor/meta_device.h"

namespace pipeline_test {
namespace {

using namespace trivet;
using trivet::test::Bits;
using trivet::test::bits_of;
using trivet::test::on_ranks;

constexpr std::int64_t kBatch = 8, kDepth = 5;

Tensor values_of(Device& device, const Shape& shape, int seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    values.push_back(static_cast<float>(std::sin(static_cast<double>(i * 31 + seed * 7 + 1))));
  }
  return Tensor::from(device, std::span<const float>(values), shape);
}

MeshConfig mesh_of(std::int64_t stages, std::int64_t processes) {
  MeshConfig mesh;
  mesh.mesh_axis_names = {"stage"};
  mesh.ici_mesh_shape = {stages};
  mesh.processes = processes;
  return mesh;
}

enum class Input { learned, given };

// tanh(x w) for each part.
struct Net {
  Net(Device& device, std::int64_t parts, Input input)
      : parts(static_cast<std::size_t>(parts)),
        slots(this->parts),
        x(input == Input::learned ? make_leaf(values_of(device, {kBatch, kDepth}, 0), x_slot)
                                  : values_of(device, {kBatch, kDepth}, 0)) {
    for (std::size_t i = 0; i < this->parts; ++i) {
      const Tensor w = values_of(device, {kDepth, kDepth}, static_cast<int>(i) + 1);
      weights.push_back(make_leaf(w, slots[i]));
    }
  }
  Tensor part(const Tensor& rows, std::size_t index) const {
    return ops::tanh(ops::linear(rows, weights[index]));
  }
  // Of a loss that is a weighted sum of what `fn` gives.
  template <class Fn>
  Tensor backward(const Fn& fn) {
    Tape tape;
    Tensor y, loss;
    {
      const Tape::Recording recording(tape);
      y = fn();
      loss = ops::sum(ops::mul(y, values_of(y.device(), y.shape(), 99)));
    }
    tape.backward(loss);
    return y;
  }
  Tensor run(const MeshAxis& stages, const PipelineShape& shape) {
    return pipeline(x, stages, shape, [this](const Tensor& rows, std::int64_t index, std::int64_t) {
      return part(rows, static_cast<std::size_t>(index));
    });
  }

  std::size_t parts;
  GradientSlot x_slot;
  std::vector<GradientSlot> slots;
  std::vector<Tensor> weights;
  Tensor x;
};

void check_near(const Tensor& a, const Tensor& b) {
  const std::vector<float> x = a.to_host<float>(), y = b.to_host<float>();
  REQUIRE(x.size() == y.size());
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i] == Approx(y[i]).margin(1e-5));
}

// The result, the gradient of x if there is one, and those of the weights.
struct Seen {
  Bits result, of_x;
  std::vector<Bits> of_weights;
};

Seen seen(const Net& net, const Tensor& result) {
  Seen out{.result = bits_of(result), .of_x = {}, .of_weights = {}};
  if (net.x_slot.written) out.of_x = bits_of(net.x_slot.gradient);
  for (const GradientSlot& slot : net.slots) {
    out.of_weights.push_back(slot.written ? bits_of(slot.gradient) : Bits());
  }
  return out;
}

}  // namespace

TEST_CASE("a pipeline has the results and gradients of its layers in turn") {
  const auto device = trivet::test::open_any();
  const auto [stages, microbatches, repeat] =
      GENERATE(table<std::int64_t, std::int64_t, std::int64_t>(
          {{1, 1, 1}, {2, 1, 1}, {2, 4, 1}, {4, 8, 1}, {2, 2, 3}, {4, 2, 2}}));
  CAPTURE(stages, microbatches, repeat);
  Net net(*device, stages * repeat, Input::learned),
      plain(*device, stages * repeat, Input::learned);
  const PipelineShape shape{.num_microbatches = microbatches, .circular_repeat = repeat};
  const Tensor y = net.backward([&] { return net.run(MeshAxis(stages), shape); });
  const Tensor expected = plain.backward([&] {
    Tensor rows = plain.x;
    for (std::size_t i = 0; i < plain.parts; ++i) rows = plain.part(rows, i);
    return rows;
  });
  check_near(y, expected);
  check_near(net.x_slot.gradient, plain.x_slot.gradient);
  for (std::size_t i = 0; i < net.parts; ++i) {
    check_near(net.slots[i].gradient, plain.slots[i].gradient);
  }
}

TEST_CASE("processes that share the stages of a pipeline have the bits of one") {
  const auto device = trivet::test::open_any();  // opens the backend on this thread
  const Input input = GENERATE(Input::learned, Input::given);
  const auto [stages, microbatches, repeat] =
      GENERATE(table<std::int64_t, std::int64_t, std::int64_t>(
          {{2, 1, 1}, {2, 4, 1}, {4, 8, 1}, {4, 2, 2}, {6, 4, 1}}));
  CAPTURE(stages, microbatches, repeat);
  const PipelineShape shape{.num_microbatches = microbatches, .circular_repeat = repeat};
  Net whole(*device, stages * repeat, input);
  const Seen expected =
      seen(whole, whole.backward([&] { return whole.run(MeshAxis(stages), shape); }));
  CHECK(expected.of_x.empty() == (input == Input::given));
  for (const int processes : {2, 3, 4}) {
    if (stages % processes != 0) continue;
    CAPTURE(processes);
    std::vector<Seen> all(static_cast<std::size_t>(processes));
    on_ranks(processes, [&](ProcessGroup& group) {
      const auto own_device = trivet::test::open_any();
      const Mesh mesh(mesh_of(stages, processes), &group);
      Net net(*own_device, stages * repeat, input);
      const Tensor y = net.backward([&] { return net.run(mesh.axis("stage"), shape); });
      all[static_cast<std::size_t>(group.rank())] = seen(net, y);
    });
    const std::int64_t own = stages / processes;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      CAPTURE(rank);
      CHECK((all[rank].result == expected.result));
      CHECK((all[rank].of_x == expected.of_x));
      for (std::size_t i = 0; i < whole.parts; ++i) {
        CAPTURE(i);
        const bool is_own =
            static_cast<std::int64_t>(i) % stages / own == static_cast<std::int64_t>(rank);
        CHECK((all[rank].of_weights[i] == (is_own ? expected.of_weights[i] : Bits())));
      }
    }
  }
}

TEST_CASE("a pipeline off the tape, and one whose layers do not use their input") {
  const auto device = trivet::test::open_any();
  Net whole(*device, 4, Input::learned);
  const PipelineShape shape{.num_microbatches = 2};
  const Bits expected = bits_of(whole.run(MeshAxis(4), shape));
  std::vector<Bits> all(2);
  std::vector<Bits> of_x(2), of_last(2);
  on_ranks(2, [&](ProcessGroup& group) {
    const auto own_device = trivet::test::open_any();
    const Mesh mesh(mesh_of(4, 2), &group);
    const auto rank = static_cast<std::size_t>(group.rank());
    Net net(*own_device, 4, Input::learned);
    all[rank] = bits_of(net.run(mesh.axis("stage"), shape));
    // Nothing flows to what is before the third part.
    net.backward([&] {
      return pipeline(net.x, mesh.axis("stage"), shape,
                      [&](const Tensor& rows, std::int64_t index, std::int64_t) {
                        return index == 2 ? ops::slice(net.weights[2], 0, 0, rows.dim(0))
                                          : net.part(rows, static_cast<std::size_t>(index));
                      });
    });
    of_x[rank] = bits_of(net.x_slot.gradient);
    if (net.slots[3].written) of_last[rank] = bits_of(net.slots[3].gradient);
  });
  CHECK((all[0] == expected));
  CHECK((all[1] == expected));
  for (const Bits& bits : of_x) CHECK((bits == Bits(kBatch * kDepth, 0)));
  CHECK(of_last[0].empty());
  CHECK_FALSE(of_last[1].empty());
}

namespace {

// The losses of the first and the third part, and a gradient of theirs alone.
struct Balance {
  std::vector<std::pair<std::string, Bits>> losses;
  std::vector<Bits> of_weights;
};

Balance balance_of(Net& net, const MeshAxis& stages, const PipelineShape& shape) {
  std::vector<NestedMap> own(static_cast<std::size_t>(shape.num_microbatches));
  NestedMap losses;
  Tape tape;
  Tensor loss;
  {
    const Tape::Recording recording(tape);
    const Tensor y =
        pipeline(net.x, stages, shape, [&](const Tensor& rows, std::int64_t index, std::int64_t m) {
          Tensor h = net.part(rows, static_cast<std::size_t>(index));
          if (index % 2 == 0) {
            own[static_cast<std::size_t>(m)].set("part_" + std::to_string(index),
                                                 ops::mean(ops::mul(h, h)));
          }
          return h;
        });
    losses = pipeline_losses(own, stages, y.device());
    loss = ops::sum(ops::mul(y, 0.5F));
    float weight = 1;
    for (const auto& [name, each] : losses) loss = ops::add(loss, ops::mul(each, weight++));
  }
  tape.backward(loss);
  Balance found;
  for (const auto& [name, each] : losses) found.losses.emplace_back(name, bits_of(each));
  for (const GradientSlot& slot : net.slots) {
    found.of_weights.push_back(slot.written ? bits_of(slot.gradient) : Bits());
  }
  return found;
}

}  // namespace

TEST_CASE("auxiliary losses of a pipeline are the means of its micro-batches, in all processes") {
  const auto device = trivet::test::open_any();
  const auto [stages, repeat] = GENERATE(table<std::int64_t, std::int64_t>({{4, 1}, {2, 2}}));
  CAPTURE(stages, repeat);
  const PipelineShape shape{.num_microbatches = 4, .circular_repeat = repeat};
  Net whole(*device, stages * repeat, Input::learned);
  const Balance expected = balance_of(whole, MeshAxis(stages), shape);
  REQUIRE(expected.losses.size() == 2);
  CHECK(expected.losses[0].first == "part_0");

  // The mean of micro-batches of equal size is that of all rows.
  Net plain(*device, stages * repeat, Input::learned);
  plain.backward([&] {
    Tensor rows = plain.x, loss;
    for (std::size_t i = 0; i < plain.parts; ++i) {
      rows = plain.part(rows, i);
      if (i % 2 != 0) continue;
      const Tensor each = ops::mean(ops::mul(rows, rows));
      CHECK(std::bit_cast<float>(expected.losses[i / 2].second.front()) == Approx(each.item()));
      loss = loss.defined() ? ops::add(loss, ops::mul(each, 2)) : each;
    }
    const Tensor all = ops::add(ops::sum(ops::mul(rows, 0.5F)), loss);
    return ops::div(all, values_of(*device, {}, 99));  // backward() multiplies by it
  });
  for (std::size_t i = 0; i < plain.parts; ++i) {
    check_near(whole.slots[i].gradient, plain.slots[i].gradient);
  }

  for (const int processes : {2, 4}) {
    if (stages % processes != 0) continue;
    std::vector<Balance> all(static_cast<std::size_t>(processes));
    on_ranks(processes, [&](ProcessGroup& group) {
      const auto own_device = trivet::test::open_any();
      const Mesh mesh(mesh_of(stages, processes), &group);
      Net net(*own_device, stages * repeat, Input::learned);
      all[static_cast<std::size_t>(group.rank())] = balance_of(net, mesh.axis("stage"), shape);
    });
    for (const Balance& found : all) CHECK((found.losses == expected.losses));
    for (std::size_t i = 0; i < whole.parts; ++i) {
      const auto stage = static_cast<std::int64_t>(i) % stages;
      const auto owner = static_cast<std::size_t>(stage / (stages / processes));
      CHECK((all[owner].of_weights[i] == expected.of_weights[i]));
    }
  }
}

TEST_CASE("what auxiliary losses of a pipeline refuse") {
  const auto device = trivet::test::open_any();
  const std::vector<NestedMap> wide{{{"wide", Tensor::zeros(*device, {2})}}};
  CHECK_THROWS_WITH(pipeline_losses(wide, MeshAxis(2), *device),
                    Catch::Contains("a scalar f32 as the loss 'wide', got [2]"));
  CHECK(pipeline_losses(std::vector<NestedMap>(3), MeshAxis(2), *device).empty());
  std::vector<std::string> errors(2);
  on_ranks(2, [&](ProcessGroup& group) {
    const auto own_device = trivet::test::open_any();
    const Mesh mesh(mesh_of(2, 2), &group);
    const std::vector<NestedMap> own{{{"balance", Tensor::scalar(*own_device, 1)}}};
    try {
      pipeline_losses(own, mesh.axis("stage"), *own_device);
    } catch (const Error& error) {
      errors[static_cast<std::size_t>(group.rank())] = error.what();
    }
  });
  for (const std::string& error : errors) {
    CHECK_THAT(error,
               Catch::Contains("two layers of a pipeline have the auxiliary loss 'balance'"));
  }
}

TEST_CASE("a meta device counts what the first process of a pipeline sends") {
  const auto device = open_meta_device(trivet::test::any_backend());
  const Mesh mesh = Mesh::of_first_process(mesh_of(4, 2));
  Net net(*device, 4, Input::learned);
  net.backward([&] { return net.run(mesh.axis("stage"), {.num_microbatches = 4}); });
  CHECK(net.slots[1].written);
  CHECK_FALSE(net.slots[2].written);
  using Kind = AxisExchange::Kind;
  const std::uint64_t rows = kBatch / 4 * kDepth * sizeof(float);
  // Four micro-batches forward, and the gradient of the input to all.
  CHECK(take_axis_exchanges(*device) ==
        std::vector<AxisExchange>{{Kind::send, rows, 4}, {Kind::broadcast, 4 * rows, 1}});
}

TEST_CASE("what a pipeline refuses") {
  const auto device = trivet::test::open_any();
  Net net(*device, 2, Input::learned);
  CHECK_THROWS_WITH(net.run(MeshAxis(2), {.num_microbatches = 3}),
                    Catch::Contains("a batch of a multiple of 3 examples"));
  CHECK_THROWS_WITH(net.run(MeshAxis(2), {.num_microbatches = 0}),
                    Catch::Contains("multiple of 0"));
  CHECK_THROWS_WITH(
      pipeline(net.x, MeshAxis(2), {},
               [](const Tensor& rows, std::int64_t, std::int64_t) { return ops::sum(rows); }),
      Catch::Contains("from each part"));
  CHECK_THROWS_WITH(net.run(Mesh::of_first_process(mesh_of(2, 2)).axis("stage"), {}),
                    Catch::Contains("the processes that have the others"));
  CHECK(PipelineShape{.num_microbatches = 6, .circular_repeat = 2}.idle_share(4) ==
        Approx(3.0 / 15));
}

}  // namespace pipeline_test
