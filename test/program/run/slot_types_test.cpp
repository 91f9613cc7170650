// SPDX-License-Identifier: Apache-2.0
// Optimizer slots in bfloat16 and int8 through the real program: checkpoints, kills, other types,
// memory and the loss.
#include <signal.h>

#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "support/shell.h"

namespace slot_types_test {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using nlohmann::json;
using trivet::test::config, trivet::test::quoted, trivet::test::run, trivet::test::TempDir;

const std::string kSmall =
    trivet::test::kSmallRun +
    std::string("trainer.steps_per_loop=20 trainer.validation_interval=0 --mode train ");
const std::string kInt8 =
    "trainer.optimizer='{type=\"optim/Adafactor\",beta1=0.9,decay_method=\"adam\","
    "quantized_dtype=\"int8\"}' ";
const std::string kAdam = "trainer.optimizer='{type=\"optim/Adam\"}' ";
const std::string kNarrowAdam = "trainer.optimizer='{type=\"optim/Adam\",m_dtype=\"bfloat16\"}' ";

trivet::test::ShellResult start(const fs::path& workdir, const std::string& more) {
  return run(config("vision/local.toml"), workdir, kSmall + more);
}

// The type and the bytes of each slot of a run's newest checkpoint.
std::map<std::string, std::pair<std::string, int>> slots_of(const fs::path& workdir) {
  std::map<std::string, std::pair<std::string, int>> slots;
  const auto info = trivet::test::trivet("ckpt info " + quoted(workdir.string()) + " --json");
  const json report = json::parse(info.output);
  for (const json& tensor : report.at("tensors")) {
    if (tensor.at("file") != "optimizer") continue;
    slots[tensor.at("name")] = {tensor.at("dtype"), tensor.at("bytes")};
  }
  return slots;
}

double loss_of(const json& record) {
  return record.at("values").at("training_loss").get<double>();
}

}  // namespace

TEST_CASE("a momentum in int8 trains as well as one in float32, and is stored in a byte") {
  const TempDir temp;
  const auto narrow = start(temp / "int8", kInt8 + "trainer.train_steps=200");
  INFO(narrow.output);
  REQUIRE(narrow.exit_code == 0);
  const auto slots = slots_of(temp / "int8");
  CHECK(slots.at("hidden_0/w/m") == std::pair<std::string, int>{"u8", 256 * 16});
  CHECK(slots.at("hidden_0/w/m_scale") == std::pair<std::string, int>{"f32", 4 * 16});
  CHECK(slots.at("hidden_0/b/m") == std::pair<std::string, int>{"u8", 16});
  CHECK(slots.at("hidden_0/b/m_scale") == std::pair<std::string, int>{"f32", 4});
  REQUIRE(start(temp / "f32", kInt8 + "trainer.optimizer.quantized_dtype=float32 "
                                      "trainer.train_steps=200")
              .exit_code == 0);
  const auto records = trivet::test::records(temp / "f32", "train");
  const double first = loss_of(records.front()), wide = loss_of(records.back());
  const double loss = loss_of(trivet::test::records(temp / "int8", "train").back());
  // The two are different trainings to the same end.
  CHECK(loss != wide);
  CHECK(loss == Approx(wide).margin(0.05 * first));
  CHECK(loss < 0.7 * first);
}

TEST_CASE("slots of several types survive kills in the same bytes", "[slow]") {
  using trivet::test::kRunSteps, trivet::test::run_to_end, trivet::test::run_words;
  const std::vector<std::string> more = {
      "trainer.ema.decay=0.99", "trainer.gradient_accumulation=4",
      "trainer.frozen=[\"hidden_0/b\"]",
      "trainer.optimizer={type=\"optim/Adafactor\",beta1=0.9,quantized_dtype=\"int8\"}",
      "trainer.learners=[{name=\"last\",variables=[\"output/.*\"],"
      "optimizer={type=\"optim/Lion\",m_dtype=\"bfloat16\"},learning_rate=0.001}]"};
  const TempDir temp;
  const fs::path straight = temp.path() / "straight", killed = temp.path() / "killed";
  REQUIRE(run_to_end(straight, 1, nullptr, more) == 0);
  std::mt19937 random(7);
  int kills = 0;
  for (int i = 1; i <= 3; ++i) {
    trivet::test::WatchedRun run(killed, run_words(killed, 1, more), temp.path() / "out");
    bool alive = run.wait_for_step(i * kRunSteps / 4);
    alive = alive && run.wait_for_events(random() % 12);
    run.process.signal(SIGKILL);
    kills += run.process.wait() == 128 + SIGKILL ? 1 : 0;
  }
  CHECK(kills >= 2);  // if this test is slow, a run may end before it is killed
  REQUIRE(run_to_end(killed, 2, nullptr, more) == 0);
  CHECK(trivet::test::result_of(killed) == trivet::test::result_of(straight));
  const auto slots = slots_of(straight);
  CHECK(slots.at("hidden_0/w/m").first == "u8");
  CHECK(slots.at("output/w/m").first == "bf16");
  CHECK_FALSE(slots.contains("hidden_0/b/m"));  // frozen
}

