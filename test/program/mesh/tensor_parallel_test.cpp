// SPDX-License-Identifier: Apache-2.0
// Runs on a mesh with several devices along mdl: against one device, over processes and threads,
// resumed with another mesh, and what is refused.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program/models/safetensors_reader.h"
#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "support/plugin_folder.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace tensor_parallel_test {
namespace {

constexpr const char* kUntied =
    "task.model.embedding_tpl.type=nn/Embedding task.model.softmax_tpl.type=nn/FullSoftmax "
    "task.model.softmax_tpl.z_loss_weight=0.001 ";
constexpr const char* kTrain = "mode=train trainer.validation_interval=0 trainer.steps_per_loop=1 ";

std::string mdl(int devices) {
  return "mesh.ici_mesh_shape=[1,1," + std::to_string(devices) + "] ";
}

ShellResult train(const fs::path& workdir, const std::string& more) {
  const ShellResult result = run(config("lm/local.toml"), workdir, kTrain + more);
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  return result;
}

double loss_after(const fs::path& workdir, std::int64_t step) {
  for (const nlohmann::json& record : records(workdir, "train")) {
    if (record.at("step") == step) return record.at("values").at("training_loss").get<double>();
  }
  FAIL("no loss of step " << step);
  return 0;
}

// Weights, slots and metrics of the run's checkpoint of six steps.
std::string bytes_of(const fs::path& workdir) {
  const fs::path checkpoint = checkpoint_of(workdir, 6);
  return read_file(checkpoint / "model.safetensors") +
         read_file(checkpoint / "optimizer.safetensors") + record_values(workdir);
}

}  // namespace

TEST_CASE("losses over 1, 2 and 4 devices along mdl agree", "[slow]") {
  const std::string head = GENERATE(as<std::string>(), "", kUntied);
  const TempDir dir;
  std::vector<double> losses;
  std::vector<std::string> weights;
  for (const int devices : {1, 2, 4}) {
    const fs::path workdir = dir.path() / std::to_string(devices);
    const ShellResult result = train(workdir, mdl(devices) + "trainer.train_steps=50 " + head);
    CHECK_THAT(result.output, !Contains("splits no weights"));
    losses.push_back(loss_after(workdir, 50));
    weights.push_back(read_file(checkpoint_of(workdir, 50) / "model.safetensors"));
  }
  CHECK(losses[1] == Approx(losses[0]).epsilon(1e-4));
  CHECK(losses[2] == Approx(losses[0]).epsilon(1e-4));
  // Sums round in another order.
  CHECK((weights[1] != weights[0]));
  CHECK((weights[2] != weights[1]));
}

TEST_CASE("a vocabulary that alone is split has the losses and samples of the whole", "[slow]") {
  const std::string words =
      mdl(4) +
      "trainer.steps_per_loop=1 'task.model.sharding.w_df=[-1,-1]' "
      "'task.model.sharding.w_fd=[-1,-1]' "
      "'task.model.sharding.w_dnh=[-1,-1,-1]' runtime.threads=1 trainer.train_steps=20 "
      "trainer.validation_interval=20 task.decode.max_decode_steps=20 ";
  const TempDir dir;
  std::vector<double> losses;
  std::vector<std::string> samples;
  for (const std::string w_vd : {"[-1,-1]", "[\"mdl\",\"data\"]"}) {
    const fs::path workdir = dir.path() / std::to_string(losses.size());
    const ShellResult result =
        run(config("lm/local.toml"), workdir, words + quoted("task.model.sharding.w_vd=" + w_vd));
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
    CHECK((result.output.find("splits no weights") != std::string::npos) == losses.empty());
    losses.push_back(loss_after(workdir, 20));
    // They are drawn from whole logits.
    const std::string lines = read_file(workdir / "samples.jsonl");
    samples.push_back(nlohmann::json::parse(lines.substr(0, lines.find('\n'))).at("text"));
  }
  CHECK(losses[1] == Approx(losses[0]).epsilon(1e-5));
  CHECK(samples[1] == samples[0]);
}

