// SPDX-License-Identifier: Apache-2.0
// Runs on meshes with devices along stage: pipelines have the bytes of one process, and the losses
// of a run without stages.
#include <string>

#include <catch2/catch.hpp>

#include "program/mesh/mesh_runs.h"
#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "support/paths.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace stages_test {
namespace {

constexpr const char* kAxes = "\"mesh.mesh_axis_names=['stage','replica','data','mdl']\" ";
constexpr const char* kRun =
    "mode=train trainer.validation_interval=0 runtime.threads=1 "
    "trainer.gradient_clip.global_norm=0.5 trainer.ema.decay=0.9 ";
const std::string kPipeline = "task.model.stacked_transformer_tpl.pipeline.";

std::string layers(int count) {
  return " task.model.num_layers=" + std::to_string(count) + " ";
}

}  // namespace

TEST_CASE("pipelines have the bytes of one process", "[slow]") {
  const std::string dropout = "task.model.dropout=0.1 ", axes = dropout + kAxes;
  const SharedRun of = GENERATE_COPY(
      SharedRun{axes + "mesh.ici_mesh_shape=[2,1,1,1]" + layers(2), {"2"}},
      SharedRun{
          axes + "mesh.ici_mesh_shape=[4,1,1,1]" + layers(8) + kPipeline + "circular_repeat=2",
          {"2", "4"}},
      SharedRun{axes + "mesh.ici_mesh_shape=[2,1,2,1]" + layers(4) + kPipeline +
                    "microbatch_size=1 trainer.gradient_accumulation=2 "
                    "task.model.stacked_transformer_tpl.checkpoint_policy=save_nothing",
                {"2", "4"}},
      SharedRun{axes + "mesh.ici_mesh_shape=[2,1,2,2]" + layers(2), {"2", "4", "8"}},
      SharedRun{axes + "mesh.ici_mesh_shape=[2,1,1,1] mesh.dcn_mesh_shape=[2,2,1,1]" + layers(4) +
                    "trainer.optimizer.type=optim/Lamb trainer.gradient_accumulation=2 "
                    "trainer.gradient_clip.each_part=true " +
                    kPipeline + "microbatch_size=1",
                {"2", "8"}},
      SharedRun{dropout + "\"mesh.mesh_axis_names=['data','stage']\" mesh.ici_mesh_shape=[2,3]" +
                    layers(3) + kPipeline + "num_microbatches=4",
                {"2", "6"}});
  check_same_as_one(of, kRun);
}

namespace {

// Of four blocks, the first and the third have experts.
std::string experts(const std::string& fields) {
  const std::string stack = "task.model.stacked_transformer_tpl.";
  std::string words = layers(4) + stack + "moe_layers=[0,2] " + stack +
                      "moe_layer_tpl.type=nn/MoeFeedForward " + stack +
                      "moe_layer_tpl.num_experts=4 ";
  if (!fields.empty()) words += stack + "moe_layer_tpl." + fields + " ";
  return words;
}

}  // namespace

TEST_CASE("pipelines with experts have the bytes of one process", "[slow]") {
  const std::string axes = std::string("task.model.dropout=0.1 ") + kAxes;
  const SharedRun of = GENERATE_COPY(
      SharedRun{axes + "mesh.ici_mesh_shape=[2,1,1,1]" + experts(""), {"2"}},
      // The losses of a process are of blocks that are not neighbors.
      SharedRun{axes + "mesh.ici_mesh_shape=[2,1,1,2]" + experts("second_expert_policy=sampling") +
                    kPipeline + "circular_repeat=2",
                {"2", "4"}},
      SharedRun{axes + "mesh.ici_mesh_shape=[2,1,2,1]" + experts("use_gated_activation=true") +
                    "trainer.gradient_accumulation=2 "
                    "task.model.stacked_transformer_tpl.checkpoint_policy=save_nothing",
                {"2", "4"}},
      SharedRun{axes + "mesh.ici_mesh_shape=[4,2,1,1]" + experts("num_groups=2") +
                    "trainer.optimizer.type=optim/Adafactor",
                {"2", "8"}});
  check_same_as_one(of, kRun);
}

