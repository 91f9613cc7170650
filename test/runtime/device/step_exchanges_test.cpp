// SPDX-License-Identifier: Apache-2.0
// The count of what processes exchange in a step, against what they do exchange.
#include "device/step_exchanges.h"

#include <algorithm>
#include <mutex>

#include <catch2/catch.hpp>

#include "device/part_traffic.h"
#include "device/process_memory.h"
#include "runtime/train/train_parts.h"
#include "support/thread_group.h"
#include "tiny/backend.h"
#include "train/learner_setup.h"
#include "trivet/backend/mesh_layout.h"
#include "trivet/layer/scope.h"
#include "trivet/layer/weight_share.h"
#include "trivet/tensor/axis_exchange.h"
#include "trivet/tensor/mesh_shards.h"
#include "trivet/tensor/meta_device.h"

namespace step_exchanges_test {
namespace {

using namespace trivet;

MeshConfig mesh_of(std::vector<std::int64_t> ici, std::int64_t processes,
                   std::vector<std::int64_t> dcn = {}) {
  MeshConfig mesh;
  mesh.dcn_mesh_shape = std::move(dcn);
  mesh.ici_mesh_shape = std::move(ici);
  mesh.processes = processes;
  return mesh;
}

struct Sent {
  std::int64_t calls = 0;
  std::uint64_t bytes = 0;
  std::uint64_t between_bytes = 0;  // to ranks of other slices
};

// Counts what a rank sends to others, also in parts of the group.
class CountingGroup final : public ProcessGroup {
 public:
  // `slices` has that of each rank.
  CountingGroup(ProcessGroup& inner, std::vector<std::int64_t> slices, Sent& sent)
      : inner_(inner), slices_(std::move(slices)), sent_(sent) {}
  CountingGroup(std::unique_ptr<ProcessGroup> part, std::vector<std::int64_t> slices, Sent& sent)
      : part_(std::move(part)), inner_(*part_), slices_(std::move(slices)), sent_(sent) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    ++sent_.calls;
    for (int other = 0; other < size(); ++other) count(mine.size(), other);
    inner_.all_gather(mine, all);
  }
  void all_to_all(std::span<const std::byte> mine, std::span<const std::uint64_t> to,
                  std::span<std::byte> theirs, std::span<const std::uint64_t> from) override {
    ++sent_.calls;
    for (int other = 0; other < size(); ++other) count(to[static_cast<std::size_t>(other)], other);
    inner_.all_to_all(mine, to, theirs, from);
  }
  void broadcast(std::span<std::byte> data, int root) override {
    ++sent_.calls;  // none is expected, but for the first step
    inner_.broadcast(data, root);
  }
  void send(std::vector<std::byte> data, int to) override {
    ++sent_.calls;
    count(data.size(), to);
    inner_.send(std::move(data), to);
  }
  void receive(std::span<std::byte> data, int from) override { inner_.receive(data, from); }
  bool progress() override { return inner_.progress(); }
  std::unique_ptr<ProcessGroup> split(int color) override {
    std::vector<int> colors(slices_.size());
    inner_.all_gather(std::as_bytes(std::span(&color, 1)),
                      std::as_writable_bytes(std::span(colors)));
    std::vector<std::int64_t> slices;
    for (std::size_t i = 0; i < colors.size(); ++i) {
      if (colors[i] == color) slices.push_back(slices_[i]);
    }
    return std::make_unique<CountingGroup>(inner_.split(color), std::move(slices), sent_);
  }
  void reset() { sent_ = {}; }

 private:
  void count(std::uint64_t bytes, int other) {
    if (other == rank()) return;
    sent_.bytes += bytes;
    const auto slice_of = [&](int rank) { return slices_[static_cast<std::size_t>(rank)]; };
    if (slice_of(other) != slice_of(rank())) sent_.between_bytes += bytes;
  }

