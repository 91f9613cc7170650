// SPDX-License-Identifier: Apache-2.0
// `trivet summary` and `trivet check` of models that do not fit on this machine.
#include <cmath>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/paths.h"

using namespace trivet::test;
using Catch::Contains;

namespace {

std::string lm(const std::string& name) {
  return quoted(config("lm/" + name + ".toml").string());
}

nlohmann::json figures(const std::string& words) {
  const ShellResult result = trivet::test::trivet("summary --json " + words);
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  return nlohmann::json::parse(result.output);
}

// The weights outside matrix products: biases and factors of norms and scales. The bias of a
// softmax is a column of its product.
double vectors_of(const nlohmann::json& seen) {
  double count = 0;
  for (const auto& weights : seen.at("weights")) {
    const bool vector = weights.at("shape").size() == 1 && weights.at("path") != "softmax/b";
    if (vector) count += weights.at("shape")[0].get<double>();
  }
  return count;
}

}  // namespace

TEST_CASE("the seeds' C4 models have the sizes and FLOPs of their published shapes", "[slow]") {
  struct Expected {
    std::string config;
    std::int64_t parameters;
    double layers, heads, dims_per_head, length;
    std::int64_t devices, batch;
    double flops_per_token, ideal_seconds;  // 0: not in the table
  };
  // Sizes by hand from the shapes; FLOP per token and step times of the table in PaLM's convention.
  const Expected all[] = {
      {"c4_1b_4", 1104619904, 13, 20, 128, 1024, 4, 128, 7.0367e9, 0.8385},
      {"c4_16b_32", 16506101504, 36, 48, 128, 1024, 32, 512, 1.0175e11, 6.062},
      {"c4_gpt3_xl_8", 2926542848, 24, 24, 128, 2048, 8, 512, 0, 0},
      {"c4_22b_1xv4_128", 21947310080, 48, 24, 256, 1024, 64, 1024, 1.3531e11, 8.061},
      {"c4_gpt3_175b_768", 174792058880, 96, 96, 128, 2048, 768, 1536, 0, 0},
  };
  for (const Expected& expected : all) {
    INFO(expected.config);
    const nlohmann::json seen = figures(lm(expected.config));
    CHECK(seen.at("abstract") == true);
    CHECK(seen.at("parameters") == expected.parameters);
    CHECK(seen.at("mesh").at("devices") == expected.devices);
    CHECK(seen.at("mesh").at("global_batch") == expected.batch);
    const nlohmann::json& tokens = seen.at("tokens");
    CHECK(tokens.at("step_tokens") == static_cast<double>(expected.batch) * expected.length);

    const auto parameters = static_cast<double>(expected.parameters);
    const double attention =
        12 * expected.layers * expected.heads * expected.dims_per_head * expected.length;
    CHECK(tokens.at("closed_form_flops_per_token").get<double>() ==
          Approx(6 * parameters + attention).epsilon(1e-12));
    // The count per op has no products for vectors, and position tables are looked up.
    double looked_up = vectors_of(seen);
    for (const auto& weights : seen.at("weights")) {
      if (weights.at("path") == "position_emb/table") {
        looked_up += weights.at("shape")[0].get<double>() * weights.at("shape")[1].get<double>();
      }
    }
    CHECK(tokens.at("flops_per_token").get<double>() ==
          Approx(6 * (parameters - looked_up) + attention).epsilon(1e-12));
    if (expected.flops_per_token == 0) continue;
    CHECK(tokens.at("closed_form_flops_per_token").get<double>() ==
          Approx(expected.flops_per_token).epsilon(5e-5));
    CHECK(tokens.at("ideal_step_seconds").get<double>() ==
          Approx(expected.ideal_seconds).epsilon(5e-4));
  }
}

TEST_CASE("frozen weights need no gradients, and the closed form does not apply") {
  const auto tokens = [](const std::string& more) {
    return figures(lm("local") + " mode=train --abstract " + more).at("tokens");
  };
  const nlohmann::json all = tokens("");
  const nlohmann::json some = tokens("'trainer.trainable=[\"transformer/layer_1/mlp_out/.*\"]'");
  CHECK(all.at("closed_form_flops_per_token") > 0);
  CHECK(some.at("closed_form_flops_per_token") == 0);
  // Forward, all products: 2 N. Backward, two products of that size for the last one, and one for
  // the softmax: 256 tokens of 64.
  CHECK(some.at("flops_per_token").get<double>() ==
        Approx(all.at("flops_per_token").get<double>() / 3 + 2.0 * 256 * 64 + 2.0 * 256 * 64));
  const ShellResult told = trivet::test::trivet("summary " + lm("local") +
                                                " mode=train 'trainer.frozen=[\"softmax/.*\"]'");
  CHECK_THAT(told.output, Contains("with all pairs of attention") && !Contains("6 N"));
}

