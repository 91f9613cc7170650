// SPDX-License-Identifier: Apache-2.0
// Job: one process of a work unit. JobParams is what a config says of it, Job what is started:
// everything resolved.
//
//   [xp.jobs.train]
//   target = "/opt/bin/trainer"
//   args = { workdir = "{wu_dir}", batch_size = 64 }     # --workdir=... --batch_size=64
//   platform = "cuda=2"
//
// In every string of `args` and `env` these placeholders are replaced late, each kept in the text
// around it:
//
//   {wu_dir} {xp_dir}      directories of the work unit and of the experiment
//   {file:NAME}            where the copy of the file NAME of `files` lies
//   {cfg}                  the run's config: the value of an argument, which becomes --NAME=FILE
//   {xid} {wid} ...        the placeholders of subdir_format.h
//
// "{{" and "}}" are braces.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/config/integer_range.h"
#include "trivet/config/value.h"
#include "trivet/launch/sweep_info.h"

namespace trivet::launch {

// An unset field takes the experiment's value, then the documented default. A field that is set
// counts, also 0 and "": a job with gpus = 0 takes none, whatever the experiment says.
struct JobParams {
  std::optional<std::string> target;
  std::optional<std::string> interpreter;
  Value args;
  Map<Value> env;
  std::optional<std::vector<std::string>> env_pass;
  Map<Path> files;
  std::optional<std::string> platform;
  std::optional<std::int64_t> cores;
  std::optional<Bytes> memory;
  std::optional<std::int64_t> gpus;
  std::optional<IntegerRange> replicas;
  std::optional<std::int64_t> nodes;
  std::optional<Duration> time_limit;
  std::optional<std::int64_t> priority;
  std::optional<std::string> cell;
  std::optional<std::int64_t> retries;
  std::optional<std::vector<std::string>> after;

  TRIVET_API void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    JobParams, trivet::NoBase,
    (target,
     "Program to start: an executable (a path, or a name on PATH), a script ending in .py, or "
     "\"trivet\", this program."),
    (interpreter,
     "Interpreter of a script: \"python3\", \"bash\". Default: the one in the first line of an "
     "executable script (#!), else python3 for .py."),
    (args,
     "Arguments of the job. In a table, each member becomes --NAME=VALUE: strings unchanged, other "
     "values as JSON. A list may mix words, which are passed unchanged, and such tables. A table "
     "over a list adds to the list. Strings here and in env may contain {wu_dir} and {xp_dir} (the "
     "directories of the unit and of the experiment), {cfg} (the run's config), {file:NAME} and "
     "the placeholders of subdir_format: {xid}, {wid}, {name}, {author}, {cell}, {sweep_kwargs}, "
     "{repeat}."),
    (env,
     "Environment variables of the job, beyond the few that every job gets. A boolean becomes true "
     "or false.",
     alias("env_vars")),
    (env_pass,
     "Names of environment variables to pass to the job; \"HF_*\" passes all with this prefix. "
     "trivet does not record the values."),
    (files,
     "Files that the job needs, by the name in {file:NAME}. Each must exist; the launch copies it "
     "and the job reads the copy. A directory is not copied."),
    (platform,
     "Hardware of the job: \"cpu\", \"cpu=8\" (cores), \"cuda=2\" (GPUs on one machine), "
     "\"v100=4x2\" (4 GPUs for each of 2 replicas). Default: cpu."),
    (cores, "Processor cores of the job. Default: 1, or those of platform.", at_least(0),
     alias("cpus")),
    (memory,
     "Memory limit of the job: \"16GiB\", \"500MB\". Default and 0: memory is not counted. Slurm, "
     "and local/Orchestrator with cgroups, kill a job that uses more.",
     at_least(0), alias("ram")),
    (gpus, "GPUs of the job. Default: 0, or those of platform.", at_least(0)),
    (replicas,
     "Processes of the job, which start and end together; each has the cores, the memory and the "
     "GPUs. For a run of trivet this is mesh.processes, and may be a range such as \"1..8\": each "
     "attempt has the largest number in it that the mesh allows and that fits. Other programs can "
     "have several only with an orchestrator that starts them (slurm/Orchestrator). Default: "
     "mesh.processes for a run, else 1, or those of platform.",
     at_least(1), at_most(100000), alias("processes")),
    (nodes,
     "Machines for the replicas, the same number on each; of a range, for the largest number. "
     "Default: one for each replica.",
     at_least(1)),
    (time_limit, "The job is killed after this time: \"90s\", \"4h\"; default: none."),
    (priority,
     "Priority; higher starts first: 200 production (the default), 115 batch, 25 freebie.",
     at_least(0)),
    (cell, "Partition of the cluster."),
    (retries,
     "Number of restarts after failures. Exit codes 2 (a mistake in the config) and 3 (a plugin "
     "that cannot be used) are not retried; 75 (preempted) always is.",
     at_least(0), at_most(1000)),
    (after,
     "Jobs of the same work unit that must have completed before this one starts: \"NAME\"; or, as "
     "in Slurm, \"afterany:NAME\" (ended in any way), \"afternotok:NAME\" (failed), \"after:NAME\" "
     "(started)."))

// Of --NAME=VALUE: not empty, no dash in front.
TRIVET_API bool is_argument_name(std::string_view name);

// Those of `replicas`, or of `platform`.
TRIVET_API IntegerRange replicas_of(const JobParams& params);

struct JobConfig : JobParams {
  Value swept;

