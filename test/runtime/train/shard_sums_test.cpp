// SPDX-License-Identifier: Apache-2.0
// Metrics and evaluations of a mesh, apart for each shard, against those of the whole batch and by
// hand.
#include "train/shard_sums.h"

#include <catch2/catch.hpp>

#include "evaluation/run_eval.h"
#include "train/shards.h"
#include "train_parts.h"
#include "trivet/error.h"

namespace shard_sums_test {
namespace {

using namespace trivet;
using Catch::Contains;
using Bench = test::TrainerBench;

MeshConfig mesh_of(std::int64_t shards) {
  MeshConfig mesh;
  mesh.ici_mesh_shape = {shards, 1, 1};
  return mesh;
}

ConfigOf<Task> task_of(std::int64_t rows, std::int64_t padding) {
  const Value input = Value::table({{"batch_size", rows}, {"padding", padding}});
  return test::task_config(Value::table({{"batch_size", 4}}), input);
}

std::unique_ptr<Bench> bench_of(std::int64_t shards, const ConfigOf<Task>& task) {
  auto bench =
      std::make_unique<Bench>(test::trainer_config(), task, true, true, 1, mesh_of(shards));
  bench->trainer->initialize();
  return bench;
}

Logs number(const char* name, double value) {
  Logs logs;
  logs.set(name, value);
  return logs;
}

// Sums with logs of a shard and of an update, and a metric by the outputs that it sees.
struct SumsBench {
  explicit SumsBench(ShardRange shards) : parts(test::trainer_config()), range(shards) {
    sums.emplace(*parts.task, shards);
  }
  void add(std::int64_t shard, float y, double log) {
    Tensor output = Tensor::host({1});
    output.mutable_span<float>()[0] = y;
    parts.task->process_metrics(sums->metrics(shard), {}, {{"y", output}});
    sums->add(shard, number("log", log), {});
  }
  Value saved(std::span<const Value> states) const {
    Value state = Value::table();
    sums->save(state, states);
    return state;
  }

