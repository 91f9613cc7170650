// SPDX-License-Identifier: Apache-2.0
// Runs on meshes with devices along seq: blocks of positions have the bytes of one process, and the
// losses of a run of whole sequences.
#include <string>

#include <catch2/catch.hpp>

#include "program/mesh/mesh_runs.h"
#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "support/paths.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace sequences_test {
namespace {

constexpr const char* kAxes = "\"mesh.mesh_axis_names=['replica','data','seq','mdl']\" ";
constexpr const char* kRun =
    "mode=train trainer.validation_interval=0 runtime.threads=1 "
    "trainer.gradient_clip.global_norm=0.5 trainer.ema.decay=0.9 ";
constexpr const char* kStack = "task.model.stacked_transformer_tpl.";

// The second of two blocks has experts.
std::string experts() {
  const std::string stack = kStack;
  return "task.model.num_layers=2 " + stack + "moe_layers=[1] " + stack +
         "moe_layer_tpl.type=nn/MoeFeedForward " + stack + "moe_layer_tpl.num_experts=4 ";
}

}  // namespace

TEST_CASE("blocks of positions have the bytes of one process", "[slow]") {
  const std::string axes = std::string("task.model.dropout=0.1 ") + kAxes;
  const SharedRun of = GENERATE_COPY(
      SharedRun{axes + "mesh.ici_mesh_shape=[1,1,2,1]", {"2"}},
      SharedRun{axes + "mesh.ici_mesh_shape=[1,1,4,1] " + kStack + "checkpoint_policy=save_nothing",
                {"2", "4"}},
      SharedRun{axes + "mesh.ici_mesh_shape=[1,2,2,1] trainer.gradient_accumulation=2", {"2", "4"}},
      SharedRun{
          axes + "mesh.ici_mesh_shape=[1,2,2,1] " + kStack + "checkpoint_policy=save_out_proj",
          {"4"}},
      SharedRun{axes + "mesh.ici_mesh_shape=[1,1,2,2]", {"2", "4"}},
      SharedRun{axes + "mesh.ici_mesh_shape=[2,1,1,1] mesh.dcn_mesh_shape=[1,1,2,1] "
                       "trainer.optimizer.type=optim/Lamb",
                {"2", "4"}},
      SharedRun{axes + experts() + "mesh.ici_mesh_shape=[1,1,4,1]", {"2", "4"}},
      SharedRun{axes + experts() + kStack + "moe_layer_tpl.second_expert_policy=random " + kStack +
                    "checkpoint_policy=save_nothing mesh.ici_mesh_shape=[1,2,2,2]",
                {"2", "8"}});
  check_same_as_one(of, kRun);
}

TEST_CASE("blocks of positions change the rounding of a run, not its losses", "[slow]") {
  const std::string blocks = GENERATE(std::string(), experts());
  CAPTURE(blocks);
  const MeshRuns runs(kRun + blocks);
  runs.train("plain", "", 20);
  const double plain = last_loss(runs.workdir("plain"));
  for (const char* mesh : {"1,1,2,1", "1,1,4,1", "1,1,2,2"}) {
    CAPTURE(mesh);
    runs.train(mesh, std::string(kAxes) + "mesh.ici_mesh_shape=[" + mesh + "]", 20);
    CHECK(last_loss(runs.workdir(mesh)) == Approx(plain).epsilon(1e-4));
  }
}

namespace {

constexpr const char* kStages = "\"mesh.mesh_axis_names=['stage','data','seq','mdl']\" ";

}  // namespace

TEST_CASE("blocks of positions in stages have the bytes of one process", "[slow]") {
  const std::string axes = std::string("task.model.dropout=0.1 ") + kStages;
  const SharedRun of = GENERATE_COPY(
      SharedRun{axes + "task.model.num_layers=2 mesh.ici_mesh_shape=[2,1,2,1]", {"2", "4"}},
      // The mesh has the processes of a stage far from each other.
      SharedRun{"\"mesh.mesh_axis_names=['seq','stage']\" mesh.ici_mesh_shape=[2,2] " + experts() +
                    kStack + "checkpoint_policy=save_nothing",
                {"2", "4"}},
      SharedRun{axes + "task.model.num_layers=4 mesh.ici_mesh_shape=[2,2,2,1] " + kStack +
                    "pipeline.circular_repeat=2 trainer.gradient_accumulation=2",
                {"4", "8"}},
      SharedRun{
          axes + experts() + "mesh.ici_mesh_shape=[2,1,2,2] trainer.optimizer.type=optim/Lamb",
          {"2", "8"}});
  check_same_as_one(of, kRun);
}

