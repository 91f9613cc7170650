// SPDX-License-Identifier: Apache-2.0
// What sbatch is told of a job.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "slurm_config.h"
#include "submissions.h"
#include "trivet/launch/job.h"

namespace trivet::slurm {

// Cores, memory, GPUs, time, partition and so on of a job, as options of sbatch; sbatch_args last,
// so that they win.
std::vector<std::string> resource_arguments(const launch::Job& job, const SlurmConfig& config);

// Those of an array: its name, tasks, directory, and what it waits for ("aftercorr:12", or empty).
std::vector<std::string> array_arguments(const Submission& submission, const SlurmConfig& config,
                                         const std::string& dependency);

// "0-3,7" of the tasks that are part of it.
std::string task_ranges(const std::vector<std::int64_t>& wids);

// The script of an array: calls `trivet job` and passes on what Slurm wants of it. The file it
// names is `array_file`.
std::string batch_script(const std::filesystem::path& program,
                         const std::filesystem::path& array_file, const SlurmConfig& config);

}  // namespace trivet::slurm
