// SPDX-License-Identifier: Apache-2.0
// Checkpoints that processes write together: the bytes are those of one process, no process copies
// more than its part, and a process that cannot write leaves the newest checkpoint whole.
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "support/paths.h"
#include "trivet/os/process.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace shared_saves_test {
namespace {

constexpr const char* kRun =
    "trainer.validation_interval=2 trainer.validation_steps=1 trainer.checkpoint_interval=2 "
    "trainer.best_checkpoint.metric=validation_loss trainer.best_checkpoint.goal=min "
    "trainer.ema.decay=0.9 trainer.gradient_clip.global_norm=0.5 runtime.threads=1 ";

class Runs {
 public:
  fs::path workdir(const std::string& name) const { return dir_.path() / name; }
  fs::path train(const std::string& name, const std::string& words, int steps) {
    const ShellResult ran = run(config("lm/local.toml"), workdir(name),
                                kRun + words + " trainer.train_steps=" + std::to_string(steps));
    INFO(ran.output);
    REQUIRE(ran.exit_code == 0);
    return workdir(name);
  }

 private:
  TempDir dir_;
};

// The tensors of all checkpoints, with what manifests say of them, and the names of other files.
std::map<std::string, std::string> files_of(const fs::path& run) {
  std::map<std::string, std::string> files;
  for (const char* folder : {"checkpoints", "best"}) {
    for (const auto& entry : fs::recursive_directory_iterator(run / folder)) {
      const fs::path& path = entry.path();
      const std::string name = fs::relative(path, run).string();
      files[name];
      if (path.extension() == ".safetensors") files[name] = read_file(path);
      if (path.filename() != "manifest.json") continue;
      nlohmann::json listed = json_of(path).at("files");
      listed.erase(listed.size() - 1);  // state.json has the number of processes
      files[name] = listed.dump();
    }
  }
  return files;
}

// The largest of all saves.
std::uint64_t largest_part(const fs::path& run) {
  std::ifstream log(run / "log.jsonl");
  std::uint64_t largest = 0;
  for (std::string line; std::getline(log, line);) {
    const nlohmann::json event = nlohmann::json::parse(line);
    if (event.at("event") != "checkpoint") continue;
    largest = std::max(largest, event.at("largest_part").get<std::uint64_t>());
  }
  return largest;
}

std::vector<std::string> of_two(std::vector<std::string> more = {}) {
  more.insert(more.end(), {"mesh.ici_mesh_shape=[4,1,1]", "mesh.processes=2"});
  return more;
}

void forbid_files(pid_t process) {
  const rlimit none{0, 0};
  REQUIRE(::prlimit(process, RLIMIT_FSIZE, &none, nullptr) == 0);
}

}  // namespace

TEST_CASE("processes save the bytes of one, and each copies its part alone", "[slow]") {
  const std::string stages =
      "\"mesh.mesh_axis_names=['stage','replica','data','mdl']\" task.model.num_layers=2 "
      "mesh.ici_mesh_shape=[2,1,2,1] ";
  const std::string lamb = " trainer.optimizer.type=optim/Lamb",
                    adafactor = " trainer.optimizer.type=optim/Adafactor";
  const std::string words =
      GENERATE_COPY(as<std::string>(), "mesh.ici_mesh_shape=[4,1,1]", "mesh.ici_mesh_shape=[1,4,1]",
                    "mesh.ici_mesh_shape=[1,2,2]", stages, "mesh.ici_mesh_shape=[4,1,1]" + lamb,
                    "mesh.ici_mesh_shape=[1,4,1]" + adafactor, stages + lamb);
  CAPTURE(words);
  // Whole variables are as equal as their sizes allow.
  const double slack = words.find("type=") == std::string::npos ? 1.1 : 1.6;
  Runs runs;
  const fs::path one = runs.train("one", words, 4);
  const auto expected = files_of(one);
  REQUIRE(expected.size() >= 8);
  for (const int count : {2, 4}) {
    CAPTURE(count);
    const std::string processes = std::to_string(count);
    const fs::path run = runs.train(processes, words + " --processes " + processes, 4);
    CHECK((files_of(run) == expected));
    CHECK(static_cast<double>(largest_part(run)) <
          slack * static_cast<double>(largest_part(one)) / count);
  }
}