TEST_CASE("a pipeline of blocks of positions has the losses of a run that accumulates", "[slow]") {
  const std::string blocks = GENERATE(std::string("task.model.num_layers=2 "), experts());
  CAPTURE(blocks);
  const MeshRuns runs(kRun + blocks);
  runs.train("parts", "trainer.gradient_accumulation=4", 5);
  runs.train("stages",
             std::string(kStages) + "mesh.ici_mesh_shape=[2,1,2,1] " + kStack +
                 "pipeline.num_microbatches=4 --processes 4",
             5);
  CHECK(last_loss(runs.workdir("stages")) ==
        Approx(last_loss(runs.workdir("parts"))).epsilon(1e-5));
}

TEST_CASE("an encoder and a decoder compute blocks of positions", "[slow]") {
  const std::string blocks = GENERATE(std::string(), experts());
  CAPTURE(blocks);
  const TempDir dir;
  std::string pairs;
  for (int i = 0; i < 100; ++i) {
    const std::string text = std::to_string(i * 37 % 100);
    pairs += nlohmann::json{{"from", text}, {"to", text + "-" + text}}.dump() + "\n";
  }
  const fs::path file = dir.write(
      "config.toml",
      "seed = 1\n[task]\ntype = 'lm/Seq2Seq'\ntokenizer = { type = 'tokenizers/Bytes', bos = true, "
      "eos = true }\n[task.model]\ntype = 'lm/SequenceModel'\nmodel_dims = 16\nnum_layers = 2\n"
      "num_heads = 2\nmax_seq_len = 16\n[task.train_input]\ntype = 'data/SequenceToSequence'\n"
      "inputs = '{from}'\ntargets = '{to}'\ninputs_len = 12\ntargets_len = 16\nbatch_size = 8\n"
      "source = { type = 'data/Jsonl', files = ['" +
          dir.write("pairs.jsonl", pairs).string() +
          "'] }\n[trainer]\ntrain_steps = 20\nlearning_rate = 0.01\noptimizer = 'optim/Adam'\n");
  const auto train = [&](const std::string& name, const std::string& words) {
    const ShellResult ran = run(file, dir.path() / name, kRun + blocks + words);
    INFO(ran.output);
    REQUIRE(ran.exit_code == 0);
  };
  const std::string two = std::string(kAxes) + "mesh.ici_mesh_shape=[1,1,2,1] ";
  train("plain", "");
  train("two", two);
  train("shared", two + "--processes 2");
  CHECK((results_of(dir.path() / "shared", 20) == results_of(dir.path() / "two", 20)));
  CHECK(last_loss(dir.path() / "two") == Approx(last_loss(dir.path() / "plain")).epsilon(1e-4));
}

TEST_CASE("a run over positions evaluates, and continues with other processes and another mesh",
          "[slow]") {
  const std::string blocks = GENERATE(std::string(), experts());
  CAPTURE(blocks);
  const MeshRuns runs(kRun);
  const std::string words = kAxes + blocks + "mode=train_and_eval trainer.validation_steps=2 ";
  const std::string positions = words + "mesh.ici_mesh_shape=[1,1,4,1] ";
  const auto of = [&](const std::string& name, const std::string& more, std::int64_t steps) {
    const ShellResult ran = run(config("lm/local.toml"), runs.workdir(name),
                                "runtime.threads=1 trainer.validation_interval=2 " + more +
                                    " trainer.train_steps=" + std::to_string(steps));
    INFO(ran.output);
    REQUIRE(ran.exit_code == 0);
  };
  of("whole", positions, 6);
  of("parts", positions + "--processes 4", 2);
  of("parts", positions + "--processes 2", 4);
  of("parts", positions, 6);
  CHECK((tensors_of(runs.workdir("parts"), 6) == tensors_of(runs.workdir("whole"), 6)));
  CHECK(records(runs.workdir("parts"), "eval").back().at("values") ==
        records(runs.workdir("whole"), "eval").back().at("values"));
  of("parts", words + "mesh.ici_mesh_shape=[1,2,1,1] --processes 2", 8);
  CHECK(records(runs.workdir("parts"), "train").back().at("step") == 8);
}

