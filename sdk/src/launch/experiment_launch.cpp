// SPDX-License-Identifier: Apache-2.0
// launch(): an experiment that a program has built, handed to `trivet launch`.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

#include "trivet/config.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/launch/experiment.h"
#include "trivet/os/file.h"
#include "trivet/os/subprocess.h"
#include "trivet/version.h"

namespace trivet::launch {
namespace {

namespace fs = std::filesystem;

// Members that say nothing: TOML has no null, and a default need not be said.
Value without_defaults(const Value& value, const Value& standard) {
  if (!value.is_table()) return value;
  Value kept = Value::table();
  for (const Value::Member& member : value.members()) {
    const Value* other = standard.find(member.key);
    if (member.value.is_null() || (other != nullptr && *other == member.value)) continue;
    kept.set(member.key, without_defaults(member.value, other != nullptr ? *other : Value()));
  }
  return kept;
}

Value to_xp(const Experiment& experiment) {
  Value xp = without_defaults(encode(experiment), encode(Experiment()));
  if (Value* jobs = xp.find("jobs")) {
    const Value plain = encode(JobConfig());
    for (Value::Member& job : jobs->members()) job.value = without_defaults(job.value, plain);
  }
  return xp;
}

// A file that is gone with this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    const fs::path folder = fs::temp_directory_path();
    std::string pattern = (folder / "trivet-xp-XXXXXX.toml").string();
    const UniqueFd file(::mkostemps(pattern.data(), 5, O_CLOEXEC));
    if (!file) throw_system_error("make a file in", folder, errno);
    path_ = pattern;
    try {
      write_all(file, text, path_);
    } catch (...) {
      ::unlink(path_.c_str());
      throw;
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

std::string program() {
  if (const char* named = std::getenv("TRIVET_PROGRAM")) return named;
  std::error_code ignored;
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  if (self.filename() == "trivet") return self.string();
  Dl_info library{};
  if (::dladdr(reinterpret_cast<const void*>(&version), &library) != 0) {
    const fs::path folder = fs::canonical(library.dli_fname, ignored).parent_path();
    // Installed (lib/ or lib/TRIPLET/ beside bin/), and in a build tree.
    for (const char* location : {"../bin/trivet", "../../bin/trivet", "../runtime/trivet"}) {
      if (is_program(folder / location)) return (folder / location).lexically_normal().string();
    }
  }
  return "trivet";
}

// Runs the program to its end.
ProgramResult run(const std::vector<std::string>& words) {
  try {
    return run_program(words);
  } catch (const RunError& error) {
    throw RunError(error.message(), {.hint = "TRIVET_PROGRAM names the program to launch with"});
  }
}

}  // namespace

Launched launch(const Experiment& experiment, const fs::path& config,
                const std::vector<std::string>& overrides) {
  const TemporaryFile file("xp = " + to_toml(to_xp(experiment)) + "\n");
  std::vector<std::string> words = {program(), "launch", "--json", "--xp=" + file.path().string()};
  if (!config.empty()) words.push_back("--cfg=" + config.string());
  for (const std::string& text : overrides) words.push_back("--cfg." + text);
  const ProgramResult outcome = run(words);
  if (outcome.exit_code == 2) throw ConfigError(Diagnostic{.what = outcome.errors});
  if (outcome.exit_code != 0) {
    throw RunError("'trivet launch' ended with exit code " + std::to_string(outcome.exit_code) +
                   ": " + outcome.errors);
  }
  const Value answer = value_from_json(outcome.out, "the answer of 'trivet launch'");
  const Value* xid = answer.find("xid");
  const Value* directory = answer.find("xp_dir");
  if (xid == nullptr || directory == nullptr) {
    throw RunError("'trivet launch' reported no experiment: " + outcome.out);
  }
  return {xid->as_integer(), directory->as_string()};
}

}  // namespace trivet::launch