TEST_CASE("what processes have saved is continued by another number of them", "[slow]") {
  const std::string words =
      GENERATE(as<std::string>(), "mesh.ici_mesh_shape=[4,1,1]", "mesh.ici_mesh_shape=[1,4,1]",
               "mesh.ici_mesh_shape=[1,4,1] trainer.optimizer.type=optim/Lamb",
               "\"mesh.mesh_axis_names=['stage','replica','data','mdl']\" task.model.num_layers=2 "
               "mesh.ici_mesh_shape=[2,1,2,1]");
  CAPTURE(words);
  Runs runs;
  const fs::path whole = runs.train("whole", words, 6);
  runs.train("parts", words + " --processes 4", 2);
  runs.train("parts", words + " --processes 2", 4);
  runs.train("parts", words + " --processes 4", 5);
  const fs::path parts = runs.train("parts", words, 6);
  CHECK((tensors_of(parts, 6) == tensors_of(whole, 6)));
  CHECK((tensors_of(parts, 4) == tensors_of(whole, 4)));
}

TEST_CASE("a process that cannot write ends the run, and the newest checkpoint is whole",
          "[slow]") {
  const int rank = GENERATE(0, 1);
  CAPTURE(rank);
  const TempDir dir;
  const fs::path one = dir.path() / "one", workdir = dir.path() / "run";
  const std::vector<std::string> words = of_two({"trainer.checkpoint_interval=400"});
  REQUIRE(run_to_end(one, 1, nullptr, words) == 0);
  {
    WatchedRun watched(workdir, run_words(workdir, 1, words), dir.path() / "out");
    REQUIRE(watched.wait_for_step(900));
    const std::vector<pid_t> ranks = children_of(watched.process.pid());
    REQUIRE(ranks.size() == 2);
    forbid_files(ranks[static_cast<std::size_t>(rank)]);
    CHECK(watched.process.wait() == 1);
    const std::string output = watched.process.output();
    INFO(output);
    if (rank == 1) {
      CHECK_THAT(output, Contains(" not saved: process 1 of 2: cannot write ") &&
                             Contains("File too large") && Contains(" is unchanged"));
      CHECK(state_of(workdir) == "failed");
    }
  }
  const ShellResult verified = trivet::test::trivet("ckpt verify " + quoted(workdir.string()));
  INFO(verified.output);
  CHECK(verified.exit_code == 0);
  REQUIRE(run_to_end(workdir, 1, nullptr, words) == 0);
  CHECK_FALSE(has_unfinished_checkpoint(workdir));
  CHECK(result_of(workdir) == result_of(one));
}

TEST_CASE("a process that does not see the directory of the run is named, with its machine") {
  const TempDir dir;
  // The same path, and another directory for each process, as on machines that share no disk.
  const std::string words = quoted(program().string()) + " run " +
                            quoted(config("lm/local.toml").string()) +
                            " --workdir /proc/self/cwd/run mode=train trainer.train_steps=4 "
                            "mesh.ici_mesh_shape=[2,1,1] mesh.processes=2 ";
  const std::string start = "TRIVET_PLUGIN_PATH=" + quoted(plugin_dir().string()) +
                            " TRIVET_PROCESSES=2 TRIVET_WORLD_FD=9 TRIVET_RANK=";
  const std::string folder = quoted(dir.path().string());
  const ShellResult result =
      shell("cd " + folder + "; mkdir a b; : > memory; exec 9<> memory; (cd b; " + start + "1 " +
            words + ") & cd a; " + start + "0 " + words + "; code=$?; wait $!; exit $code");
  INFO(result.output);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, Contains(" not saved: process 1 of 2: /proc/self/cwd/run/") &&
                                Contains(" is not on " + trivet::host_name()) &&
                                Contains("on a file system that their machines share"));
  CHECK(state_of(dir.path() / "a" / "run") == "failed");
  CHECK(fs::is_empty(dir.path() / "a" / "run" / "checkpoints"));
  CHECK_FALSE(fs::exists(dir.path() / "b" / "run"));
}

}  // namespace shared_saves_test
