// SPDX-License-Identifier: Apache-2.0
#include "batch.h"

#include <algorithm>
#include <cmath>

namespace trivet::slurm {
namespace {

using launch::Job;

// "2-03:04:05", as Slurm writes days; whole minutes are what it measures in.
std::string time_text(double seconds) {
  const auto minutes = static_cast<std::int64_t>(std::ceil(std::min(seconds, 3e10) / 60));
  const std::int64_t days = minutes / (24 * 60), hours = minutes / 60 % 24;
  const auto two = [](std::int64_t number) {
    return (number < 10 ? "0" : "") + std::to_string(number);
  };
  return std::to_string(days) + "-" + two(hours) + ":" + two(minutes % 60) + ":00";
}

// The keeper ends a job at its own limit; Slurm's lies behind that, and the grace.
double allocated_seconds(const Job& job, const SlurmConfig& config) {
  constexpr double kMargin = 60;
  if (config.time.seconds > 0) return config.time.seconds;
  if (job.time_limit_seconds <= 0) return 0;
  return job.time_limit_seconds + config.grace.seconds + kMargin;
}

// "v100" names a type of GPU; "cuda" and "gpu" any.
std::string gpus_text(const Job& job) {
  const bool is_any = job.platform == "cpu" || job.platform == "cuda" || job.platform == "gpu";
  return "gpu:" + (is_any ? "" : job.platform + ":") + std::to_string(job.gpus);
}

std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace

std::vector<std::string> resource_arguments(const Job& job, const SlurmConfig& config) {
  std::vector<std::string> arguments = {"--nodes=1", "--ntasks=1",
                                        "--cpus-per-task=" + std::to_string(job.cores)};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) arguments.push_back(option + value);
  };
  if (job.memory_bytes > 0) {
    add("--mem=", std::to_string(job.memory_bytes / 1024 + (job.memory_bytes % 1024 > 0)) + "K");
  }
  if (job.gpus > 0) add("--gres=", gpus_text(job));
  add("--partition=", job.cell.empty() ? config.partition : job.cell);
  add("--account=", config.account);
  add("--qos=", config.qos);
  const double seconds = allocated_seconds(job, config);
  if (seconds > 0) add("--time=", time_text(seconds));
  const auto grace = static_cast<std::int64_t>(std::min(config.grace.seconds, 65535.0));
  if (grace > 0) add("--signal=", "B:USR1@" + std::to_string(grace));
  // Only lower priorities are everybody's to ask for.
  if (job.priority < 200) add("--nice=", std::to_string((200 - job.priority) * 10));
  arguments.push_back(config.requeue ? "--requeue" : "--no-requeue");
  arguments.insert(arguments.end(), config.sbatch_args.begin(), config.sbatch_args.end());
  return arguments;
}

std::vector<std::string> array_arguments(const Submission& submission, const SlurmConfig& config,
                                         const std::string& dependency) {
  std::string array = "--array=" + task_ranges(submission.array.wids);
  if (config.max_parallel > 0) array += "%" + std::to_string(config.max_parallel);
  // A relative name for the output: signs that stand for something in it could be in the directory.
  std::vector<std::string> arguments = {"--job-name=" + submission.name,
                                        array,
                                        "--chdir=" + submission.directory.string(),
                                        "--output=%a.log",
                                        "--open-mode=append",
                                        "--export=ALL"};
  if (!dependency.empty()) {
    arguments.push_back("--dependency=" + dependency);
    arguments.push_back("--kill-on-invalid-dep=yes");
  }
  return arguments;
}

std::string task_ranges(const std::vector<std::int64_t>& wids) {
  std::string text;
  for (std::size_t begin = 0; begin < wids.size(); ++begin) {
    if (wids[begin] == 0) continue;
    std::size_t end = begin;
    while (end + 1 < wids.size() && wids[end + 1] != 0) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(begin);
    if (end > begin) text += "-" + std::to_string(end);
    begin = end;
  }
  return text;
}

std::string batch_script(const std::filesystem::path& program,
                         const std::filesystem::path& array_file, const SlurmConfig& config) {
  std::string script =
      "#!/bin/bash\n"
      "# One task of an array of jobs; which one, and how it is started, stands in array.json.\n"
      "id=${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}\n"
      "# Slurm signals the script alone: TERM when it is cancelled or preempted, USR1 before its\n"
      "# time is up. What comes before the job has begun is told it then.\n"
      "job= told=\n"
      "tell() { if [ \"$job\" ]; then kill -\"$1\" \"$job\" 2>/dev/null; else told=$1; fi; }\n"
      "trap 'tell TERM' TERM INT HUP\n"
      "trap 'tell USR1' USR1\n" +
      quoted(program.string()) + " job " + quoted(array_file.string()) +
      " \"$SLURM_ARRAY_TASK_ID\" --detail \"Slurm job $id\" &\n"
      "job=$!\n"
      "[ ! \"$told\" ] || tell \"$told\"\n"
      "while :; do\n"
      "  wait \"$job\"\n"
      "  code=$?\n"
      "  kill -0 \"$job\" 2>/dev/null || break\n"
      "done\n";
  if (config.requeue) {
    script +=
        "# 75: start me again. Slurm itself does so where it has begun to end the job.\n"
        "if [ \"$code\" = 75 ] &&\n"
        "  [ \"$(squeue --noheader --jobs=\"$id\" --format=%T)\" = RUNNING ]; then\n"
        "  scontrol requeue \"$id\"\n"
        "fi\n";
  }
  return script + "exit \"$code\"\n";
}

}  // namespace trivet::slurm