TEST_CASE("a run does not continue with slots of another type") {
  const TempDir temp;
  REQUIRE(start(temp / "run", kAdam + "trainer.train_steps=20").exit_code == 0);
  const auto refused = start(temp / "run", kNarrowAdam + "trainer.train_steps=40");
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output, Contains("trainer.optimizer.m_dtype: \"float32\" -> \"bfloat16\""));
  // A file whose slots are of another type is named with both types.
  const auto slots = slots_of(temp / "run");
  CHECK(slots.at("hidden_0/w/m") == std::pair<std::string, int>{"f32", 4 * 256 * 16});
}

TEST_CASE("a new run takes over slots of another float type, and refuses integers", "[slow]") {
  const TempDir temp;
  REQUIRE(start(temp / "one", kAdam + "trainer.train_steps=20").exit_code == 0);
  const auto take = [&](const std::string& from, const std::string& to, const std::string& more) {
    return start(temp / to, more + "task.init_checkpoint=" + quoted((temp / from).string()) +
                                " task.init_load.load_slots=true trainer.train_steps=1 ");
  };
  const auto narrow = take("one", "narrow", kNarrowAdam);
  INFO(narrow.output);
  REQUIRE(narrow.exit_code == 0);
  CHECK_THAT(narrow.output, Contains("8 optimizer slots from"));
  CHECK(slots_of(temp / "narrow").at("hidden_0/w/m") ==
        std::pair<std::string, int>{"bf16", 2 * 256 * 16});
  REQUIRE(take("narrow", "wide", kAdam).exit_code == 0);
  CHECK(slots_of(temp / "wide").at("hidden_0/w/m").first == "f32");

  const std::string wide8 = kInt8 + "trainer.optimizer.quantized_dtype=float32 ";
  REQUIRE(start(temp / "f32", wide8 + "trainer.train_steps=20").exit_code == 0);
  const auto refused = take("f32", "int8", kInt8);
  CHECK(refused.exit_code != 0);
  CHECK_THAT(refused.output,
             Contains("hidden_0/w/m u8 [256, 16]: there is f32 [256, 16]") &&
                 Contains("hidden_0/w/m_scale f32 [16]: there is no hidden_0/w/m_scale"));
  REQUIRE(start(temp / "bytes", kInt8 + "trainer.train_steps=20").exit_code == 0);
  CHECK(take("bytes", "again", kInt8).exit_code == 0);
  const auto back = take("bytes", "back", wide8);
  CHECK(back.exit_code != 0);
  CHECK_THAT(back.output,
             Contains("hidden_0/w/m f32 [256, 16]: there is u8 [256, 16]") &&
                 Contains("hidden_0/w/m_scale f32 [16]: this optimizer has no such slot"));
}

TEST_CASE("the memory of slots is that of their types") {
  const auto memory = [](const std::string& optimizer) {
    const auto summary = trivet::test::trivet(
        "summary --json --abstract " + quoted(config("lm/c4_1b_4.toml").string()) +
        " mesh.ici_mesh_shape=[1,1,1] mesh.percore_batch_size=32 task.train_input.batch_size=32 " +
        optimizer);
    INFO(summary.output);
    REQUIRE(summary.exit_code == 0);
    return json::parse(summary.output).at("device_memory");
  };
  constexpr std::int64_t kNumbers = 1104619904;
  const json adam = memory("trainer.optimizer='{type=\"optim/Adam\",m_dtype=\"bfloat16\"}'");
  CHECK(adam.at("m") == 2 * kNumbers);
  CHECK(adam.at("v") == 4 * kNumbers);
  const json adafactor = memory(kInt8);
  CHECK(adafactor.at("m") == kNumbers);
  CHECK(adafactor.at("m_scale").get<std::int64_t>() < kNumbers / 100);
  CHECK(adafactor.at("weights") == 4 * kNumbers);
}

TEST_CASE("a type without effect is refused with its location") {
  const TempDir temp;
  const auto refused = start(
      temp / "run", "trainer.optimizer='{type=\"optim/Adafactor\",quantized_dtype=\"int8\"}'");
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output,
             Contains("trainer.optimizer.quantized_dtype") && Contains("no effect with beta1 = 0"));
}

}  // namespace slot_types_test
