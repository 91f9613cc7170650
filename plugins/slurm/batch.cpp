// SPDX-License-Identifier: Apache-2.0
#include "batch.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "job_states.h"

namespace trivet::slurm {
namespace {

using launch::Job;

// "2-03:04:05", Slurm's format with days. Slurm measures whole minutes.
std::string time_text(double seconds) {
  const auto minutes = static_cast<std::int64_t>(std::ceil(std::min(seconds, 3e10) / 60));
  const std::int64_t days = minutes / (24 * 60), hours = minutes / 60 % 24;
  const auto two = [](std::int64_t number) {
    return (number < 10 ? "0" : "") + std::to_string(number);
  };
  return std::to_string(days) + "-" + two(hours) + ":" + two(minutes % 60) + ":00";
}

// The shim ends a job at its own limit. Slurm's limit is later, by the grace period and more.
double allocated_seconds(const Job& job, const SlurmConfig& config) {
  constexpr double kMargin = 60;
  if (config.time.seconds > 0) return config.time.seconds;
  if (job.time_limit_seconds <= 0) return 0;
  return job.time_limit_seconds + config.grace.seconds + kMargin;
}

std::int64_t replicas_on_node(const Job& job) {
  return job.replicas / job.nodes;
}

// The machines that the fewest processes of the job need.
std::int64_t fewest_nodes(const Job& job) {
  if (!takes_fewer_nodes(job)) return job.nodes;
  const std::int64_t on_node = replicas_on_node(job);
  return (job.process_counts.front() + on_node - 1) / on_node;
}

// Once Slurm has given a job all of its nodes it keeps their number of tasks, and would never again
// start the job on fewer. So a job that takes fewer asks for no tasks, but for cores of each node.
std::vector<std::string> node_arguments(const Job& job) {
  const std::string nodes = std::to_string(job.nodes);
  const std::int64_t on_node = replicas_on_node(job);
  if (const std::int64_t fewest = fewest_nodes(job); fewest < job.nodes) {
    return {"--nodes=" + std::to_string(fewest) + "-" + nodes,
            "--mincpus=" + std::to_string(job.cores * on_node)};
  }
  std::vector<std::string> arguments = {"--nodes=" + nodes,
                                        "--ntasks=" + std::to_string(job.replicas)};
  if (job.replicas > 1) arguments.push_back("--ntasks-per-node=" + std::to_string(on_node));
  arguments.push_back("--cpus-per-task=" + std::to_string(job.cores));
  return arguments;
}

// "v100" names a type of GPU; "cuda" and "gpu" mean any. For a machine.
std::string gpus_text(const Job& job) {
  const bool is_any = job.platform == "cpu" || job.platform == "cuda" || job.platform == "gpu";
  return "gpu:" + (is_any ? "" : job.platform + ":") +
         std::to_string(job.gpus * replicas_on_node(job));
}

std::string quote(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

// Exit code 75 requests a restart. The script requeues the job even in an unknown state, and asks
// again if Slurm does not answer.
std::string requeue_script() {
  std::string over;
  for (const auto& states : {std::span<const std::string_view>(kEndedStates),
                             std::span<const std::string_view>(kEndingStates)}) {
    for (const std::string_view state : states) {
      over += (over.empty() ? "" : "|") + std::string(state);
    }
  }
  return "# 75 requests a restart. If Slurm has already started to end the job, it restarts the "
         "job\n"
         "# itself or never.\n"
         "if [ \"$code\" = 75 ]; then\n"
         "  trap 'exit 75' TERM INT HUP\n"
         "  for pause in 1 5 20 0; do\n"
         "    if state=$(squeue --noheader --jobs=\"$id\" --format=%T); then\n"
         "      case $state in\n"
         "        ''|" +
         over +
         ") echo \"trivet: job $id is ${state:-unknown} in Slurm, which decides about a restart\" "
         ">&2\n"
         "          break ;;\n"
         "      esac\n"
         "      if scontrol requeue \"$id\"; then\n"
         "        # Slurm ends this script now. An exit code that came first could count as the\n"
         "        # job's end.\n"
         "        for second in {1..120}; do sleep 1; done\n"
         "        break\n"
         "      fi\n"
         "    fi\n"
         "    sleep \"$pause\"\n"
         "  done\n"
         "fi\n";
}

}  // namespace

bool takes_fewer_nodes(const Job& job) {
  return job.replicas > 1 && !job.process_counts.empty();
}

std::vector<std::string> resource_arguments(const Job& job, const SlurmConfig& config) {
  std::vector<std::string> arguments = node_arguments(job);
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) arguments.push_back(option + value);
  };
  if (job.memory_bytes > 0) {
    const std::int64_t kibibytes = job.memory_bytes / 1024 + (job.memory_bytes % 1024 > 0);
    add("--mem=", std::to_string(kibibytes * replicas_on_node(job)) + "K");
  }
  if (job.gpus > 0) add("--gres=", gpus_text(job));
  add("--partition=", job.cell.empty() ? config.partition : job.cell);
  add("--account=", config.account);
  add("--qos=", config.qos);
  const double seconds = allocated_seconds(job, config);
  if (seconds > 0) add("--time=", time_text(seconds));
  const auto grace = static_cast<std::int64_t>(std::min(config.grace.seconds, 65535.0));
  if (grace > 0) add("--signal=", "B:USR1@" + std::to_string(grace));
  // Users may only lower the priority.
  if (job.priority < 200) add("--nice=", std::to_string((200 - job.priority) * 10));
  arguments.push_back(config.requeue ? "--requeue" : "--no-requeue");
  arguments.insert(arguments.end(), config.sbatch_args.begin(), config.sbatch_args.end());
  return arguments;
}

