// SPDX-License-Identifier: Apache-2.0
// What trivet/launch/experiment.h shows: an experiment that a program builds and launches.
#pragma once

#include <string>

#include <trivet/launch/experiment.h>

namespace launch_example {

using trivet::Value;

// A program that takes --workdir=DIR, below `root`.
inline trivet::launch::Launched launch_trainer(const std::string& root,
                                               const std::string& program) {
  // [experiment]
  trivet::launch::Experiment xp;
  xp.root_dir = root;  // "/data/{author}/experiments"
  trivet::launch::JobConfig train;
  train.target = program;  // "/opt/bin/trainer"
  train.args = Value::table({{"workdir", "{wu_dir}"}});
  xp.jobs = {{"train", train}};
  const auto launched = trivet::launch::launch(xp);  // launched.xid, launched.directory
  // [/experiment]
  return launched;
}

}  // namespace launch_example