TEST_CASE("split layers have the same bytes for any number of processes and threads", "[slow]") {
  const TempDir dir;
  int runs = 0;
  const auto bytes = [&](const std::string& mesh, const std::string& more) {
    const fs::path workdir = dir.path() / std::to_string(++runs);
    train(workdir, mesh +
                       " task.model.dropout=0.1 trainer.train_steps=6 "
                       "trainer.gradient_clip.global_norm=0.5 "
                       "'task.model.sharding.w_vd=[\"mdl\",\"data\"]' " +
                       more);
    return bytes_of(workdir);
  };
  const std::string both = "mesh.ici_mesh_shape=[2,1,2]";
  const std::string one = bytes(both, "runtime.threads=1");
  CHECK((bytes(both, "runtime.threads=2") == one));
  CHECK((bytes(both, "runtime.threads=2 --processes 2") == one));
  CHECK((bytes(both, "runtime.threads=1 --processes 4") == one));
  // The first axis is shared first.
  const std::string swapped = "'mesh.mesh_axis_names=[\"mdl\",\"data\"]' mesh.ici_mesh_shape=[2,2]";
  const std::string whole = bytes(swapped, "runtime.threads=1");
  CHECK((bytes(swapped, "runtime.threads=1 --processes 2") == whole));
  // Processes with the same shards read the same rows.
  CHECK((bytes(swapped,
               "runtime.threads=1 --processes 4 task.train_input.batch_size=4 "
               "task.train_input.num_infeed_hosts=2") == whole));
  CHECK((bytes(swapped,
               "runtime.threads=1 --processes 4 mesh.percore_batch_size=2 "
               "task.train_input.batch_size=2 task.train_input.num_infeed_hosts=4") == whole));
  // Fewer keys and values than devices, and slices.
  const std::string slices =
      "mesh.ici_mesh_shape=[1,1,2] mesh.dcn_mesh_shape=[1,1,2] task.model.num_kv_heads=2 ";
  const std::string four = bytes(slices, "runtime.threads=1");
  CHECK((bytes(slices, "runtime.threads=1 --processes 2") == four));
  CHECK((bytes(slices, "runtime.threads=1 --processes 4") == four));
}

TEST_CASE("a checkpoint is whole, and another mesh continues with it") {
  const TempDir dir;
  const std::string short_run = "runtime.threads=1 trainer.train_steps=3 ";
  train(dir.path() / "two", mdl(2) + short_run);
  train(dir.path() / "one", mdl(1) + short_run);
  const fs::path model = fs::path("checkpoints") / "step_00000003" / "model.safetensors";
  const auto shapes = [&](const char* name) {
    nlohmann::json shapes;
    for (const auto& [path, tensor] : read_safetensors(dir.path() / name / model)) {
      shapes[path] = tensor.shape;
    }
    return shapes;
  };
  CHECK(shapes("two") == shapes("one"));
  fs::copy(dir.path() / "two", dir.path() / "other", fs::copy_options::recursive);
  const std::string longer = "runtime.threads=1 trainer.train_steps=4 ";
  train(dir.path() / "two", mdl(2) + longer);
  train(dir.path() / "other", mdl(1) + longer);
  CHECK(loss_after(dir.path() / "other", 4) ==
        Approx(loss_after(dir.path() / "two", 4)).epsilon(1e-5));
}

TEST_CASE("a model that knows nothing of meshes trains whole, with the bytes of one device") {
  const TempDir dir;
  const auto local = config("vision/local.toml");
  const std::string words = std::string(kSmallRun) + "mode=train trainer.train_steps=6 ";
  REQUIRE(run(local, dir.path() / "none", words).exit_code == 0);
  const ShellResult result = run(local, dir.path() / "two", words + mdl(2));
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.output,
             Contains("the mesh has 2 devices along mdl, over which this model splits no weights"));
  CHECK((bytes_of(dir.path() / "two") == bytes_of(dir.path() / "none")));
}