TEST_CASE("GPT-2 has 124,439,808 weights") {
  const nlohmann::json seen = figures("--abstract " + lm("gpt2_124m"));
  CHECK(seen.at("parameters") == 124439808);
  // Not in the run's directory, where no data can be.
  // The missing data is found before the weights, which do not fit, are made.
  const ShellResult without =
      trivet::test::trivet("check " + lm("gpt2_124m") + " runtime.memory_limit=1MiB");
  CHECK(without.exit_code != 0);
  CHECK_THAT(without.output, Contains("train*.bin"));
}

TEST_CASE("a device of a mesh has its share of weights, gradients, slots and step") {
  const nlohmann::json one = figures(lm("c4_1b_4") +
                                     " mesh.ici_mesh_shape=[1,1,1] mesh.percore_batch_size=32 "
                                     "task.train_input.batch_size=32 --abstract")
                                 .at("device_memory");
  const nlohmann::json four = figures(lm("c4_1b_4")).at("device_memory");
  for (const char* part : {"weights", "gradients", "m", "v"}) {
    INFO(part);
    CHECK(one.at(part) == 4 * 1104619904LL);
    // Every device has the 338,304 elements of vectors.
    CHECK(four.at(part) == (1104619904LL - 338304) + 4 * 338304LL);
  }
  // 32 examples each: data divides only the batch.
  CHECK(one.at("step") == four.at("step"));
  const nlohmann::json split =
      figures(lm("c4_1b_4") + " mesh.ici_mesh_shape=[1,2,2]").at("device_memory");
  CHECK(split.at("weights") == four.at("weights"));
  CHECK(split.at("step").get<double>() > 0.9 * four.at("step").get<double>());
}