TEST_CASE("the summary has what processes send of positions") {
  const ShellResult result =
      trivet::test::trivet("summary " + quoted(config("lm/local.toml").string()) + " --json " +
                           kAxes + "mesh.ici_mesh_shape=[1,1,4,1] mesh.processes=4");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const nlohmann::json sends = nlohmann::json::parse(result.output).at("process_sends");
  // Of 8 x 128 positions of 64 dimensions a process gathers a fourth: keys and values of two
  // layers, the result of the last one, and the gradient of the first one's input.
  const double positions = 8 * 128 * 64 * 4;
  CHECK(sends.at("block_gathers").at("calls") == 6);
  CHECK(sends.at("block_gathers").at("bytes") == 6 * 3 * positions / 4);
  // It adds gradients: of whole keys and values in parts, and of weights, of which each has at most
  // 16,384 elements, whole.
  const double weights = 2 * 49'984 * 4;
  CHECK(sends.at("block_sums").at("bytes") == 4 * 1.5 * positions + 3 * weights);
}

namespace {

class Refusals {
 public:
  explicit Refusals(std::string processes) : processes_(std::move(processes)) {}

  std::string of(const std::string& file, const std::string& words) const {
    const ShellResult ran =
        run(config(file), workdir_,
            kAxes + ("mesh.ici_mesh_shape=[1,1,2,1] mode=train trainer.validation_interval=0 "
                     "trainer.train_steps=2 " +
                     words + processes_));
    INFO(ran.output);
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
  CHECK_THAT(refused.of("lm/local.toml", "task.train_input.seq_len=127 "),
             Contains("mesh: has 2 devices along seq, which do not divide the 127 positions of a "
                      "sequence"));
  CHECK_THAT(refused.of("vision/local.toml", ""),
             Contains("mesh: has 2 devices along seq, and no layer of this model computes a part "
                      "of the positions"));
}

std::string of_block(const std::string& fields) {
  return std::string("\"") + kStack +
         "transformer_layer_params_tpl={ type = 'nn/TransformerBlock', " + fields + " }\" ";
}

}  // namespace

TEST_CASE("what a mesh with devices along seq refuses makes no run") {
  const Refusals refused("");
  check_refusals(refused);
  const auto check_layer = [&](const std::string& words, const std::string& layer) {
    CHECK_THAT(refused.of("lm/local.toml", words),
               Contains("mesh: has 2 devices along seq, and '" + layer +
                        "' cannot compute a part of the positions"));
  };
  check_layer(of_block("attention_tpl = { type = 'nn/MultiHeadAttention', dconv_qkv = true }"),
              "transformer/layer_0/attention");
  check_layer(of_block("attention_tpl = { type = 'nn/MultiHeadAttention', rel_pos_emb_dim = 4 }"),
              "transformer/layer_0/attention");
  check_layer(of_block("ffn_tpl = { type = 'nn/Conv1d', input_dims = 64, output_dims = 64 }"),
              "transformer/layer_0/feed_forward");
  CHECK_THAT(
      refused.of("lm/local.toml", of_block("norm_tpl = { type = 'nn/BatchNorm', dim = 64 }")),
      Contains("mesh: has devices along seq, and a layer that computes blocks of the "
               "positions would have 'transformer/layer_0/attention_norm/moving_mean', "
               "which is a state"));
}

// A process that fails does not release its communicators, which a sanitizer reports.
TEST_CASE("what a mesh with devices along seq refuses makes no run of several processes",
          "[nosan]") {
  check_refusals(Refusals(" --processes 2"));
}

}  // namespace sequences_test
