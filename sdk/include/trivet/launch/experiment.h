// SPDX-License-Identifier: Apache-2.0
// launch::Experiment: jobs x sweep, as [xp] of a config file says it, or built in code.
//
// Example (sdk/examples/snippets/launch.h#experiment):
//
//   trivet::launch::Experiment xp;
//   xp.root_dir = root;  // "/data/{author}/experiments"
//   trivet::launch::JobConfig train;
//   train.target = program;  // "/opt/bin/trainer"
//   train.args = Value::table({{"workdir", "{wu_dir}"}});
//   xp.jobs = {{"train", train}};
//   const auto launched = trivet::launch::launch(xp);  // launched.xid, launched.directory
//
// Fields of jobs that stand here are a fallback for those that say nothing. `args`, `env` and
// `files` are merged member by member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/config/value.h"
#include "trivet/launch/job.h"
#include "trivet/launch/jobs_provider.h"
#include "trivet/launch/orchestrator.h"
#include "trivet/launch/subdir_format.h"
#include "trivet/launch/sweep_info.h"

namespace trivet::launch {

enum class Importance { low, normal, high };
TRIVET_ENUM(Importance, low, normal, high)

// Bytes in the name of a job, which names a directory.
inline constexpr std::size_t kMostJobName = 100;

// What is copied into the experiment's directory at the launch.
enum class Snapshot { files, scripts, programs };
TRIVET_ENUM(Snapshot, files, scripts, programs)

struct Experiment : JobParams {
  std::string name;
  Value tags;
  std::string note;
  Map<JobConfig> jobs;
  ConfigOf<JobsProvider> jobs_provider = "trivet/EmptyJobs";
  std::string root_dir;
  ConfigOf<SubdirFormat> subdir_format = "trivet/SubdirFormat";
  Value sweep;
  ConfigOf<SweepInfo> sweep_info;
  ConfigOf<Orchestrator> orchestrator = "local/Orchestrator";
  Importance importance = Importance::normal;
  std::int64_t repeats = 1;
  Snapshot snapshot = Snapshot::scripts;
  bool shared = false;
  std::optional<std::int64_t> xid;
  std::string author;
  Value aux;

  TRIVET_API void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    Experiment, JobParams,
    (name, "Name of the experiment; default: that of the run's config file."),
    (tags, "Tags of the experiment: a list of strings, or one string with commas."),
    (note, "Note on the experiment, for people."),
    (jobs, "The processes of every work unit, by name; the first is the main job."),
    (jobs_provider, "More jobs, made from the run's config; `jobs` is laid over them."),
    (root_dir,
     "Directory of all experiments. May hold {author}, {name} and {cell}, but no {xid}: numbers "
     "are given below it. Default: the variable TRIVET_ROOT, or else runs."),
    (subdir_format, "Names of the directories below root_dir."),
    (sweep,
     "The sweep to run: a name, several with commas or as a list (their product), \"*\" (all), "
     "true (the unnamed one), false (none). Default: an explicit sweep_info is run, a named one is "
     "not."),
    (sweep_info,
     "The sweep. Default with --sweep: sweeps/TrainerSweep where there is a run's config, else "
     "sweeps/ConfigSweep."),
    (orchestrator, "Where the jobs run."),
    (importance, "Importance in the experiment's record, for people."),
    (repeats,
     "Number of runs of each item of the sweep; {repeat} in a job's texts is 1, 2, ... Default: "
     "identical items become one work unit.",
     at_least(1), at_most(100000)),
    (snapshot,
     "Copies that the launch makes in the experiment's directory, for its jobs to use: `files`, "
     "and scripts, and programs. A script or program that runs from where it lies is compared with "
     "what it was at the launch, and the job's stderr says so when it has changed."),
    (shared,
     "Lets other users read the records and what jobs print, as far as the umask allows. Default: "
     "the owner only."),
    (xid, "Adds what is missing to this experiment instead of making a new one.", at_least(1)),
    (author, "User who launches the experiment. Default: the current user.", alias("user")),
    (aux, "A free table for references, ${xp.aux.x}, and for own tools."))

struct Launched {
  std::int64_t xid = 0;
  std::filesystem::path directory;
};

// Launches it as `trivet launch` does, in a process of its own: the program that this process is,
// else the one beside libtrivet.so, else the one on PATH; TRIVET_PROGRAM names another.
// `config` is the run's config, a file, with `overrides` such as "trainer.train_steps=100"; may be
// empty. Throws ConfigError with what `trivet launch` says is wrong with it, RunError when it
// cannot be started.
TRIVET_API Launched launch(const Experiment& experiment, const std::filesystem::path& config = {},
                           const std::vector<std::string>& overrides = {});

}  // namespace trivet::launch