// srun passes signals on, has the highest exit code of the processes, and sets SLURM_PROCID. It
// takes no cores per task from sbatch. The processes of a run end together, with any exit code; if
// one is killed, srun ends the others after a while.
std::vector<std::string> starter_of(const Job& job, const SlurmConfig& config) {
  if (job.replicas == 1) return {};
  const bool varies = takes_fewer_nodes(job);
  const auto number = [&](std::int64_t fixed, const char* filled_in) {
    return varies ? std::string(filled_in) : std::to_string(fixed);
  };
  std::vector<std::string> words = {
      "/usr/bin/env",
      "srun",
      "--nodes=" + number(job.nodes, "{nodes}"),
      "--ntasks=" + number(job.replicas, "{replicas}"),
      "--ntasks-per-node=" + number(replicas_on_node(job), "{replicas_on_node}"),
      "--cpus-per-task=" + std::to_string(job.cores)};
  if (!job.communicates) {
    words.push_back("--label");
  } else {
    words.insert(words.end(), {"--kill-on-bad-exit=0", "--wait=10"});
    if (!config.mpi.empty()) words.push_back("--mpi=" + config.mpi);
  }
  words.push_back("--");
  return words;
}

std::vector<std::string> array_arguments(const Submission& submission, const SlurmConfig& config,
                                         const std::string& dependency) {
  std::string array = "--array=" + task_ranges(submission.array.wids);
  if (config.max_parallel > 0) array += "%" + std::to_string(config.max_parallel);
  // Uses a relative name for the output: the directory's path could contain Slurm's placeholders.
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
                         const std::filesystem::path& array_file, const SlurmConfig& config,
                         NodeCount nodes) {
  // Where one of several machines has failed, Slurm may not know of it yet: the job is queued again
  // and gets others, or fewer.
  const std::string chosen = nodes == NodeCount::fixed ? ""
                             : config.requeue ? " --nodes \"${SLURM_JOB_NUM_NODES:-1}\" --elsewhere"
                                              : " --nodes \"${SLURM_JOB_NUM_NODES:-1}\"";
  const std::string script =
      "#!/bin/bash\n"
      "# Runs one task of an array of jobs, as described in array.json.\n"
      "id=${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}\n"
      "# Slurm signals only the script: TERM for cancel or preemption, USR1 before its time is "
      "up.\n"
      "# Signals that arrive before the program is ready are passed on later.\n"
      "job= told= code=1\n"
      "pass() {\n"
      "  if [ \"$job\" ] && [ \"$told\" ]; then\n"
      "    kill -\"$told\" \"$job\" 2>/dev/null\n"
      "    told=\n"
      "  fi\n"
      "}\n"
      "trap 'told=TERM; pass' TERM INT HUP\n"
      "trap 'told=USR1; pass' USR1\n"
      "# A pipe carries the program's readiness and exit code, since Bash's 'wait' may miss a\n"
      "# signal.\n"
      "exec 9< <(\n"
      "  trap : TERM INT HUP USR1\n"
      "  " +
      quote(program.string()) + " job " + quote(array_file.string()) +
      " \"$SLURM_ARRAY_TASK_ID\" --detail \"Slurm job $id\" --ready" + chosen +
      "\n"
      "  echo \"end $?\"\n"
      ")\n"
      "# A signal may interrupt 'read' inside a line, or make it fail once as at the end of the\n"
      "# pipe, where every later one fails, too.\n"
      "IFS= line= failures=0\n"
      "while :; do\n"
      "  read -r -t 2 -u 9 part\n"
      "  state=$?\n"
      "  line+=$part\n"
      "  if [ \"$state\" = 0 ]; then\n"
      "    case $line in\n"
      "      'ready '*) job=${line#ready } ;;\n"
      "      'end '*) code=${line#end }; break ;;\n"
      "    esac\n"
      "    line= failures=0\n"
      "  elif [ \"$state\" -le 128 ]; then\n"
      "    failures=$((failures + 1))\n"
      "    if [ \"$failures\" = 10 ]; then\n"
      "      echo \"trivet: job $id did not report how its program ended\" >&2\n"
      "      break\n"
      "    fi\n"
      "  else\n"
      "    failures=0\n"
      "  fi\n"
      "  pass\n"
      "done\n";
  return script + (config.requeue ? requeue_script() : "") + "exit \"$code\"\n";
}

}  // namespace trivet::slurm
