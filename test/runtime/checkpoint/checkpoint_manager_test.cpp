// SPDX-License-Identifier: Apache-2.0
// Checkpoint directories: complete at any moment, selected if intact, kept as configured.
#include "checkpoint/checkpoint_manager.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/train/train_parts.h"
#include "support/directory_watch.h"
#include "support/shell.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/tensor/device.h"

using namespace trivet;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

struct Warnings {
  std::vector<std::string> texts;
  CheckpointManager::Warn collector() {
    return [this](const std::string& text) { texts.push_back(text); };
  }
};

// Tensors and state that depend on the step, with `size` numbers.
CheckpointManager::Fill filled(std::int64_t step, std::int64_t size = 1000) {
  return [=](CheckpointWriter& writer) {
    Tensor w = Tensor::host({size});
    for (float& x : w.mutable_span<float>()) x = static_cast<float>(step);
    writer.write_tensors("model", {{"layer/w", w}});
    writer.write_tensors("optimizer", {});
    writer.state("trainer", Value::table({{"global_step", step}}));
  };
}

std::int64_t step_in(const CheckpointReader& reader) {
  const auto device = test::open_tiny();
  NamedTensors tensors = {{"layer/w", Tensor::zeros(*device, {1000})}};
  reader.read_tensors("model", tensors);
  const auto step = reader.state("trainer").find("global_step")->as_integer();
  for (const float x : tensors[0].second.to_host<float>()) {
    REQUIRE(x == static_cast<float>(step));
  }
  return step;
}

}  // namespace

TEST_CASE("a saved state is restored, and only one per step") {
  test::TempDir temp;
  Warnings warnings;
  CheckpointManager manager(temp.path() / "checkpoints", {5}, warnings.collector());
  CHECK(manager.newest() == nullptr);
  const auto saved = manager.save(1000, filled(1000));
  REQUIRE(saved);
  CHECK(saved->path.filename() == "step_00001000");
  CHECK(saved->bytes > 4000);
  CHECK_FALSE(manager.save(1000, filled(7)));

  CheckpointManager next(temp.path() / "checkpoints", {5}, warnings.collector());
  const auto newest = next.newest();
  REQUIRE(newest);
  CHECK(newest->step() == 1000);
  CHECK(step_in(*newest) == 1000);
  CHECK(newest->has_state("trainer"));
  CHECK_FALSE(newest->has_state("ema"));
  CHECK_THROWS_WITH(newest->state("ema"), Contains("ema"));
  CHECK_FALSE(next.save(1000, filled(7)));  // restored at this step
  CHECK(warnings.texts.empty());
}

TEST_CASE("the manifest holds sizes and CRC-32 sums that others compute too") {
  test::TempDir temp;
  CheckpointManager manager(temp.path(), {0}, [](const std::string&) {});
  manager.save(1, [](CheckpointWriter& writer) { writer.state("text", Value("x")); });
  const fs::path directory = manager.path_of(1);
  const Value manifest = value_from_json(read_text_file(directory / "manifest.json"), "manifest");
  CHECK(manifest.find("step")->as_integer() == 1);
  const Value& file = manifest.find("files")->items()[0];
  CHECK(file.find("name")->as_string() == "state.json");
  CHECK(file.find("size")->as_integer() ==
        static_cast<std::int64_t>(fs::file_size(directory / "state.json")));
  // gzip stores the same checksum in the last eight bytes of its files, least significant byte
  // first.
  const auto gzip = test::shell("gzip -c " + test::quoted((directory / "state.json").string()) +
                                " | tail -c8 | od -An -tx4 -N4 | tr -d ' \\n'");
  CHECK(file.find("crc32")->as_string() == gzip.output);
}

TEST_CASE("the newest ones are kept, by number and not by name") {
  test::TempDir temp;
  CheckpointManager manager(temp.path(), {2}, [](const std::string&) {});
  for (const std::int64_t step : {9, 10, 100, 99999999, 100000000}) {
    manager.save(step, filled(step));
  }
  CHECK(manager.steps() == std::vector<std::int64_t>{99999999, 100000000});
  CheckpointManager all(temp.path() / "all", {0}, [](const std::string&) {});
  for (std::int64_t step = 1; step <= 8; ++step) all.save(step, filled(step));
  CHECK(all.steps().size() == 8);
}

