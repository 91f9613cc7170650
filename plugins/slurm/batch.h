// SPDX-License-Identifier: Apache-2.0
// Builds the arguments and the script for sbatch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "slurm_config.h"
#include "submissions.h"
#include "trivet/launch/job.h"

namespace trivet::slurm {

// Returns a job's cores, memory, GPUs, time, partition and so on as options of sbatch. sbatch_args
// come last, so that they win.
std::vector<std::string> resource_arguments(const launch::Job& job, const SlurmConfig& config);

// Whether the job may have fewer processes where it gets fewer machines (Job::process_counts).
bool takes_fewer_nodes(const launch::Job& job);

// The words that start the replicas of a job in its allocation; empty for one process.
std::vector<std::string> starter_of(const launch::Job& job, const SlurmConfig& config);

// Returns the options of an array: name, tasks, directory, and dependency ("aftercorr:12", or
// empty).
std::vector<std::string> array_arguments(const Submission& submission, const SlurmConfig& config,
                                         const std::string& dependency);

// "0-3,7": the ranges of the tasks in the array.
std::string task_ranges(const std::vector<std::int64_t>& wids);

// How many machines Slurm gives to a job of an array.
enum class NodeCount { fixed, range };

// Returns the script of an array. The script calls `trivet job` and forwards Slurm's signals to it.
// `array_file` is the file of the array.
std::string batch_script(const std::filesystem::path& program,
                         const std::filesystem::path& array_file, const SlurmConfig& config,
                         NodeCount nodes = NodeCount::fixed);

}  // namespace trivet::slurm
