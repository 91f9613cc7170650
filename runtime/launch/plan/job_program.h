// SPDX-License-Identifier: Apache-2.0
//
// What a job starts: a program, or a script with its interpreter in front.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launch/plan/launch_files.h"
#include "trivet/launch/experiment.h"

namespace trivet {

struct JobProgram {
  std::vector<std::string> interpreter;  // "/usr/bin/python3"; empty: the file is started itself
  LaunchFile file;
  bool is_script = false;
  bool is_python = false;  // looks for modules beside itself
};

// Throws ConfigError for a target that is not there, at `path`.
JobProgram find_job_program(const launch::JobParams& job, launch::Snapshot snapshot,
                            LaunchFiles& files, const std::string& path);

// An executable as a shell finds it, absolute; nothing when there is none.
std::optional<std::filesystem::path> find_program(const std::string& target,
                                                  const std::filesystem::path& working_directory);

}  // namespace trivet