TEST_CASE("a damaged checkpoint is skipped with the reason, for any damage") {
  struct Damage {
    const char* name;
    std::function<void(const fs::path&)> apply;
    const char* reason;
  };
  const std::vector<Damage> damages = {
      {"no manifest", [](const fs::path& p) { fs::remove(p / "manifest.json"); },
       "no manifest.json"},
      {"cut file", [](const fs::path& p) { fs::resize_file(p / "model.safetensors", 100); },
       "model.safetensors has 100 bytes instead of"},
      {"flipped bit",
       [](const fs::path& p) {
         std::string text = read_text_file(p / "model.safetensors");
         text[text.size() - 5] = static_cast<char>(text[text.size() - 5] ^ 1);
         write_file(p / "model.safetensors", text, Durability::cached);
       },
       "CRC-32"},
      {"missing file", [](const fs::path& p) { fs::remove(p / "optimizer.safetensors"); },
       "optimizer.safetensors: No such file"},
      {"manifest of zeros",
       [](const fs::path& p) {
         write_file(p / "manifest.json", std::string(200, '\0'), Durability::cached);
       },
       "not JSON"},
      {"a name that leads outside",
       [](const fs::path& p) {
         write_file(p / "manifest.json",
                    R"({"format": "trivet-checkpoint", "version": 1, "step": 20,
                        "files": [{"name": "../../x", "size": 1, "crc32": "0"}]})",
                    Durability::cached);
       },
       "outside its directory"},
      {"another version",
       [](const fs::path& p) {
         write_file(p / "manifest.json",
                    R"({"format": "trivet-checkpoint", "version": 9, "step": 20, "files": []})",
                    Durability::cached);
       },
       "version 9"},
      {"wrong types",
       [](const fs::path& p) {
         write_file(p / "manifest.json", R"({"format": 3, "version": "x"})", Durability::cached);
       },
       "manifest.json"},
      {"another step",
       [](const fs::path& p) {
         fs::remove_all(p);
         fs::copy(p.parent_path() / "step_00000010", p);
       },
       "contains step 10"},
  };
  for (const Damage& damage : damages) {
    INFO(damage.name);
    test::TempDir temp;
    Warnings warnings;
    CheckpointManager(temp.path(), {5}, warnings.collector()).save(10, filled(10));
    CheckpointManager(temp.path(), {5}, warnings.collector()).save(20, filled(20));
    damage.apply(temp.path() / "step_00000020");

    CheckpointManager manager(temp.path(), {5}, warnings.collector());
    const auto newest = manager.newest();
    REQUIRE(newest);
    CHECK(step_in(*newest) == 10);
    REQUIRE(warnings.texts.size() == 1);
    CHECK_THAT(warnings.texts[0], Contains(damage.reason));

    // The run reaches the same step again; the damaged checkpoint stays under another name.
    CHECK(manager.save(20, filled(20)));
    CHECK(fs::exists(temp.path() / "damaged_step_00000020"));
    CHECK(step_in(*CheckpointManager(temp.path(), {5}, warnings.collector()).newest()) == 20);
    CHECK(warnings.texts.size() == 1);

    damage.apply(temp.path() / "step_00000020");
    fs::remove(temp.path() / "step_00000010" / "manifest.json");
    CHECK_THROWS_WITH(CheckpointManager(temp.path(), {5}, warnings.collector()).newest(),
                      Contains("no checkpoint in") && Contains("step_00000010"));
  }
}

TEST_CASE("a damaged checkpoint does not count as a kept one") {
  test::TempDir temp;
  CheckpointManager first(temp.path(), {0}, [](const std::string&) {});
  for (const std::int64_t step : {10, 20, 90}) first.save(step, filled(step));
  fs::remove(temp.path() / "step_00000090" / "manifest.json");
  CheckpointManager second(temp.path(), {2}, [](const std::string&) {});
  REQUIRE(second.newest()->step() == 20);
  second.save(30, filled(30));
  CHECK(second.steps() == std::vector<std::int64_t>{20, 30});
  CHECK(fs::exists(temp.path() / "damaged_step_00000090"));
  CHECK(second.newest()->step() == 30);
}

