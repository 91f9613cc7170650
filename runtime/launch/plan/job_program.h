// SPDX-License-Identifier: Apache-2.0
// The program of a job: an executable, or a script with its interpreter.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launch/plan/launch_files.h"
#include "trivet/launch/experiment.h"

namespace trivet {

struct JobProgram {
  std::vector<std::string> interpreter;  // "/usr/bin/python3"; empty: the file is executable
  LaunchFile file;
  bool is_script = false;
  bool is_python = false;  // finds modules next to itself
};

// Throws ConfigError at `path` if the target does not exist.
JobProgram find_job_program(const launch::JobParams& job, launch::Snapshot snapshot,
                            LaunchFiles& files, const std::string& path);

// The absolute path of an executable, found as a shell does. Nothing if it does not exist.
std::optional<std::filesystem::path> find_program(const std::string& target,
                                                  const std::filesystem::path& working_directory);

}  // namespace trivet