  TRIVET_API void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(JobConfig, JobParams,
              (swept,
               "Names of the sweep that the job gets: true (all, the default), false (none), or a "
               "list of names."))

enum class AfterKind { afterok, afterany, afternotok, after };
TRIVET_ENUM(AfterKind, afterok, afterany, afternotok, after)

struct Dependency {
  AfterKind kind = AfterKind::afterok;
  std::string job;
};
// "afterany:train"; nothing for an unknown word before the colon or no name.
TRIVET_API std::optional<Dependency> parse_dependency(std::string_view text);

struct Platform {
  std::string name = "cpu";  // lower case
  std::int64_t count = 0;    // cores for cpu, GPUs for anything else; 0: not said
  std::int64_t replicas = 1;
};
// "cpu", "cpu=8", "cuda=2", "df=4x4" (the product). The dimensions of GPUs after the first are
// replicas: "v100=4x2" is 4 GPUs for each of 2. Nothing for any other text.
TRIVET_API std::optional<Platform> parse_platform(std::string_view text);

// A process that can be started as it is.
struct Job {
  std::string name;
  std::vector<std::string> argv;                         // argv[0]: absolute path of the program
  std::vector<std::pair<std::string, std::string>> env;  // beside pass_through_environment()
  std::vector<std::string> env_pass;                     // further names, "HF_*" for many
  // What runs from where it lies, with its digest (trivet/config/digest.h) at the launch.
  std::vector<std::pair<std::filesystem::path, std::string>> programs;
  std::filesystem::path working_directory;  // where `trivet launch` was called
  std::filesystem::path directory;          // {wu_dir}/jobs/NAME: its attempts
  std::string platform = "cpu";
  std::string cell;
  std::int64_t cores = 1;
  std::int64_t memory_bytes = 0;  // at most; 0: not said
  std::int64_t gpus = 0;
  // Processes, which start together, and the machines for them. Each process has the cores, the
  // memory and the GPUs.
  std::int64_t replicas = 1, nodes = 1;
  bool communicates = false;  // replicas are processes of one run (trivet/backend/collective.h)
  // Of a run: its replicas, or those that the job starts itself and that share its cores, memory
  // and GPUs.
  std::int64_t processes = 1;
  // The numbers of processes that an attempt of this run may have, ascending; the last is
  // `processes`. Empty: `processes` alone. An orchestrator that does not choose starts the job as
  // it is.
  std::vector<std::int64_t> process_counts{};
  double time_limit_seconds = 0;  // 0: none
  std::int64_t priority = 200;
  std::int64_t retries = 0;
  bool shared = false;  // others may read what it prints
  std::vector<Dependency> after;
  // Exit code 0 alone is no proof: to count as completed it makes the file that kDoneFileVariable
  // (attempt.h) names.
  bool tells_done = false;
};

// All jobs of a unit start together, but for those that wait for others.
struct WorkUnit {
  std::int64_t wid = 0;  // 1, 2, ... within the experiment
  std::string identity;  // hash of everything that decides what the unit does
  std::filesystem::path directory;
  SweepItem sweep;
  std::int64_t repeat = 1;  // which of `repeats`
  std::vector<Job> jobs;
};

// The job with another of its process_counts: its words, and the replicas and nodes, or the cores,
// the memory and the GPUs. Throws Error for a number that is none of them.
TRIVET_API Job with_processes(Job job, std::int64_t processes);

// For files: everything in a table, and back. Throws RunError or ConfigError for a table that is no
// unit.
TRIVET_API Value to_value(const WorkUnit& unit);
TRIVET_API WorkUnit work_unit_from(const Value& value);

// Names of the variables that every job gets from its launcher: PATH, HOME, LANG and the like.
// Everything else must be said in `env` or `env_pass`.
TRIVET_API std::vector<std::string_view> pass_through_environment();

// Whether a job gets the variable `name` from where it is started.
TRIVET_API bool passes_through(const Job& job, std::string_view name);

}  // namespace trivet::launch
