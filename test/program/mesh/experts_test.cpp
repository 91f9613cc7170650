// SPDX-License-Identifier: Apache-2.0
// Runs whose processes compute with some experts each, for the shards of all: neither the number of
// processes nor what moves between them changes a byte.
#include <string>

#include <catch2/catch.hpp>

#include "program/mesh/mesh_runs.h"
#include "program/run/run_fixture.h"
#include "support/paths.h"

using namespace trivet::test;
using Catch::Contains;

namespace experts_test {
namespace {

// The second of four blocks has experts.
std::string experts(const std::string& count) {
  return "task.model.stacked_transformer_tpl.moe_layers=[1] "
         "task.model.stacked_transformer_tpl.moe_layer_tpl.type=nn/MoeFeedForward "
         "task.model.stacked_transformer_tpl.moe_layer_tpl.num_experts=" +
         count +
         " task.train_input.batch_size=4 trainer.validation_interval=2 "
         "trainer.validation_steps=1 runtime.threads=1 trainer.gradient_clip.global_norm=0.5 "
         "trainer.ema.decay=0.9 task.model.dropout=0.1 ";
}

}  // namespace

TEST_CASE("experts in several processes have the bytes of one process", "[slow]") {
  const std::string plain = experts("8");
  const std::string cases[] = {
      "mesh.ici_mesh_shape=[1,4,1]",
      "mesh.ici_mesh_shape=[2,2,1] "
      "task.model.stacked_transformer_tpl.checkpoint_policy=save_nothing",
      // Two blocks of hidden_dims in each process.
      "mesh.ici_mesh_shape=[1,4,2]",
      R"(mesh.mesh_axis_names='["replica","data_expert","mdl"]' mesh.ici_mesh_shape=[1,4,1] )"
      R"(task.model.sharding.w_emh='["data_expert",-1,"mdl?"]')",
      "mesh.ici_mesh_shape=[1,4,1] "
      "task.model.stacked_transformer_tpl.moe_layer_tpl.gating_func=dense_top2",
      "mesh.ici_mesh_shape=[1,4,1] "
      "task.model.stacked_transformer_tpl.moe_layer_tpl.use_gated_activation=true "
      "trainer.optimizer.type=optim/Adafactor"};
  for (const std::string& words : cases) {
    CAPTURE(words);
    const MeshRuns runs(plain + words);
    const std::string one = runs.results("one", "", 3);
    CHECK((runs.results("four", "--processes 4", 3) == one));
    if (&words == cases) CHECK((runs.results("two", "--processes 2", 3) == one));
  }
}

// A batch of one product may have other bits than one of several.
TEST_CASE("a single expert for each process has the bytes of one process", "[slow]") {
  const MeshRuns runs(experts("4") + "mesh.ici_mesh_shape=[1,4,1]");
  CHECK((runs.results("four", "--processes 4", 3) == runs.results("one", "", 3)));
}

TEST_CASE("the summary says what experts send, and that their weights stay where they are") {
  const TempDir dir;
  const auto summary_of = [&](const std::string& words) {
    const ShellResult seen = trivet::test::trivet(
        "summary " + config("lm/local.toml").string() + " --json " + experts("8") +
        "mesh.ici_mesh_shape=[1,4,1] mesh.processes=4 " + words);
    INFO(seen.output);
    REQUIRE(seen.exit_code == 0);
    return seen.output;
  };
  const std::string apart = summary_of("");
  CHECK_THAT(apart, Contains("\"experts\""));
  const std::string gathered = summary_of(R"(task.model.sharding.w_emh='[-1,-1,"mdl?"]')");
  CHECK_THAT(gathered, !Contains("\"experts\""));
}

TEST_CASE("the summary says why each process has all experts") {
  const auto reason = [&](const std::string& count, const std::string& shape,
                          const std::string& words) {
    const ShellResult seen =
        trivet::test::trivet("summary " + config("lm/local.toml").string() + " --json " +
                             experts(count) + "mesh.ici_mesh_shape=[" + shape + "] " + words);
    INFO(seen.output);
    REQUIRE(seen.exit_code == 0);
    return nlohmann::json::parse(seen.output).value("experts_are_whole", "");
  };
  CHECK(reason("8", "1,4,1", "mesh.processes=4").empty());
  CHECK(reason("8", "1,4,1", R"(mesh.processes=4 task.model.sharding.w_emh='[-1,-1,"mdl?"]')")
            .empty());
  CHECK(reason("8", "1,4,1", "") == "there is one process");
  CHECK(reason("8", "1,4,1", "mesh.processes=2") ==
        "each process has 2 shards, and needs to have one");
  CHECK(reason("8", "1,4,2", "mesh.processes=8") == "2 processes share a shard");
  CHECK(reason("8", "4,1,1", "mesh.processes=4") == "the processes have whole weights");
  CHECK(reason("8", "1,2,1", "mesh.processes=2 trainer.gradient_accumulation=2") ==
        "trainer.gradient_accumulation is 2");
  CHECK(reason("8", "1,4,1",
               "mesh.processes=4 trainer.summary_interval=1 "
               "trainer.summary_histograms=true") ==
        "trainer.gradient_clip.each_part or summary_histograms needs whole gradients");
  CHECK(reason("8", "1,4,1", "mesh.processes=4 trainer.optimizer.type=optim/Lamb") ==
        "the optimizer updates whole variables");
  CHECK(reason("6", "1,4,1", "mesh.processes=4") == "4 processes do not divide 6");
  CHECK(reason("4", "1,4,1", "mesh.processes=4") ==
        "4 processes would have 1 of 4 each, and a process needs 2");
}

}  // namespace experts_test