TEST_CASE("a summary tells what each process of a run on a mesh has in memory", "[slow]") {
  const TempDir dir;
  // Of a run: weights, gradients, slots, averages and sums; and its step.
  const auto check_run = [&](const std::string& config, const std::string& more,
                             const std::string& name) {
    INFO(config << " " << more);
    const nlohmann::json parts = figures(lm(config) + " " + more).at("process_memory");
    const std::filesystem::path workdir = dir.path() / name;
    const ShellResult ran =
        trivet::test::trivet("run " + lm(config) + " --workdir " + workdir.string() + " " + more +
                             // That which a summary assumes: a run chooses another.
                             " mesh.overlap=2 trainer.train_steps=3 trainer.validation_interval=0 "
                             "trainer.validation_steps=1");
    INFO(ran.output);
    REQUIRE(ran.exit_code == 0);
    const nlohmann::json seen = json_of(workdir / "summary.json");
    double kept = 0;
    for (const auto& [part, bytes] : parts.items()) {
      if (part != "step" && part != "exchange" && part != "gathered") kept += bytes.get<double>();
    }
    // Units of weights are whole while something reads them, such as what saves them.
    const double persistent = seen.at("persistent_bytes").get<double>();
    const double gathered = parts.value("gathered", 0.0);
    CHECK(persistent > 0.95 * kept);
    CHECK(persistent < 1.05 * kept + gathered);
    CHECK(parts.at("step").get<double>() ==
          Approx(seen.at("arena_bytes").get<double>()).epsilon(0.05));
    CHECK(parts.contains("exchange") == (more.find("--processes") != std::string::npos ||
                                         more.find("mesh.processes") != std::string::npos));
    return parts;
  };
  const std::string one_thread = "runtime.threads=1 mode=train ";
  const std::string wide =
      "task.model.model_dims=256 task.model.num_layers=4 task.train_input.batch_size=4 ";
  const nlohmann::json four =
      check_run("local", one_thread + "mesh.ici_mesh_shape=[4,1,1]", "four");
  CHECK(four.at("sums") == 3 * four.at("gradients").get<std::int64_t>());
  const nlohmann::json two = check_run(
      "local", one_thread + "mesh.ici_mesh_shape=[4,1,1] mesh.processes=2 trainer.ema.decay=0.9",
      "two");
  // Each process has all weights, and its half of what it updates; 124,672 is a multiple of 4 * 16.
  const auto all_weights = two.at("gathered").get<std::int64_t>();
  CHECK(all_weights == four.at("weights"));
  CHECK(two.at("sums") == 2 * all_weights);
  for (const char* part : {"weights", "m", "v", "averages"}) {
    CHECK(2 * two.at(part).get<std::int64_t>() == all_weights);
  }
  // Of two shards a process adds up whole gradients, and has its part of the sum.
  CHECK(2 * two.at("gradients").get<std::int64_t>() == 3 * all_weights);
  // 124,672 floats of two processes make two equal parts, of which each receives one.
  CHECK(2 * two.at("exchange").get<std::int64_t>() == all_weights);
  const nlohmann::json each =
      check_run("local", one_thread + "mesh.ici_mesh_shape=[4,1,1] mesh.processes=4", "each");
  CHECK_FALSE(each.contains("sums"));
  CHECK(each.at("gathered") == all_weights);
  for (const char* part : {"weights", "gradients", "m"}) {
    CHECK(4 * each.at(part).get<std::int64_t>() == all_weights);
  }
  // Weights over data: a process has a fourth of all that one process has.
  const nlohmann::json one =
      check_run("local", one_thread + wide + "mesh.ici_mesh_shape=[1,4,1]", "one");
  const nlohmann::json part = check_run(
      "local", one_thread + wide + "mesh.ici_mesh_shape=[1,4,1] mesh.processes=4", "parts");
  for (const char* name : {"weights", "gradients", "m", "v"}) {
    INFO(name);
    CHECK(4 * part.at(name).get<double>() == Approx(one.at(name).get<double>()).epsilon(0.01));
  }
  CHECK(part.at("gathered") < one.at("weights"));
  // Of two shards a process adds up whole gradients.
  const nlohmann::json half = check_run(
      "local", one_thread + wide + "mesh.ici_mesh_shape=[1,4,1] mesh.processes=2", "halves");
  CHECK(2 * half.at("weights").get<double>() ==
        Approx(one.at("weights").get<double>()).epsilon(0.01));
  CHECK(half.at("gradients").get<double>() ==
        Approx(1.5 * one.at("weights").get<double>()).epsilon(0.01));
  // Whole variables are not quite equal parts.
  const nlohmann::json updates = check_run("local",
                                           one_thread +
                                               "mesh.ici_mesh_shape=[2,1,1] mesh.processes=2 "
                                               "trainer.gradient_clip.per_variable_norm=1",
                                           "updates");
  CHECK(updates.at("m").get<double>() >= 0.5 * updates.at("weights").get<double>());
  CHECK(updates.at("m").get<double>() < 0.6 * updates.at("weights").get<double>());
  const nlohmann::json variables = check_run("local",
                                             one_thread + wide +
                                                 "mesh.ici_mesh_shape=[1,4,1] mesh.processes=4 "
                                                 "trainer.optimizer.type=optim/Lamb",
                                             "variables");
  for (const char* name : {"weights", "gradients", "m", "v"}) {
    INFO(name);
    CHECK(4 * variables.at(name).get<double>() == Approx(one.at(name).get<double>()).epsilon(0.15));
  }
  check_run("local", one_thread + "mesh.ici_mesh_shape=[2,1,4]", "blocks");
  // Processes share the blocks of a step, and the update.
  const nlohmann::json blocks = check_run(
      "local", one_thread + "mesh.ici_mesh_shape=[1,1,4] mesh.processes=4", "shared_blocks");
  CHECK(4 * blocks.at("m").get<std::int64_t>() == blocks.at("weights").get<std::int64_t>());
  const nlohmann::json all =
      check_run("local", one_thread + "mesh.ici_mesh_shape=[2,1,2] mesh.processes=4", "shared_all");
  CHECK(4 * all.at("m").get<std::int64_t>() == all.at("gathered").get<std::int64_t>());
  const nlohmann::json stages =
      check_run("local",
                one_thread +
                    "'mesh.mesh_axis_names=[\"stage\",\"data\"]' "
                    "mesh.ici_mesh_shape=[2,2] mesh.processes=4 task.model.num_layers=4",
                "stages");
  CHECK(stages.at("m") == stages.at("weights"));
  // Of four processes each has a fourth of the activations in the blocks, but all keys and values.
  const std::string over_seq =
      one_thread +
      "'mesh.mesh_axis_names=[\"data\",\"seq\"]' mesh.ici_mesh_shape=[1,4] "
      "task.train_input.batch_size=32 ";
  const nlohmann::json sequences = check_run("local", over_seq, "sequences");
  const nlohmann::json positions = check_run("local", over_seq + "mesh.processes=4", "positions");
  CHECK(4 * positions.at("m").get<std::int64_t>() == positions.at("weights").get<std::int64_t>());
  CHECK(positions.at("step").get<double>() < 0.5 * sequences.at("step").get<double>());
}