TEST_CASE("an evaluation of a split run has the losses of one device") {
  const TempDir dir;
  train(dir.path() / "run", mdl(2) + "trainer.train_steps=6 runtime.threads=1");
  std::vector<double> losses;
  for (const int devices : {1, 2}) {
    const fs::path copy = dir.path() / std::to_string(devices);
    fs::copy(dir.path() / "run", copy, fs::copy_options::recursive);
    const ShellResult result =
        run(config("lm/local.toml"), copy, mdl(devices) + "trainer.train_steps=6 mode=eval");
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
    losses.push_back(
        records(copy / "evals" / "1", "eval").back().at("values").at("validation_loss"));
  }
  CHECK(losses[1] == Approx(losses[0]).epsilon(1e-5));
}

TEST_CASE("a split that cannot be is refused before a directory is made", "[slow]") {
  struct Case {
    std::string overrides, text;
  };
  const Case cases[] = {
      {mdl(3) + "'task.model.sharding.w_dnh=[\"data\",\"mdl\",-1]'",
       "task.model.sharding.w_dnh: splits num_heads = 4 over the 3 devices along mdl, which do not "
       "divide it"},
      {mdl(3) + "'task.model.sharding.w_df=[\"data\",\"mdl\"]'",
       "task.model.sharding.w_df: splits hidden_dims = 256 over the 3 devices along mdl"},
      {mdl(2) + "'task.model.sharding.w_df=[\"data\",\"modle\"]'",
       "task.model.sharding.w_df[1]: there is no axis 'modle'"},
      {mdl(2) + "'task.model.sharding.w_df=[\"mdl\",\"mdl\"]'",
       "task.model.sharding.w_df[1]: names the axis 'mdl' twice"},
      {mdl(2) + "'task.model.sharding.w_df=[2,\"mdl\"]'",
       "task.model.sharding.w_df: names the axis 'mdl' twice"},
      {mdl(2) + "'task.model.sharding.w_df=[1,3]'",
       "task.model.sharding.w_df[1]: is the index 3 of an axis that the mesh lacks; it has "
       "replica, data, mdl"},
      {mdl(2) + "'task.model.sharding.w_emh=[\"data_expert\",-1,-1]'",
       "task.model.sharding.w_emh[0]: names the axis 'data_expert' that the mesh lacks; it has "
       "replica, data, mdl"},
      {mdl(2) + "'task.model.block_tpl.weight_split_dims_mapping.proj=[[\"data\",\"seq?\"],-1,-1]'",
       "task.model.block_tpl.weight_split_dims_mapping.proj[0][1]: names the axis 'seq'"},
      {mdl(2) + "'task.model.sharding.w_df=[7,-1]'", "task.model.sharding.w_df[0]: is 7"},
      {mdl(2) + "'task.model.sharding.w_fd=[\"mdl\"]'",
       "task.model.sharding.w_fd: has 1 entries for 2 dimensions"},
      {mdl(2) + "task.model.vocab_size=257 'task.model.sharding.w_vd=[\"mdl\",\"data\"]'",
       "task.model.sharding.w_vd: splits vocab_size = 257 over the 2 devices along mdl, which do "
       "not divide it"},
      {mdl(2) + "'task.model.sharding.w_vd=[\"data\",\"mdl\"]'",
       "task.model.sharding.w_vd: names mdl in entry 1, but it splits the vocabulary only"},
      {mdl(2) + "task.model.softmax_tpl.type=nn/FullSoftmax "
                "task.model.embedding_tpl.type=nn/Embedding "
                "'task.model.softmax_tpl.weight_split_dims_mapping.wt=[\"mdl\",\"data\"]'",
       "task.model: 'softmax': weight_split_dims_mapping.wt splits input_dims over mdl, but a "
       "softmax is split by classes"},
      {mdl(2) + "'task.model.sharding.w_emh=[\"data\",-1,\"mdl\"]'",
       "task.model.sharding.w_emh: is not used: no layer has experts that can be split"},
      {mdl(2) + "'task.model.sharding.a_bld=[\"data\",-1,\"mdl\"]'", "a_bld"},
      {"mesh.ici_mesh_shape=[2,1,2] mesh.processes=3",
       "mesh.processes: is 3; this mesh of 4 devices can be shared by 1, 2, 4"},
      {"mesh.ici_mesh_shape=[2,1,2] mesh.processes=4 task.train_input.num_infeed_hosts=8",
       "task.train_input.num_infeed_hosts: is 8, and mesh.processes is 4"},
  };
  for (const Case& refused : cases) {
    const TempDir dir;
    const ShellResult result =
        run(config("lm/local.toml"), dir.path() / "run", kTrain + refused.overrides);
    INFO(refused.overrides << "\n" << result.output);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains(refused.text));
    // Each field has one error.
    const std::string field = refused.text.substr(0, refused.text.find(": "));
    CHECK(result.output.find(field + ": ") == result.output.rfind(field + ": "));
    CHECK_FALSE(fs::exists(dir.path() / "run"));
  }
}

