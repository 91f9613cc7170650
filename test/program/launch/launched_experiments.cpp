// SPDX-License-Identifier: Apache-2.0
#include "launched_experiments.h"

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "support/shell.h"

namespace trivet::test {

using Json = nlohmann::json;

bool comes_true(const std::function<bool()>& fact, int seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!fact()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

Experiments::~Experiments() {
  if (!std::filesystem::exists(root / "1")) return;
  trivet("cancel 1");
  comes_true([&] {
    const Json now = Json::parse(trivet("status --json 1 2>/dev/null").output, nullptr, false);
    if (!now.is_object()) return true;
    const Json& states = now.at("states");
    const bool goes_on = states.contains("running") || states.contains("queued");
    return !goes_on && !now.value("supervised", false);
  });
}

ShellResult Experiments::trivet(const std::string& words) const {
  return test::trivet(words, settings_ + "TRIVET_ROOT=" + quoted(root.string()) +
                                 " XDG_RUNTIME_DIR=" + quoted(folder.path().string()) + " ");
}

ShellResult Experiments::launch(const std::string& script, int units, const std::string& more,
                                const std::string& job) const {
  const std::string text = "[xp]\nroot_dir = '" + root.string() + "'\n[xp.orchestrator]\n" +
                           orchestrator_ +
                           "[xp.sweep_info]\ntype = 'sweeps/ConfigSweep'\n"
                           "[xp.jobs.main]\ntarget = '/bin/sh'\nargs = ['-c', '''" +
                           script + "''', '{wu_dir}']\n" + job;
  const std::filesystem::path file = folder.write("xp.toml", text);
  return trivet("launch --xp=" + quoted(file.string()) + " --sweep 'n=range(1, " +
                std::to_string(units + 1) + ")' " + more);
}

std::string Experiments::into_first() const {
  return std::filesystem::exists(root / ".trivet/experiments/1") ? "--xid=1 " : "";
}

Json Experiments::status(const std::string& id) const {
  // Output on stderr is not JSON.
  const ShellResult result = trivet("status --json " + id + " 2>/dev/null");
  if (result.exit_code != 0) throw std::runtime_error("trivet status: " + result.output);
  return Json::parse(result.output);
}

int Experiments::count(const std::string& state) const {
  return status().at("states").value(state, 0);
}

bool Experiments::all_are(const std::string& state) const {
  const Json now = status();
  return now.at("states").value(state, std::size_t{0}) == now.at("units").size();
}

Json Experiments::job(int wid, const std::string& name) const {
  return status("1/" + std::to_string(wid)).at("units").at(0).at("jobs").at(name);
}

std::string Experiments::state(int wid, const std::string& name) const {
  return job(wid, name).at("state");
}

void Experiments::kill_supervisor() const {
  if (!status().at("supervised").get<bool>()) return;
  std::ifstream in(root / "1/supervisor.json");
  const Json facts = Json::parse(in, nullptr, false);
  if (!facts.is_object()) return;
  // The file of an ended supervisor has a process id that may be reused.
  const auto pid = facts.at("pid").get<pid_t>();
  const std::string words = read_process_file("/proc/" + std::to_string(pid), "cmdline");
  if (words.find(root.string()) != std::string::npos) ::kill(pid, SIGKILL);
}

std::filesystem::path Experiments::unit_file(int wid, const std::string& name) const {
  return std::filesystem::path(
             status("1/" + std::to_string(wid)).at("units").at(0).at("wu_dir").get<std::string>()) /
         name;
}

}  // namespace trivet::test