// The auxiliary loss is about 1 for each block with experts. That of a micro-batch is not that of
// the batch.
TEST_CASE("a pipeline with experts has the losses of a run that accumulates its micro-batches",
          "[slow]") {
  const MeshRuns runs(kRun + experts("expert_capacity_factor=4"));
  runs.train("parts", "trainer.gradient_accumulation=4", 5);
  const double parts = last_loss(runs.workdir("parts"));
  CHECK(parts > 6);
  const std::string stages = std::string(kAxes) + kPipeline + "num_microbatches=4 ";
  for (const char* words :
       {"mesh.ici_mesh_shape=[2,1,1,1]", "mesh.ici_mesh_shape=[4,1,1,1] --processes 4"}) {
    CAPTURE(words);
    const std::string name = std::to_string(std::string(words).size());
    runs.train(name, stages + words, 5);
    CHECK(last_loss(runs.workdir(name)) == Approx(parts).epsilon(1e-5));
  }
}

TEST_CASE("stages change the rounding of a run, not its losses", "[slow]") {
  const MeshRuns runs(kRun);
  runs.train("plain", layers(4), 20);
  runs.train("parts", layers(4) + "trainer.gradient_accumulation=4", 20);
  const double plain = last_loss(runs.workdir("plain"));
  CHECK(last_loss(runs.workdir("parts")) == Approx(plain).epsilon(1e-4));
  for (const char* repeat : {"1", "2"}) {
    for (const char* stages : {"2", "4"}) {
      if (std::string(repeat) == "2" && std::string(stages) == "4") continue;
      CAPTURE(stages, repeat);
      const std::string name = std::string(stages) + "_" + repeat;
      runs.train(name,
                 kAxes + layers(4) + "mesh.ici_mesh_shape=[" + stages + ",1,1,1] " + kPipeline +
                     "num_microbatches=4 " + kPipeline + "circular_repeat=" + repeat,
                 20);
      CHECK(last_loss(runs.workdir(name)) == Approx(plain).epsilon(1e-4));
    }
  }
}

TEST_CASE("a run with stages evaluates, and continues with other processes and another mesh",
          "[slow]") {
  const std::string blocks = GENERATE(layers(4), experts(""));
  const MeshRuns runs(kRun);
  const std::string words = kAxes + blocks + "mode=train_and_eval trainer.validation_steps=2 ";
  const std::string stages = words + "mesh.ici_mesh_shape=[4,1,1,1] ";
  const auto of = [&](const std::string& name, const std::string& more, std::int64_t steps) {
    const ShellResult ran = run(config("lm/local.toml"), runs.workdir(name),
                                "runtime.threads=1 trainer.validation_interval=2 " + more +
                                    " trainer.train_steps=" + std::to_string(steps));
    INFO(ran.output);
    REQUIRE(ran.exit_code == 0);
  };
  of("whole", stages, 6);
  of("parts", stages + "--processes 4", 2);
  of("parts", stages + "--processes 2", 4);
  of("parts", stages, 6);
  CHECK((tensors_of(runs.workdir("parts"), 6) == tensors_of(runs.workdir("whole"), 6)));
  CHECK(records(runs.workdir("parts"), "eval").back().at("values") ==
        records(runs.workdir("whole"), "eval").back().at("values"));
  // Checkpoints are whole.
  of("parts", words + "mesh.ici_mesh_shape=[1,2,1,1] --processes 2", 8);
  CHECK(records(runs.workdir("parts"), "train").back().at("step") == 8);
}