TEST_CASE("a default may name axes that the mesh lacks, and one device has no need of them") {
  const auto check = [](const std::string& more) {
    return trivet::test::trivet("check " + quoted(config("lm/local.toml").string()) + " " + more);
  };
  const std::string own = "'mesh.mesh_axis_names=[\"replica\",\"data_expert\"]' ";
  const std::string fallback = "'task.model.sharding.w_df=[\"data\",\"mdl?\"]' ";
  CHECK(check(own + "mesh.ici_mesh_shape=[1,4]").exit_code == 0);
  CHECK(check(own + fallback + "mesh.ici_mesh_shape=[1,4]").exit_code == 0);
  CHECK(
      check(own + "'task.model.sharding.w_df=[\"data\",-1]' mesh.ici_mesh_shape=[1,4]").exit_code ==
      2);
  CHECK(check("'task.model.sharding.w_df=[\"data_expert\",-1]'").exit_code == 0);
}

TEST_CASE("check and summary refuse a split that cannot be, and show the model as it is") {
  const std::string words =
      quoted(config("lm/local.toml").string()) + " task.train_input.batch_size=3 ";
  for (const std::string command : {"check ", "summary "}) {
    const ShellResult refused = trivet::test::trivet(
        command + words + mdl(3) + "'task.model.sharding.w_dnh=[\"data\",\"mdl\",-1]'");
    INFO(refused.output);
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.output,
               Contains("task.model.sharding.w_dnh: splits num_heads = 4 over the 3 "
                        "devices along mdl"));
  }
  const auto layers = [&](const std::string& more) {
    const ShellResult result = trivet::test::trivet("summary --json " + words + more);
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
    return nlohmann::json::parse(result.output).at("layers");
  };
  CHECK(layers(mdl(2)) == layers("--abstract"));
}

TEST_CASE("a trainer that knows nothing of meshes is refused over several devices along mdl") {
  PluginFolder folder;
  folder.copy("demo");
  const TempDir dir;
  const ShellResult refused =
      run(config("lm/local.toml"), dir.path() / "run",
          "--plugin-dir " + quoted(folder.path().string()) +
              " trainer.type=demo/Trainer trainer.train_steps=2 mode=train " + mdl(2));
  INFO(refused.output);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output, Contains("trainer: demo/Trainer trains no mesh, and this one has 2 "
                                      "devices along mdl"));
  CHECK_FALSE(fs::exists(dir.path() / "run"));
}

}  // namespace tensor_parallel_test