  std::unique_ptr<ProcessGroup> part_;
  ProcessGroup& inner_;
  const std::vector<std::int64_t> slices_;
  Sent& sent_;
};

// Of the process that sends most.
template <class Body>
Sent most_sent(const MeshConfig& mesh, const Body& body) {
  const MeshLayout layout(mesh);
  std::vector<std::int64_t> slices;
  for (std::int64_t rank = 0; rank < mesh.processes; ++rank) {
    slices.push_back(layout.slices_of(rank, mesh.processes).first);
  }
  std::mutex mutex;
  Sent most;
  test::on_ranks(static_cast<int>(mesh.processes), [&](ProcessGroup& ranks) {
    Sent sent;
    CountingGroup group(ranks, slices, sent);
    body(group);
    const std::scoped_lock lock(mutex);
    most.calls = std::max(most.calls, sent.calls);
    most.bytes = std::max(most.bytes, sent.bytes);
    most.between_bytes = std::max(most.between_bytes, sent.between_bytes);
  });
  return most;
}

Exchange find(const std::vector<Exchange>& exchanges, std::string_view name) {
  const auto found = std::ranges::find(exchanges, name, &Exchange::name);
  REQUIRE(found != exchanges.end());
  return *found;
}

Sent total(const std::vector<Exchange>& exchanges) {
  Sent sum;
  for (const Exchange& one : exchanges) {
    sum.calls += one.calls;
    sum.bytes += one.bytes;
    sum.between_bytes += one.between_bytes;
  }
  return sum;
}

constexpr std::int64_t kBatch = 8;

// The second step of the default trainer: the first may do more.
template <class Before>
void train(Device& device, const TrainerConfig& config, const MeshConfig& mesh,
           ProcessGroup* processes, std::int64_t process_shards, const Value& model,
           const Value& input, const Before& before_second) {
  TaskContext task_context{device, {}};
  Value fields = test::task_config(input).fields();
  fields.set("model", model);
  const std::unique_ptr<Task> task = make(ConfigOf<Task>("parts/Task", fields), task_context);
  test::TestObserver observer;
  TrainerContext context{.task = *task,
                         .device = device,
                         .key = RngKey(1),
                         .train = true,
                         .eval = false,
                         .observer = observer,
                         .mesh = mesh,
                         .processes = processes,
                         .process_shards = process_shards};
  DefaultTrainer trainer(config, context);
  trainer.initialize();
  trainer.train(1);
  before_second();
  trainer.train(2);
}

// What processes send in one step.
Sent step_of_trainer(const MeshConfig& mesh, const TrainerConfig& config, const Value& model,
                     std::int64_t hosts) {
  test::register_parts();
  return most_sent(mesh, [&](CountingGroup& group) {
    const std::unique_ptr<Device> device = test::open_tiny();
    const Value input = Value::table({{"batch_size", kBatch / hosts},
                                      {"num_infeed_hosts", hosts},
                                      {"infeed_host_index", group.rank() % hosts}});
    train(*device, config, mesh, &group, 0, model, input, [&] { group.reset(); });
  });
}

// What the layers of a process exchange in the step of a shard, without any other process.
std::vector<AxisExchange> blocks_on_paper(const MeshConfig& mesh, const TrainerConfig& config,
                                          const Value& model, bool has_parts) {
  test::register_parts();
  const std::unique_ptr<Device> meta = open_meta_device(tiny::get(), {.key = "tiny/Backend"});
  const Value input = Value::table({{"batch_size", kBatch / MeshLayout(mesh).shards()}});
  train(*meta, config, mesh_of_layers(mesh), nullptr, shards_with_parts(mesh, has_parts), model,
        input, [&] { take_axis_exchanges(*meta); });
  return take_axis_exchanges(*meta);
}

bool sums_units(const MeshConfig& mesh, const TrainerConfig& config) {
  return has_gradients_in_parts(config, MeshLayout(mesh).shards_of(0, mesh.processes).count);
}

// Of variables as those of the model.
WeightShare share_of_model(const MeshConfig& mesh, std::int64_t hidden, bool has_parts) {
  const std::unique_ptr<Device> device = test::open_tiny();
  ParameterStore store(*device, RngKey(1));
  Scope scope(store);
  scope.parameter("w", {}, {});
  scope.parameter("b", {}, {});
  scope.parameter("up", {1, hidden}, {});
  scope.parameter("down", {hidden, 1}, {});
  store.build(MeshShards(mesh, nullptr), ParameterStore::Pieces::variables);
  return has_parts ? weight_share(store, mesh) : update_share(store, mesh);
}

}  // namespace