TEST_CASE("all tensors that do not fit are named at once") {
  test::TempDir temp;
  CheckpointManager manager(temp.path(), {5}, [](const std::string&) {});
  manager.save(1, [](CheckpointWriter& writer) {
    writer.write_tensors(
        "model", {{"a", Tensor::host({2})}, {"b", Tensor::host({3})}, {"old", Tensor::host({1})}});
  });
  const auto device = test::open_tiny();
  const auto newest = manager.newest();
  NamedTensors into = {{"a", Tensor::zeros(*device, {2})},
                       {"b", Tensor::zeros(*device, {4})},
                       {"c", Tensor::zeros(*device, {1})}};
  CHECK_THROWS_WITH(newest->read_tensors("model", into),
                    Contains("missing: c") && Contains("b f32 [3]") && Contains("f32 [4]") &&
                        Contains("only in the file: old"));
  NamedTensors fewer = {{"a", Tensor::zeros(*device, {2})}};
  CHECK_THROWS_AS(newest->read_tensors("model", fewer), RunError);
  CHECK_NOTHROW(newest->read_tensors("model", fewer, OtherTensors::ignored));
}

TEST_CASE("a process killed while it saves leaves an intact checkpoint") {
  test::TempDir temp;
  const fs::path directory = temp.path() / "checkpoints";
  CheckpointManager(directory, {2}, [](const std::string&) {}).save(1, filled(1));
  std::int64_t newest_step = 1;
  int unfinished = 0;
  std::mt19937 random(1);
  for (int round = 0; round < 30; ++round) {
    // The child saves one checkpoint after another. It is killed after a number of file events, up
    // to two saves long, in each round at another point.
    test::DirectoryWatch watch(directory);
    const pid_t child = ::fork();
    if (child == 0) {
      CheckpointManager manager(directory, {2}, [](const std::string&) {});
      manager.newest();
      for (std::int64_t step = newest_step + 1;; ++step) manager.save(step, filled(step));
    }
    for (unsigned events = 1 + random() % 40; events > 0; --events) REQUIRE(watch.wait());
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    REQUIRE(WIFSIGNALED(status));
    const fs::directory_iterator left(directory);
    unfinished += std::any_of(begin(left), end(left), [](const auto& entry) {
      return entry.path().filename().string().starts_with(".tmp_");
    });

    Warnings warnings;
    CheckpointManager manager(directory, {2}, warnings.collector());
    const auto newest = manager.newest();
    REQUIRE(newest);
    REQUIRE(warnings.texts.empty());
    REQUIRE(newest->step() >= newest_step);
    REQUIRE(step_in(*newest) == newest->step());
    newest_step = newest->step();
    for (const auto& entry : fs::directory_iterator(directory)) {
      REQUIRE(entry.path().filename().string().starts_with("step_"));
    }
  }
  CHECK(newest_step > 1);
  CHECK(unfinished > 0);  // else no save was interrupted
}

TEST_CASE("a failed save reports the reason and keeps existing checkpoints") {
  test::TempDir temp;
  const fs::path directory = temp.path() / "checkpoints";
  CheckpointManager manager(directory, {5}, [](const std::string&) {});
  manager.save(1, filled(1));

  SECTION("the disk is full") {
    // A file size limit simulates a full disk: writing past it fails at the same point.
    const pid_t child = ::fork();
    if (child == 0) {
      ::signal(SIGXFSZ, SIG_IGN);
      const rlimit small = {20000, 20000};
      ::setrlimit(RLIMIT_FSIZE, &small);
      int result = 1;
      try {
        manager.save(2, filled(2, 100000));
      } catch (const RunError& error) {
        const std::string text = error.what();
        result = text.find("File too large") != std::string::npos &&
                         text.find("step_00000001 is unchanged") != std::string::npos
                     ? 0
                     : 2;
      }
      ::_exit(result);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WEXITSTATUS(status) == 0);
  }
  SECTION("writing stops in the middle") {
    CHECK_THROWS_WITH(manager.save(2,
                                   [](CheckpointWriter& writer) {
                                     filled(2)(writer);
                                     throw RunError("no more");
                                   }),
                      Contains("checkpoint of step 2 not saved: no more") &&
                          Contains("step_00000001 is unchanged"));
  }
  CHECK(std::distance(fs::directory_iterator(directory), {}) == 1);
  CHECK(step_in(*CheckpointManager(directory, {5}, [](const std::string&) {}).newest()) == 1);
}

TEST_CASE("a directory that cannot be created is an error") {
  test::TempDir temp;
  write_file(temp.path() / "file", "", Durability::cached);
  CheckpointManager manager(temp.path() / "file" / "checkpoints", {5}, [](const std::string&) {});
  CHECK_THROWS_WITH(manager.save(1, filled(1)), Contains("no earlier checkpoint exists"));
}
