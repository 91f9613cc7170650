// SPDX-License-Identifier: Apache-2.0
// The count of what processes exchange in a step, against what they do exchange.
#include "device/step_exchanges.h"

#include <algorithm>
#include <mutex>

#include <catch2/catch.hpp>

#include "runtime/train/train_parts.h"
#include "support/thread_group.h"
#include "trivet/tensor/mesh_shards.h"

namespace step_exchanges_test {
namespace {

using namespace trivet;

MeshConfig mesh_of(std::vector<std::int64_t> ici, std::int64_t processes) {
  MeshConfig mesh;
  mesh.ici_mesh_shape = std::move(ici);
  mesh.processes = processes;
  return mesh;
}

struct Sent {
  std::int64_t calls = 0;
  std::uint64_t bytes = 0;
};

// Counts what a rank sends to others.
class CountingGroup final : public ProcessGroup {
 public:
  explicit CountingGroup(ProcessGroup& inner) : inner_(inner) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    ++sent.calls;
    sent.bytes += mine.size() * static_cast<std::size_t>(size() - 1);
    inner_.all_gather(mine, all);
  }
  void all_to_all(std::span<const std::byte> mine, std::span<const std::uint64_t> to,
                  std::span<std::byte> theirs, std::span<const std::uint64_t> from) override {
    ++sent.calls;
    sent.bytes += mine.size() - to[static_cast<std::size_t>(rank())];
    inner_.all_to_all(mine, to, theirs, from);
  }
  void broadcast(std::span<std::byte>, int) override { FAIL("a step broadcasts nothing"); }
  std::unique_ptr<ProcessGroup> split(int) override {
    FAIL("processes that share no blocks are one group");
    return nullptr;
  }

  Sent sent;

 private:
  ProcessGroup& inner_;
};

// Of the process that sends most.
template <class Body>
Sent most_sent(std::int64_t processes, const Body& body) {
  std::mutex mutex;
  Sent most;
  test::on_ranks(static_cast<int>(processes), [&](ProcessGroup& ranks) {
    CountingGroup group(ranks);
    body(group);
    const std::scoped_lock lock(mutex);
    most.calls = std::max(most.calls, group.sent.calls);
    most.bytes = std::max(most.bytes, group.sent.bytes);
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
  }
  return sum;
}

// Of one step of the default trainer.
Sent step_of_trainer(const MeshConfig& mesh, const TrainerConfig& config, const char* field,
                     std::int64_t hosts) {
  test::register_parts();
  return most_sent(mesh.processes, [&](CountingGroup& group) {
    const std::unique_ptr<Device> device = test::open_tiny();
    TaskContext task_context{*device, {}};
    Value fields = test::task_config(Value::table({{"batch_size", 8 / hosts},
                                                   {"num_infeed_hosts", hosts},
                                                   {"infeed_host_index", group.rank() % hosts}}))
                       .fields();
    fields.set("model", Value::table({{"type", "parts/Model"}, {field, true}}));
    const std::unique_ptr<Task> task = make(ConfigOf<Task>("parts/Task", fields), task_context);
    test::TestObserver observer;
    TrainerContext context{.task = *task,
                           .device = *device,
                           .key = RngKey(1),
                           .train = true,
                           .eval = false,
                           .observer = observer,
                           .mesh = mesh,
                           .processes = &group};
    DefaultTrainer trainer(config, context);
    trainer.initialize();
    trainer.train(1);  // the first step may do more
    group.sent = {};
    trainer.train(2);
  });
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
        const Sent sent = step_of_trainer(mesh, config, "counts", hosts);
        // Before a step the program exchanges a record.
        CHECK(counted.calls == sent.calls + 1);
        const auto others = static_cast<std::uint64_t>(processes - 1);
        CHECK(counted.bytes == sent.bytes + kStepRecordBytes * others);
      }
    }
  }
}

TEST_CASE("the parts of a block that a step exchanges are those of its shards") {
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{8, 2}, {8, 8}, {6, 3}, {6, 6}};
  // The last two take several exchanges.
  for (const std::int64_t elements : {16'384, 16'385, 70'001, 600'001, 1'048'576}) {
    for (const auto& [shards, processes] : sizes) {
      INFO(elements << " elements, " << shards << " shards, " << processes << " processes");
      const MeshConfig mesh = mesh_of({shards, 1, 1}, processes);
      if (!MeshShards::is_cut(elements)) {
        const Sent sent = most_sent(mesh.processes, [&](CountingGroup& group) {
          const auto device = test::open_tiny();
          Tensor block = Tensor::zeros(*device, {elements});
          MeshShards(mesh, &group).sum(block);
        });
        const auto all = step_exchanges(mesh, {.gradients = elements});
        CHECK(find(all, "gradients").bytes == sent.bytes);
        CHECK(find(all, "gradients").calls == sent.calls);
        continue;
      }
      const auto all = step_exchanges(mesh, {.gradients = elements, .shares_updates = true});
      const Sent gradients = most_sent(mesh.processes, [&](CountingGroup& group) {
        const auto device = test::open_tiny();
        Tensor block = Tensor::zeros(*device, {elements});
        MeshShards(mesh, &group).sum_part(block, block);
      });
      const Sent weights = most_sent(mesh.processes, [&](CountingGroup& group) {
        const auto device = test::open_tiny();
        Tensor block = Tensor::zeros(*device, {elements});
        MeshShards(mesh, &group).gather_parts(block);
      });
      CHECK(find(all, "gradients").bytes == gradients.bytes);
      CHECK(find(all, "weights").bytes == weights.bytes);
      CHECK(find(all, "gradients").calls == gradients.calls);
      CHECK(find(all, "weights").calls == weights.calls);
      // Whole updates have the sums of gradients in each process.
      const Sent sums = most_sent(mesh.processes, [&](CountingGroup& group) {
        const auto device = test::open_tiny();
        Tensor block = Tensor::zeros(*device, {elements});
        MeshShards(mesh, &group).sum(block);
      });
      const auto whole = step_exchanges(mesh, {.gradients = elements});
      CHECK(find(whole, "gradients").calls == sums.calls);
      // The process that sends most may be another one in each exchange.
      const auto most = static_cast<double>(sums.bytes);
      CHECK(static_cast<double>(find(whole, "gradients").bytes) == Approx(most).epsilon(1e-3));
    }
  }
}

TEST_CASE("one process exchanges nothing") {
  CHECK(step_exchanges(mesh_of({4, 1, 1}, 1), {.gradients = 100}).empty());
  CHECK(seconds_of({}, {.latency = 1, .bandwidth = 1}) == 0);
}

TEST_CASE("a short gather doubles its messages, a long one goes around the ring") {
  CHECK(gather_messages(8, 2) == 1);
  CHECK(gather_messages(8, 5) == 3);
  CHECK(gather_messages(8, 8) == 3);
  CHECK(gather_messages(128 << 10, 3) == 2);
  CHECK(gather_messages(128 << 10, 4) == 3);
  const std::vector<Exchange> exchanges = {
      {.name = "gradients", .calls = 1, .messages = 7, .bytes = 1000},
      {.name = "numbers", .calls = 2, .messages = 3, .bytes = 10}};
  CHECK(seconds_of(exchanges, {.latency = 0.5, .bandwidth = 100}) == Approx(5 + 10.1));
}

}  // namespace step_exchanges_test