TEST_CASE("the numbers that a step exchanges are those of the trainer") {
  // "w", "b" and the state "seen", each of one element. A variable has 16 in its block.
  const ExchangedTensors tensors{.gradients = 32, .states = 16, .variables = 3};
  for (const std::int64_t processes : {2, 4}) {
    for (const std::int64_t shards : {4, 8}) {
      for (const std::int64_t hosts : {std::int64_t{1}, processes}) {
        INFO(processes << " processes, " << shards << " shards, " << hosts << " hosts");
        const MeshConfig mesh = mesh_of({shards, 1, 1}, processes);
        ExchangedTensors expected = tensors;
        expected.reads_own_rows = hosts > 1;
        TrainerConfig config = test::trainer_config();
        const Sent counted = total(step_exchanges(mesh, expected));
        const Value model = Value::table({{"type", "parts/Model"}, {"counts", true}});
        const Sent sent = step_of_trainer(mesh, config, model, hosts);
        // Before a step the program exchanges a record.
        CHECK(counted.calls == sent.calls + 1);
        const auto others = static_cast<std::uint64_t>(processes - 1);
        CHECK(counted.bytes == sent.bytes + kStepRecordBytes * others);
      }
    }
  }
}

TEST_CASE("a step of processes that share blocks or weights sends what is counted without them") {
  // Of mdl, replica and data.
  MeshConfig blocks_first = mesh_of({2, 2, 1}, 2);
  blocks_first.mesh_axis_names = {"mdl", "replica", "data"};
  const MeshConfig meshes[] = {mesh_of({1, 1, 4}, 2), mesh_of({1, 1, 4}, 4), mesh_of({2, 1, 2}, 2),
                               mesh_of({2, 1, 2}, 4), mesh_of({2, 1, 4}, 4), blocks_first,
                               // Weights over data, where there are enough of them.
                               mesh_of({1, 4, 1}, 2), mesh_of({1, 4, 1}, 4), mesh_of({1, 2, 2}, 4),
                               // In two slices.
                               mesh_of({2, 1, 1}, 4, {2, 1, 1}), mesh_of({1, 2, 1}, 4, {1, 2, 1}),
                               mesh_of({1, 2, 2}, 8, {2, 1, 1}), mesh_of({1, 2, 1}, 2, {1, 2, 1})};
  // "w", "b", "up" and "down", of which the first two have 16 elements in the block: 64 n in all,
  // so that all processes send equal parts. Only the larger block is shared.
  for (const std::int64_t hidden : {48, 16'400}) {
    const Value model =
        Value::table({{"type", "parts/Model"}, {"counts", true}, {"hidden", hidden}});
    for (const MeshConfig& mesh : meshes) {
      for (const std::int64_t parts : {1, 2}) {
        TrainerConfig config = test::trainer_config();
        config.gradient_accumulation = parts;
        config.gradient_clip.global_norm = 1;
        CAPTURE(hidden, mesh.shape(), mesh.processes, parts);
        const bool is_large = hidden > 48;
        const bool has_parts = is_large && mesh.extent("data") > 1;
        const ExchangedTensors tensors{.gradients = 32 + 2 * hidden,
                                       .states = 16,
                                       .variables = 5,
                                       .shares_updates = is_large,
                                       .needs_norm = true,
                                       .blocks = blocks_on_paper(mesh, config, model, is_large),
                                       .units = has_parts ? 1 : 0,
                                       .units_remain = true,
                                       .sums_units = sums_units(mesh, config)};
        CHECK(tensors.blocks.empty() == (processes_of_shard(mesh) == 1 && !has_parts));
        const Sent counted = total(step_exchanges(mesh, tensors));
        const Sent sent = step_of_trainer(mesh, config, model, 1);
        CHECK(counted.calls == sent.calls + 1);
        CHECK(counted.bytes ==
              sent.bytes + kStepRecordBytes * static_cast<std::uint64_t>(mesh.processes - 1));
        const std::int64_t in_slice = mesh.processes / MeshLayout(mesh).slices();
        CHECK(counted.between_bytes ==
              sent.between_bytes +
                  kStepRecordBytes * static_cast<std::uint64_t>(mesh.processes - in_slice));
      }
    }
  }
}

TEST_CASE("a step of processes that own whole variables sends what is counted without them",
          "[slow]") {
  const MeshConfig meshes[] = {mesh_of({4, 1, 1}, 2), mesh_of({4, 1, 1}, 4), mesh_of({2, 1, 2}, 4),
                               mesh_of({1, 4, 1}, 2), mesh_of({1, 4, 1}, 4), mesh_of({1, 2, 2}, 4)};
  // The last one is exchanged in several segments, and "up" and "down" are units of their own.
  for (const std::int64_t hidden : {16'400, 600'000}) {
    const Value model =
        Value::table({{"type", "parts/Model"}, {"counts", true}, {"hidden", hidden}});
    for (const MeshConfig& mesh : meshes) {
      for (const bool each_part : {false, true}) {
        TrainerConfig config = test::trainer_config();
        config.gradient_clip = {.per_variable_norm = 1, .each_part = each_part};
        CAPTURE(hidden, mesh.shape(), mesh.processes, each_part);
        const bool has_parts = mesh.extent("data") > 1;
        const WeightShare share = share_of_model(mesh, hidden, has_parts);
        CHECK(share.units == (has_parts && hidden > 16'400 ? 2 : 1));
        const ExchangedTensors tensors{.gradients = 32 + 2 * hidden,
                                       .states = 16,
                                       .variables = 5,
                                       .shares_updates = true,
                                       .needs_norm = true,
                                       .clips_variables = !each_part,
                                       .blocks = blocks_on_paper(mesh, config, model, true),
                                       .units = has_parts ? share.units : 0,
                                       .units_remain = true,
                                       .sums_units = sums_units(mesh, config),
                                       .parts = share.parts};
        const Sent counted = total(step_exchanges(mesh, tensors));
        const Sent sent = step_of_trainer(mesh, config, model, 1);
        CHECK(counted.calls == sent.calls + 1);
        // Which process sends most is another one for gradients than for weights.
        const auto others = static_cast<std::uint64_t>(mesh.processes - 1);
        CHECK(counted.bytes >= sent.bytes + kStepRecordBytes * others);
        CHECK(counted.bytes < 2 * sent.bytes);
      }
    }
  }
}

TEST_CASE("the parts of a block that a step exchanges are those of its shards") {
  const MeshConfig meshes[] = {mesh_of({8, 1, 1}, 2), mesh_of({8, 1, 1}, 8), mesh_of({6, 1, 1}, 3),
                               mesh_of({6, 1, 1}, 6), mesh_of({2, 1, 2}, 4), mesh_of({4, 1, 2}, 4),
                               mesh_of({3, 1, 4}, 6),
                               // In several slices.
                               mesh_of({4, 1, 1}, 8, {2, 1, 1}), mesh_of({1, 2, 1}, 8, {4, 1, 1}),
                               mesh_of({2, 1, 2}, 8, {2, 1, 1}), mesh_of({3, 1, 1}, 6, {2, 1, 1}),
                               mesh_of({2, 1, 1}, 2, {2, 1, 1}), mesh_of({1, 2, 1}, 2, {4, 1, 1})};
  // The last two take several exchanges.
  for (const std::int64_t elements : {16'384, 16'385, 70'001, 600'001, 1'048'576}) {
    for (const MeshConfig& mesh : meshes) {
      CAPTURE(elements, mesh.shape(), mesh.processes);
      if (!MeshShards::is_cut(elements)) {
        const Sent sent = most_sent(mesh, [&](CountingGroup& group) {
          const auto device = test::open_tiny();
          Tensor block = Tensor::zeros(*device, {elements});
          MeshShards(mesh, &group).sum(block);
        });
        const auto all = step_exchanges(mesh, {.gradients = elements});
        CHECK(find(all, "gradients").bytes == sent.bytes);
        CHECK(find(all, "gradients").between_bytes == sent.between_bytes);
        CHECK(find(all, "gradients").calls == sent.calls);
        continue;
      }
      const auto all = step_exchanges(mesh, {.gradients = elements, .shares_updates = true});
      const Sent gradients = most_sent(mesh, [&](CountingGroup& group) {
        const auto device = test::open_tiny();
        Tensor block = Tensor::zeros(*device, {elements});
        const MeshShards shards(mesh, &group);
        Tensor part = Tensor::zeros(*device, {shards.own_part(elements).size()});
        shards.sum_to_part(block, shards.parts_of(elements), part);
      });
      const Sent weights = most_sent(mesh, [&](CountingGroup& group) {
        const auto device = test::open_tiny();
        Tensor block = Tensor::zeros(*device, {elements});
        const MeshShards shards(mesh, &group);
        shards.gather_parts(block, shards.parts_of(elements));
      });
      CHECK(find(all, "gradients").bytes == gradients.bytes);
      CHECK(find(all, "gradients").between_bytes == gradients.between_bytes);
      CHECK(find(all, "weights").bytes == weights.bytes);
      CHECK(find(all, "weights").between_bytes == weights.between_bytes);
      CHECK(find(all, "gradients").calls == gradients.calls);
      CHECK(find(all, "weights").calls == weights.calls);
      // Whole updates have the sums of gradients in each process.
      const Sent sums = most_sent(mesh, [&](CountingGroup& group) {
        const auto device = test::open_tiny();
        Tensor block = Tensor::zeros(*device, {elements});
        MeshShards(mesh, &group).sum(block);
      });
      const auto whole = step_exchanges(mesh, {.gradients = elements});
      CHECK(find(whole, "gradients").calls == sums.calls);
      CHECK(find(whole, "gradients").bytes == sums.bytes);
      CHECK(find(whole, "gradients").between_bytes == sums.between_bytes);
    }
  }
}

TEST_CASE("whole variables that a step exchanges are those of its processes") {
  // Some are exchanged by even parts.
  const std::vector<std::int64_t> cuts[] = {{0, 20'000, 16, 0},
                                            {600'000, 16, 32, 900'000},
                                            {0, 0, 0, 2'100'000},
                                            {300'000, 300'000, 300'000, 300'000},
                                            {0, 0, 0, 0, 0, 90'000, 0, 0},
                                            {16, 700'000, 0, 0, 900'000, 16, 0, 32}};
  for (const std::vector<std::int64_t>& sizes : cuts) {
    const auto processes = static_cast<std::int64_t>(sizes.size());
    for (const MeshConfig& mesh :
         {mesh_of({processes, 1, 1}, processes), mesh_of({processes / 2, 1, 2}, processes),
          mesh_of({processes / 2, 1, 1}, processes, {2, 1, 1})}) {
      CAPTURE(sizes, mesh.shape());
      std::vector<MeshShards::Range> parts;
      std::int64_t all = 0;
      for (const std::int64_t size : sizes) {
        parts.push_back({all, all + size});
        all += size;
      }
      const auto counted =
          step_exchanges(mesh, {.gradients = all, .shares_updates = true, .parts = {sizes}});
      const auto sent_by = [&](const auto& exchange) {
        return most_sent(mesh, [&](CountingGroup& group) {
          const auto device = test::open_tiny();
          Tensor block = Tensor::zeros(*device, {all});
          exchange(MeshShards(mesh, &group), block, sizes[static_cast<std::size_t>(group.rank())]);
        });
      };
      const Sent gradients = sent_by([&](const MeshShards& shards, Tensor& block, auto own) {
        Tensor part = Tensor::zeros(block.device(), {own});
        shards.sum_to_part(block, parts, part);
      });
      const Sent weights = sent_by([&](const MeshShards& shards, Tensor& block, auto) {
        shards.gather_parts(block, parts);
      });
      CHECK(find(counted, "gradients").bytes == gradients.bytes);
      CHECK(find(counted, "gradients").between_bytes == gradients.between_bytes);
      CHECK(find(counted, "gradients").calls == gradients.calls);
      CHECK(find(counted, "weights").bytes == weights.bytes);
      CHECK(find(counted, "weights").between_bytes == weights.between_bytes);
      CHECK(find(counted, "weights").calls == weights.calls);
    }
  }
}

TEST_CASE("one process exchanges nothing") {
  CHECK(step_exchanges(mesh_of({4, 1, 1}, 1), {.gradients = 100}).empty());
  const std::vector<Exchange> none;
  CHECK(seconds_of(none, {.within = {.latency = 1}, .between = {.latency = 1}}) == 0);
}

TEST_CASE("a short gather doubles its messages, a long one goes around the ring") {
  CHECK(gather_messages(8, 2) == 1);
  CHECK(gather_messages(8, 5) == 3);
  CHECK(gather_messages(8, 8) == 3);
  CHECK(gather_messages(128 << 10, 3) == 2);
  CHECK(gather_messages(128 << 10, 4) == 3);
  std::vector<Exchange> exchanges = {
      {.name = "gradients", .calls = 1, .messages = 7, .bytes = 1000},
      {.name = "numbers", .calls = 2, .messages = 3, .bytes = 10}};
  const Networks networks{.within = {.latency = 0.5, .bandwidth = 100},
                          .between = {.latency = 2, .bandwidth = 10}};
  CHECK(seconds_of(exchanges, networks) == Approx(5 + 10.1));
  exchanges[0].between_messages = 3;
  exchanges[0].between_bytes = 200;
  CHECK(seconds_of(exchanges, networks) == Approx(3.5 + 8.1 + 6 + 20));
}

}  // namespace step_exchanges_test