TEST_CASE("the summary has the memory and the idle time of a stage") {
  const std::string words =
      kAxes + layers(8) + kPipeline + "num_microbatches=8 task.model.model_dims=128 ";
  const auto seen = [&](const std::string& mesh) {
    const ShellResult result = trivet::test::trivet(
        "summary " + quoted(config("lm/local.toml").string()) + " --json " + words + mesh);
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
    return nlohmann::json::parse(result.output);
  };
  const nlohmann::json one = seen("mesh.ici_mesh_shape=[4,1,1,1]");
  const nlohmann::json four = seen("mesh.ici_mesh_shape=[4,1,1,1] mesh.processes=4");
  for (const auto& each : {one, four}) {
    CHECK(each.at("pipeline").at("stages") == 4);
    CHECK(each.at("pipeline").at("num_microbatches") == 8);
    CHECK(each.at("pipeline").at("idle_share").get<double>() == Approx(3.0 / 11));
  }
  // Blocks are most of this model.
  for (const char* part : {"weights", "gradients", "m", "v"}) {
    const double whole = one.at("process_memory").at(part).get<double>();
    CHECK(four.at("process_memory").at(part).get<double>() == Approx(whole / 4).epsilon(0.05));
  }
  // Micro-batches to the next stage, the gradient of the input to all.
  const double rows = 8 * 128 * 128 * 4;
  CHECK(four.at("process_sends").at("stages").at("calls") == 8 + 1);
  CHECK(four.at("process_sends").at("stages").at("bytes") == rows + 3 * rows);
  CHECK_FALSE(four.at("process_sends").contains("gradients"));
  const nlohmann::json data =
      seen("mesh.ici_mesh_shape=[2,1,2,1] mesh.processes=4 task.train_input.batch_size=16");
  CHECK(data.at("process_sends").contains("gradients"));
  const ShellResult text =
      trivet::test::trivet("summary " + quoted(config("lm/local.toml").string()) + " " + words +
                           "mesh.ici_mesh_shape=[4,1,1,1]");
  CHECK_THAT(text.output,
             Contains("stages  4 of 8 micro-batches; each waits for 27.3 % of a pass"));
}

namespace {

class Refusals {
 public:
  explicit Refusals(std::string processes) : processes_(std::move(processes)) {}

  std::string of(const std::string& file, const std::string& words) const {
    const ShellResult ran =
        run(config(file), workdir_,
            kAxes + ("mesh.ici_mesh_shape=[2,1,1,1] mode=train trainer.validation_interval=0 "
                     "trainer.train_steps=2 " +
                     words + processes_));
    CHECK(ran.exit_code == 2);
    CHECK_FALSE(fs::exists(workdir_));
    return ran.output;
  }

 private:
  const TempDir dir_;
  const fs::path workdir_ = dir_.path() / "run";
  const std::string processes_;
};

void check_refusals(const Refusals& refused) {
  CHECK_THAT(refused.of("lm/local.toml", layers(3)),
             Contains("'transformer': num_layers = 3 is no multiple of the 2 parts of a pipeline "
                      "(2 stages, circular_repeat = 1)"));
  CHECK_THAT(refused.of("lm/local.toml", kPipeline + "num_microbatches=3"),
             Contains("a pipeline of 3 micro-batches does not divide a batch of 8 examples"));
  CHECK_THAT(refused.of("lm/local.toml", kPipeline + "microbatch_size=3"),
             Contains("pipeline.microbatch_size = 3 does not divide a batch of 8 examples"));
  CHECK_THAT(refused.of("vision/local.toml", ""),
             Contains("mesh: has 2 devices along stage, and no layer of this model is in a stage"));
}

}  // namespace

TEST_CASE("what a mesh with stages refuses makes no run") {
  const Refusals refused("");
  check_refusals(refused);
  CHECK_THAT(refused.of("lm/local.toml",
                        kPipeline + "num_microbatches=2 " + kPipeline + "microbatch_size=2"),
             Contains("is set, and num_microbatches, too"));
  const std::string block = "\"task.model.stacked_transformer_tpl.transformer_layer_params_tpl=";
  CHECK_THAT(
      refused.of("lm/local.toml", block + "{ type = 'nn/TransformerBlock', norm_tpl = { type = "
                                          "'nn/LayerNorm', shared = 'norm' } }\""),
      Contains("mesh: has stages, and one of them would have the layer "
               "'transformer/layer_0/attention_norm', which is shared as 'norm'"));
  CHECK_THAT(refused.of("lm/local.toml",
                        block + "{ type = 'nn/TransformerBlock', cross_attention = true }\""),
             Contains("'transformer': cross_attention cannot be in a pipeline"));
}

// A process that fails does not release its communicators, which a sanitizer reports.
TEST_CASE("what a mesh with stages refuses makes no run of several processes", "[slow][nosan]") {
  check_refusals(Refusals(" --processes 2"));
}

}  // namespace stages_test