TEST_CASE("a summary tells what weights split over data take only beside what a run has") {
  const std::string split = trivet::test::trivet("summary " + lm("c4_1b_4")).output;
  CHECK_THAT(split,
             Contains("memory  43 GB in the process: weights 4.4 GB") &&
                 Contains("split   about 17 GB on each device if split as by Pax: weights 1.1 GB"));
  const std::string replicas =
      trivet::test::trivet("summary " + lm("local") + " mesh.ici_mesh_shape=[4,1,1]").output;
  CHECK_THAT(replicas, Contains("in the process: weights 499 kB") && !Contains("split "));
}

TEST_CASE(
    "activations kept for gradients change the memory of a step, but not the FLOPs of the model") {
  const std::string policy = " task.model.stacked_transformer_tpl.checkpoint_policy=";
  const nlohmann::json again = figures(lm("c4_1b_4") + policy + "save_nothing");
  const nlohmann::json kept = figures(lm("c4_1b_4") + policy + "save_everything");
  CHECK(kept.at("device_memory").at("step").get<double>() >
        3 * again.at("device_memory").at("step").get<double>());
  CHECK(kept.at("tokens") == again.at("tokens"));
  double step = again.at("device_memory").at("step");
  for (const char* more : {"save_out_proj", "save_dot_for_mlperf_200b",
                           "save_dot_with_no_batch_dims", "save_dot_only"}) {
    INFO(more);
    const nlohmann::json seen = figures(lm("c4_1b_4") + policy + more);
    CHECK(seen.at("device_memory").at("step") > step);
    CHECK(seen.at("tokens") == again.at("tokens"));
    step = seen.at("device_memory").at("step");
  }
  CHECK(kept.at("device_memory").at("step") > step);
}

TEST_CASE("slices add replicas, which multiply the batch and do not divide weights", "[slow]") {
  const nlohmann::json one = figures(lm("c4_22b_1xv4_128"));
  const nlohmann::json four =
      figures(lm("c4_22b_1xv4_128") + " mesh.dcn_mesh_shape=[4,1,1] mesh.processes=64");
  CHECK(four.at("mesh").at("devices") == 256);
  CHECK(four.at("mesh").at("axes").at("replica") == 4);
  CHECK(four.at("mesh").at("global_batch") == 4096);
  CHECK(four.at("device_memory") == one.at("device_memory"));
  CHECK(four.at("tokens").at("ideal_step_seconds").get<double>() ==
        Approx(one.at("tokens").at("ideal_step_seconds").get<double>()));
  CHECK_THAT(
      trivet::test::trivet("summary " + lm("c4_22b_1xv4_128") + " mesh.dcn_mesh_shape=[4,1,1]")
          .output,
      Contains("mesh.percore_batch_size makes it 256 (a global batch of 4096)"));
}

TEST_CASE("a meta device counts the same as a training step") {
  const std::string local = lm("local");
  const nlohmann::json here = figures(local), meta = figures(local + " --abstract");
  CHECK(here.at("abstract") == false);
  CHECK(meta.at("abstract") == true);
  for (const char* name : {"parameters", "step_flops", "tokens", "weights", "layers"}) {
    INFO(name);
    CHECK(meta.at(name) == here.at(name));
  }
  CHECK_FALSE(meta.contains("initial_loss"));
  CHECK_FALSE(here.contains("device_memory"));
}

TEST_CASE("tasks whose batches have columns of their own have a summary on a mesh") {
  for (const std::string& config : {lm("pairs"), lm("answers"), lm("electra"), lm("masked")}) {
    for (const char* command : {"summary ", "check "}) {
      CAPTURE(config, command);
      const ShellResult result =
          trivet::test::trivet(command + config + " mesh.ici_mesh_shape=[1,4,1]");
      INFO(result.output);
      CHECK(result.exit_code == 0);
      CHECK_THAT(result.output, Contains("4 devices (replica 1, data 4, mdl 1) in 1 process"));
    }
  }
}

TEST_CASE("on a meta device neither a tokenizer nor data must exist") {
  const std::string missing = lm("gpt2_124m") +
                              " task.tokenizer='{type=\"tokenizers/Bpe\", "
                              "file=\"/nonexistent/tokenizer.json\"}'";
  const ShellResult result = trivet::test::trivet("check --abstract " + missing);
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("reach 196 of 196 trainable tensors"));
  // Without a vocab_size the tokenizer gives it.
  const ShellResult unknown =
      trivet::test::trivet("check --abstract " + missing + " task.model.vocab_size=0");
  CHECK(unknown.exit_code != 0);
  CHECK_THAT(unknown.output, Contains("/nonexistent/tokenizer.json"));
}
