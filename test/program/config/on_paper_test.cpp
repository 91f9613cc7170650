// SPDX-License-Identifier: Apache-2.0
// `trivet summary --on-paper`: predicted steps.
#include <cmath>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/paths.h"

namespace on_paper_test {

using namespace trivet::test;
using Catch::Contains;

namespace {

constexpr const char* kNetwork = " --on-paper --network 5us,10GB/s --device-flops 50GFLOP/s ";

std::string lm(const std::string& name) {
  return quoted(config("lm/" + name + ".toml").string()) + " ";
}

ShellResult summary(const std::string& words) {
  return trivet::test::trivet("summary " + words);
}

nlohmann::json figures(const std::string& words) {
  const ShellResult result = summary("--json " + words);
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  return nlohmann::json::parse(result.output);
}

nlohmann::json rows(const std::string& words) {
  return figures(words).at("on_paper").at("rows");
}

}  // namespace

TEST_CASE("a predicted step is its FLOPs and its exchanges") {
  const nlohmann::json seen =
      figures(lm("local") + "mesh.ici_mesh_shape=[4,1,1] mesh.processes=4" + kNetwork);
  const nlohmann::json& paper = seen.at("on_paper");
  CHECK(paper.at("device_flops") == 50e9);
  CHECK(paper.at("device_flops_from") == "--device-flops");
  const nlohmann::json& row = paper.at("rows").at(0);
  // Four processes share the batch.
  CHECK(row.at("compute_seconds").get<double>() ==
        Approx(seen.at("tokens").at("step_flops").get<double>() / 4 / 50e9));
  double seconds = 0, bytes = 0;
  for (const auto& [name, one] : seen.at("process_sends").items()) {
    INFO(name);
    seconds += one.at("messages").get<double>() * 5e-6 + one.at("bytes").get<double>() / 1e10;
    bytes += one.at("bytes").get<double>();
  }
  CHECK(row.at("exposed_seconds").get<double>() == Approx(seconds));
  CHECK(row.at("sent_bytes").get<double>() == bytes);
  CHECK(row.at("step_seconds").get<double>() ==
        Approx(row.at("compute_seconds").get<double>() + seconds));
  double memory = 0;
  for (const auto& [name, part] : seen.at("process_memory").items()) memory += part.get<double>();
  CHECK(row.at("memory_bytes").get<double>() == memory);
  // 124,672 weights in four equal parts, of which a process sends three, twice.
  CHECK(seen.at("process_sends").at("gradients").at("bytes") == 3 * 124672);
  CHECK(seen.at("process_sends").at("weights").at("bytes") == 3 * 124672);
}

TEST_CASE("a predicted step computes while it exchanges units of weights and gradients") {
  const auto predict = [](const std::string& overlap, const std::string& flops) {
    return figures(lm("local") +
                   "mesh.ici_mesh_shape=[1,4,1] mesh.processes=4 task.train_input.batch_size=4 "
                   "task.model.model_dims=256 task.model.num_layers=5 --on-paper "
                   "--network 1us,1MB/s --device-flops " +
                   flops + " mesh.overlap=" + overlap);
  };
  const nlohmann::json slow = predict("2", "1kFLOP/s");
  const nlohmann::json row = slow.at("on_paper").at("rows").at(0);
  const double all = row.at("exchange_seconds").get<double>();
  const auto seconds_of = [&](const char* name) {
    const nlohmann::json& one = slow.at("process_sends").at(name);
    return one.at("messages").get<double>() * 1e-6 + one.at("bytes").get<double>() / 1e6;
  };
  // An exchange sums the gradients of a unit. The first unit of weights and the last one of
  // gradients are exposed.
  const auto units = slow.at("process_sends").at("gradients").at("calls").get<double>();
  const double hidden = (seconds_of("weights") + seconds_of("gradients")) * (1 - 1 / units);
  CHECK(row.at("exposed_seconds").get<double>() == Approx(all - hidden));
  CHECK(row.at("step_seconds").get<double>() ==
        Approx(row.at("compute_seconds").get<double>() + all - hidden));
  // A computation of a few milliseconds hides as much.
  const nlohmann::json fast = predict("2", "1TFLOP/s").at("on_paper").at("rows").at(0);
  CHECK(fast.at("exposed_seconds").get<double>() ==
        Approx(all - fast.at("compute_seconds").get<double>()));
  const nlohmann::json none = predict("0", "1kFLOP/s");
  CHECK(none.at("on_paper").at("rows").at(0).at("exposed_seconds").get<double>() == Approx(all));
  // Units under way take memory: two of weights, and what two of gradients receive.
  CHECK(none.at("process_memory").at("gathered") < slow.at("process_memory").at("gathered"));
  CHECK(none.at("process_memory").at("exchange") < slow.at("process_memory").at("exchange"));
}

TEST_CASE("a mesh of other sizes is that of a run with its devices") {
  const nlohmann::json scaled =
      rows(lm("local") + "task.train_input.batch_size=64 mesh.ici_mesh_shape=[2,1,2]" + kNetwork);
  REQUIRE(scaled.size() == 5);
  CHECK(scaled.at(0).at("devices") == 4);
  // mdl keeps two devices, and replica has the others: at most a process for each of 4 shards.
  CHECK(scaled.at(1).at("devices") == 8);
  CHECK(scaled.at(1).at("processes") == 4);
  CHECK(scaled.at(2).at("processes") == 32);
  nlohmann::json eight = rows(lm("local") +
                              "task.train_input.batch_size=64 mesh.ici_mesh_shape=[4,1,2] "
                              "mesh.processes=4" +
                              kNetwork);
  CHECK(scaled.at(1) == eight.at(0));
  // 64 examples do not make 256 shards.
  CHECK_THAT(scaled.at(3).at("refused").get<std::string>(),
             Contains("256 shards, which do not divide its 64 examples"));
  CHECK_FALSE(scaled.at(3).contains("step_seconds"));
}

TEST_CASE("a batch for each device grows with the mesh", "[slow]") {
  const nlohmann::json seen = rows(lm("c4_16b_32") + "--on-paper --network 5us,10GB/s");
  REQUIRE(seen.size() == 5);
  for (const auto& row : seen) {
    INFO(row);
    REQUIRE_FALSE(row.contains("refused"));
    // The config's own processes have two shards each, those of other meshes one.
    const double shards = row.at("devices") == 32 ? 2 : 1;
    CHECK(row.at("compute_seconds").get<double>() ==
          Approx(shards * seen.at(1).at("compute_seconds").get<double>()));
  }
  CHECK(seen.at(4).at("devices") == 4096);
  CHECK(seen.at(4).at("processes") == 2048);
  // 4 bytes of nearly each of 16.5 billion weights for gradients, and twice for weights, which are
  // gathered for each direction. Those that may still be whole after the first are not.
  CHECK(seen.at(4).at("sent_bytes").get<double>() == Approx(12 * 16506101504.0).epsilon(0.01));
}

TEST_CASE("a predicted pipeline waits for its stages") {
  const std::string stages =
      "mesh.ici_mesh_shape=[2,1,1] 'mesh.mesh_axis_names=[\"stage\",\"data\",\"mdl\"]' "
      "task.model.stacked_transformer_tpl.pipeline.num_microbatches=4 ";
  const auto compute_seconds = [&](const char* processes) {
    const nlohmann::json seen = rows(lm("local") + stages + processes + kNetwork);
    return seen.at(0).at("compute_seconds").get<double>();
  };
  // Each process has one of two layers, and computes the logits of 8 x 128 tokens. Its layer waits
  // for one of five micro-batches' time.
  const double all = compute_seconds("mesh.processes=1") * 50e9;
  const double outside = 6.0 * 8 * 128 * 64 * 256;
  CHECK(compute_seconds("mesh.processes=2") ==
        Approx((outside + (all - outside) / 2 * 5 / 4) / 50e9));
}

TEST_CASE("processes of one stage send each other its weights") {
  const auto bytes = [](const std::string& mesh) {
    const nlohmann::json seen = figures(
        lm("local") + mesh + " 'mesh.mesh_axis_names=[\"stage\",\"replica\",\"data\",\"mdl\"]' ");
    return seen.at("process_sends").at("weights").at("bytes").get<double>();
  };
  // Of the weights outside of the two blocks each of P processes sends its part to all others. A
  // block has 12 d^2 + 13 d weights, of which two processes have a half.
  constexpr double kBlock = 12 * 64 * 64 + 13 * 64, kOutside = 124672 - 2 * kBlock;
  CHECK(bytes("mesh.ici_mesh_shape=[2,1,1,1] mesh.processes=2") ==
        Approx(4 * kOutside / 2).epsilon(0.01));
  CHECK(bytes("mesh.ici_mesh_shape=[2,1,2,1] mesh.processes=4") ==
        Approx(4 * (kOutside * 3 / 4 + kBlock / 2)).epsilon(0.01));
}

TEST_CASE("sizes of meshes are multiples of the devices along mdl and stage") {
  const nlohmann::json seen = rows(lm("local") +
                                   "task.train_input.batch_size=384 mesh.ici_mesh_shape=[2,1,3] "
                                   "'mesh.mesh_axis_names=[\"stage\",\"data\",\"mdl\"]' "
                                   "task.model.num_heads=6 task.model.model_dims=96" +
                                   std::string(kNetwork));
  REQUIRE(seen.size() == 5);
  CHECK(seen.at(0).at("devices") == 6);
  CHECK(seen.at(1).at("devices") == 12);
  CHECK(seen.at(2).at("devices") == 66);
  CHECK(seen.at(3).at("devices") == 516);
  CHECK(seen.at(4).at("devices") == 4098);
  CHECK(seen.at(1).at("step_seconds") > 0);
  // 384 examples do not make 11 shards.
  CHECK(seen.at(2).contains("refused"));
}

TEST_CASE("processes that share blocks send sums of activations and gradients of their weights") {
  const std::string words = lm("local") + "mesh.ici_mesh_shape=[1,1,4] mesh.processes=4 ";
  const nlohmann::json seen = figures(words + kNetwork);
  const nlohmann::json& sends = seen.at("process_sends");
  // Of 8 x 128 tokens of 64 dimensions: each of four processes sends three quarters in parts, and
  // three times its own sum. Attention and MLP of two layers have one in each direction, the loss
  // has one for them. Its logits of the targets come in two chunks of rows, whole.
  constexpr std::int64_t kRows = 8 * 128, kActivation = kRows * 64 * 4, kSums = 9;
  CHECK(sends.at("block_sums").at("bytes") == kSums * 2 * kActivation * 3 / 4 + 3 * kRows * 4);
  CHECK(sends.at("block_sums").at("calls") == kSums * 2 + 2);
  // Three times a quarter of each split weight: products, biases of queries, keys, values and the
  // first product of the MLP, and the embedding. The loss has a largest logit and a sum of each
  // row.
  constexpr std::int64_t kOfLayer = 4 * 64 * 64 + 3 * 64 + 2 * 64 * 256 + 256;
  CHECK(sends.at("block_gathers").at("bytes") == 3 * (2 * kOfLayer + 256 * 64 + 2 * kRows * 4));
  CHECK(sends.at("block_gathers").at("calls") == 2 * 10 + 1 + 2);
  CHECK_FALSE(sends.contains("gradients"));
  const nlohmann::json& row = seen.at("on_paper").at("rows").at(0);
  CHECK(row.at("processes") == 4);
  CHECK(row.at("compute_seconds").get<double>() ==
        Approx(seen.at("tokens").at("step_flops").get<double>() / 4 / 50e9));
  // Other meshes have as many processes for a shard.
  const nlohmann::json eight =
      rows(lm("local") + "mesh.ici_mesh_shape=[1,2,4] mesh.processes=8" + kNetwork);
  CHECK(seen.at("on_paper").at("rows").at(1) == eight.at(0));
  CHECK_THAT(summary(words + kNetwork).output,
             Contains("4 processes share the devices along mdl, on meshes of other sizes, too") &&
                 Contains("block sums 3.6 MB in 20 calls, block gathers 371 kB in 23 calls"));
}

TEST_CASE("wrong options of a prediction are refused") {
  const auto fails = [&](const std::string& words, const std::string& text) {
    const ShellResult result = summary(lm("local") + words);
    INFO(result.output);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains(text));
  };
  fails("--network 5us,10GB/s", "--network goes with --on-paper");
  fails("--device-flops 1GFLOP/s", "--device-flops goes with --on-paper");
  fails("--on-paper", "--on-paper needs --network");
  fails("--on-paper --network 5us", "takes LATENCY,BANDWIDTH");
  fails("--on-paper --network 5us,10GB/s --device-flops 5", "--device-flops takes FLOP per second");
  fails("--on-paper --network 5us,10GB/s", "the peak of the device is unknown");
  fails("mode=eval --on-paper --network 5us,10GB/s --device-flops 1GFLOP/s",
        "predicts the steps of a training");
  CHECK_THAT(summary(lm("local") + "runtime.peak_flops=1e9 --on-paper --network 5us,10GB/s").output,
             Contains("1 GFLOP/s in each process (the peak of a device)"));
}

TEST_CASE("a summary tells what each of several processes sends") {
  const std::string mesh = "mesh.ici_mesh_shape=[4,1,1] ";
  CHECK_THAT(summary(lm("local") + mesh + "mesh.processes=2").output,
             Contains("sends   ") &&
                 Contains("in a step from each of 2 processes to the others: gradients 249 kB in "
                          "1 call, weights 249 kB in 1 call, numbers "));
  CHECK_THAT(summary(lm("local") + mesh).output, !Contains("sends"));
}

}  // namespace on_paper_test
