// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/job_program.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/process_info.h"
#include "trivet/error.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;
using launch::Snapshot;

bool is_executable(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

// "#!/usr/bin/env python3". Empty if the file names no interpreter.
std::string shebang_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  char head[2] = {};
  in.read(head, 2);
  if (in.gcount() != 2 || head[0] != '#' || head[1] != '!') return {};
  std::string line;
  std::getline(in, line);
  return "#!" + line;
}

[[noreturn]] void refuse(const std::string& path, const std::string& what,
                         const std::string& hint = {}) {
  throw ConfigError(Diagnostic{.path = path, .what = what, .hint = hint});
}

// A path with '/' is a user's file. A program on PATH belongs to the machine and may need the files
// next to it.
bool is_own(const std::string& target) {
  return target.find('/') != std::string::npos;
}

LaunchFiles::Use use_of(bool is_copied) {
  return is_copied ? LaunchFiles::Use::copy : LaunchFiles::Use::original;
}

JobProgram executable(const std::string& target, Snapshot snapshot, LaunchFiles& files,
                      const std::string& path) {
  const auto found = is_own(target) && is_executable(files.content(target))
                         ? std::optional(files.absolute(target))
                         : find_program(target, files.absolute("."));
  if (!found) {
    refuse(path, "no such program: '" + target + "'",
           is_own(target) ? "the target must be an executable file"
                          : "no program on PATH has this name; write ./" + target +
                                " for one in this directory");
  }
  const std::string shebang = shebang_of(files.content(*found));
  JobProgram program;
  program.is_script = !shebang.empty() && is_own(target);
  program.is_python = program.is_script && shebang.find("python") != std::string::npos;
  const bool copied =
      snapshot == Snapshot::programs || (snapshot == Snapshot::scripts && program.is_script);
  program.file = files.take(*found, use_of(copied && is_own(target)));
  return program;
}

JobProgram script(const std::string& target, const std::string& interpreter, Snapshot snapshot,
                  LaunchFiles& files, const std::string& path) {
  const auto found = find_program(interpreter, files.absolute("."));
  if (!found) refuse(path, "no such interpreter: '" + interpreter + "'");
  std::error_code ignored;
  if (!fs::is_regular_file(files.content(target), ignored)) {
    refuse(path, "no such script: '" + target + "'");
  }
  JobProgram program;
  program.interpreter = {found->string()};
  program.is_script = true;
  program.is_python = found->filename().string().starts_with("python");
  program.file = files.take(target, use_of(snapshot != Snapshot::files));
  return program;
}

}  // namespace

JobProgram find_job_program(const launch::JobParams& job, Snapshot snapshot, LaunchFiles& files,
                            const std::string& path) {
  const std::string target = job.target.value_or("");
  const std::string interpreter = job.interpreter.value_or("");
  if (!interpreter.empty()) return script(target, interpreter, snapshot, files, path);
  if (target == "trivet") {
    JobProgram program;
    program.file = files.take(own_program(), LaunchFiles::Use::original);
    return program;
  }
  const fs::path content = files.content(target);
  const bool starts_itself = is_executable(content) && !shebang_of(content).empty();
  if (fs::path(target).extension() == ".py" && !starts_itself) {
    return script(target, "python3", snapshot, files, path);
  }
  return executable(target, snapshot, files, path);
}

std::optional<fs::path> find_program(const std::string& target, const fs::path& working_directory) {
  if (target.find('/') != std::string::npos) {
    const fs::path path = (working_directory / target).lexically_normal();
    return is_executable(path) ? std::optional(path) : std::nullopt;
  }
  const char* variable = std::getenv("PATH");
  std::string rest = variable != nullptr ? variable : "/usr/bin:/bin";
  while (!rest.empty() && !target.empty()) {
    const std::size_t colon = rest.find(':');
    const fs::path folder = rest.substr(0, colon);
    if (!folder.empty() && is_executable(folder / target)) {
      return (working_directory / folder / target).lexically_normal();
    }
    rest = colon == std::string::npos ? std::string() : rest.substr(colon + 1);
  }
  return std::nullopt;
}

}  // namespace trivet