  Bench parts;
  ShardRange range;
  std::optional<ShardSums> sums;
};

}  // namespace

TEST_CASE("sums of shards are merged in the order of the mesh, whoever has them") {
  // (1e16 + 1) + 1 is 1e16 in double, and 1e16 + (1 + 1) is not: shard 1 has both ones.
  SumsBench whole(ShardRange::all(2));
  whole.add(0, 1, 1e16);
  whole.add(1, 5, 1);
  whole.add(1, 2, 1);
  const Logs logs = whole.sums->results();
  CHECK(*logs.find("largest") == 5);
  CHECK(*logs.find("log") == (1e16 + 2.0) / 3);
  // From the last shard on this would be 1e16 + 2.
  SumsBench three(ShardRange::all(3));
  three.add(0, 1, 1e16);
  three.add(1, 1, 1);
  three.add(2, 1, 1);
  CHECK(*three.sums->results().find("log") == 1e16 / 3);

  SumsBench first({.first = 0, .count = 1, .total = 2}), second({1, 1, 2});
  first.add(0, 1, 1e16);
  second.add(1, 5, 1);
  second.add(1, 2, 1);
  const std::vector<Value> all = {first.sums->states().front(), second.sums->states().front()};
  CHECK(all == whole.sums->states());
  for (SumsBench* process : {&first, &second}) {
    const Logs merged = process->sums->merged(all);
    CHECK(*merged.find("largest") == 5);
    CHECK(*merged.find("log") == *logs.find("log"));
    CHECK(process->saved(all) == whole.saved(whole.sums->states()));
    CHECK_THROWS_WITH(process->sums->merged(std::span(all).first(1)),
                      Contains("the states of 1 shards are to be merged, and the mesh has 2"));
  }
  CHECK_THROWS_WITH(first.sums->metrics(1),
                    Contains("this process has the shards from 0 to 0, and not 1"));
}

TEST_CASE("the norm of an update counts once, however many shards") {
  SumsBench bench(ShardRange::all(2));
  Logs logs = number("log", 1);
  logs.set("gradient_norm", 8);
  bench.sums->add(0, logs, {.gradient_norm = -1});
  bench.sums->add(1, logs, {.gradient_norm = 4});
  bench.sums->add_update(number("gradient_norm", 4));
  // The first shard's is the task's own.
  CHECK(*bench.sums->results().find("gradient_norm") == 6);
}

TEST_CASE("sums of another number of shards lose nothing") {
  for (const std::int64_t before : {1, 2, 4}) {
    SumsBench old(ShardRange::all(before));
    for (std::int64_t shard = 0; shard < before; ++shard) {
      old.add(shard, static_cast<float>(shard + 1), static_cast<double>(shard + 1));
    }
    old.sums->add_update(number("gradient_norm", 3));
    const Value state = old.saved(old.sums->states());
    CHECK((state.find("shards") == nullptr) == (before == 1));
    CHECK((state.find("metrics") == nullptr) == (before > 1));
    for (const std::int64_t after : {1, 2, 4}) {
      INFO(before << " to " << after);
      SumsBench resumed(ShardRange::all(after));
      resumed.add(0, 100, 100);  // is replaced
      CHECK(resumed.sums->restore(state));
      CHECK(*resumed.sums->results().find("largest") == static_cast<double>(before));
      CHECK(*resumed.sums->results().find("log") == static_cast<double>(before + 1) / 2);
      CHECK(*resumed.sums->results().find("gradient_norm") == 3);
      if (after == before) CHECK(resumed.saved(resumed.sums->states()) == state);
    }
    // Only the process of the first shard takes sums of another number.
    SumsBench other({.first = 3, .count = 1, .total = 8});
    CHECK(other.sums->restore(state));
    CHECK(other.sums->states().front().find("logs")->items().empty());
  }
}

TEST_CASE("sums are put back as they were before a step") {
  SumsBench bench(ShardRange::all(2));
  bench.add(0, 1, 1);
  bench.sums->add_update(number("gradient_norm", 3));
  const Value before = bench.saved(bench.sums->states());
  const Value snapshot = bench.sums->snapshot();
  bench.add(1, 9, 9);
  bench.sums->add_update(number("gradient_norm", 9));
  bench.sums->put_back(snapshot);
  CHECK(bench.saved(bench.sums->states()) == before);
}

TEST_CASE("training metrics on a mesh cover all shards, also after a checkpoint in between") {
  const auto whole = bench_of(2, task_of(4, 0));
  whole->trainer->train(4);
  const Logs logs = whole->trainer->train_logs();
  CHECK(*logs.find("batches") == 1);
  const auto one = bench_of(1, task_of(4, 0));
  one->trainer->train(4);
  // Of the largest x of the data, the last row of batch 3, which the second shard has.
  CHECK(*logs.find("largest") == Approx(*one->trainer->train_logs().find("largest")));

  const auto first = bench_of(2, task_of(4, 0)), second = bench_of(2, task_of(4, 0));
  first->trainer->train(3);
  second->trainer->restore(first->save());
  second->trainer->train(4);
  const Logs resumed = second->trainer->train_logs();
  CHECK(std::vector(resumed.begin(), resumed.end()) == std::vector(logs.begin(), logs.end()));
  CHECK(whole->trainer->train_logs().empty());
}

TEST_CASE("an evaluation on a mesh counts every example once") {
  struct Case {
    std::int64_t rows, padding;
    double parts;    // that the shards run, of three batches
    double largest;  // y = x / 2 of the real rows
  };
  // 4 + 4 + 4; the last two shards of the third batch have padding alone; 6 rows are not cut.
  // The last rows have x = 2 + 7 / 4, 2 + 3 / 4 (as row 7 of the second), 2 + 5 / 4, 2 + 1 / 4.
  for (const Case& made :
       {Case{8, 0, 12, 1.875}, Case{8, 4, 10, 1.375}, Case{6, 0, 3, 1.625}, Case{2, 0, 3, 1.125}}) {
    INFO(made.rows << " rows, " << made.padding << " of padding");
    const auto whole = bench_of(1, task_of(made.rows, made.padding));
    const auto shards = bench_of(4, task_of(made.rows, made.padding));
    const Logs expected = whole->trainer->evaluate(-1), logs = shards->trainer->evaluate(-1);
    CHECK(*logs.find("validation_loss") == Approx(*expected.find("validation_loss")).epsilon(1e-6));
    CHECK(*logs.find("largest") == made.largest);
    CHECK(*logs.find("eval_batches") == made.parts);
    CHECK(*logs.find("reduced_at") == 0);
    CHECK(shards->observer.eval_examples == whole->observer.eval_examples);
    // Again from the start.
    CHECK(*shards->trainer->evaluate(-1).find("eval_batches") == made.parts);
  }
}

TEST_CASE("processes that share the shards of an evaluation have the numbers of one") {
  for (const std::int64_t rows : {8, 6}) {
    const auto bench = bench_of(4, task_of(rows, 3));
    Task& task = *bench->task;
    Device& device = *bench->device;
    ParameterStore store(device, RngKey(1));
    Scope root(store);
    const auto model = task.build_model(task.config().model, root);
    store.build();
    const auto run = [&](RunEval& part) {
      InputContext context{.phase = Phase::evaluation, .name = "task.eval_input"};
      const auto input = task.build_inputs(task.config().eval_input, context);
      part.begin();
      while (const auto batch = input->get_next()) {
        device.begin_step();
        FpropContext own;
        part.add(*batch, {*model, store, own, 0, {}});
        device.end_step();
      }
    };
    RunEval whole(task, ShardRange::all(4)), first(task, {0, 1, 4}), second(task, {1, 3, 4});
    for (RunEval* part : {&whole, &first, &second}) run(*part);
    std::vector<Value> all = first.states();
    for (Value& state : second.states()) all.push_back(std::move(state));
    CHECK(all == whole.states());
    const Logs merged = first.merged(all, 7), expected = whole.result(7);
    CHECK(std::vector(merged.begin(), merged.end()) ==
          std::vector(expected.begin(), expected.end()));
  }
}

TEST_CASE("logs of a task that cannot be merged end an evaluation on a mesh with its first batch") {
  const ConfigOf<Task> task = test::task_with("unmerged_logs", Value(true));
  CHECK(bench_of(1, task)->trainer->evaluate(-1).find("eval_batches") != nullptr);
  const auto bench = bench_of(2, task);
  CHECK_THROWS_WITH(
      bench->trainer->evaluate(-1),
      Contains("it has no save_state; the mesh makes 2 shards, whose logs are merged") &&
          Contains("remove [mesh], or override save_state and merge"));
  CHECK(bench->observer.eval_examples == 0);
}

}  // namespace shard_sums_test
