// SPDX-License-Identifier: Apache-2.0
#include "run_fixture.h"

#include <algorithm>
#include <sstream>

#include "support/overrides.h"
#include "support/paths.h"

namespace trivet::test {

std::filesystem::path config(std::string_view name) {
  return source_root() / "configs" / name;
}

ShellResult trivet(const std::string& words, const std::string& settings) {
  static const TempDir cache;
  return shell("TRIVET_PLUGIN_PATH=" + quoted(plugin_dir().string()) +
               " HOME=/nonexistent XDG_CACHE_HOME=" + quoted(cache.path().string()) + " " +
               settings + quoted(program().string()) + " " + words);
}

ShellResult run(const std::filesystem::path& config, const std::filesystem::path& workdir,
                const std::string& more, const std::string& settings) {
  return trivet("run " + quoted(config.string()) + " --workdir " + quoted(workdir.string()) + " " +
                    last_of_each(more),
                settings);
}

nlohmann::json json_of(const std::filesystem::path& file) {
  return nlohmann::json::parse(read_file(file));
}

std::vector<nlohmann::json> records(const std::filesystem::path& workdir, std::string_view kind) {
  std::istringstream lines(read_file(workdir / "metrics.jsonl"));
  std::vector<nlohmann::json> found;
  for (std::string line; std::getline(lines, line);) {
    auto record = nlohmann::json::parse(line);
    if (record.at("kind") == kind) found.push_back(std::move(record));
  }
  return found;
}

std::string one_bad_step(const std::filesystem::path& workdir, std::int64_t first) {
  std::vector<double> losses;
  for (const auto& record : records(workdir, "train")) {
    if (record.at("step") >= first) losses.push_back(record.at("values").at("training_loss"));
  }
  std::sort(losses.rbegin(), losses.rend());
  return "trainer.recovery_begin_steps=" + std::to_string(first) +
         " trainer.recovery_max_trials=9 trainer.loss_upper_bound=" +
         std::to_string((losses.at(0) + losses.at(1)) / 2) + " ";
}

std::vector<std::string> fallback_kernels(const std::filesystem::path& workdir) {
  std::vector<std::string> names;
  const auto summary = json_of(workdir / "summary.json");
  for (const auto& kernel : summary.at("kernels")) {
    if (kernel.at("fallback") > 0) names.push_back(kernel.at("kernel"));
  }
  return names;
}

}  // namespace trivet::test
