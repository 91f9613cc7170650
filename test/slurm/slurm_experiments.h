// SPDX-License-Identifier: Apache-2.0
// Experiments on the cluster that all tests of a process share.
#pragma once

#include <string>

#include <catch2/catch.hpp>

#include "program/launch/launched_experiments.h"
#include "support/slurm_cluster.h"

namespace trivet::test {

inline SlurmCluster& cluster() {
  static SlurmCluster shared;
  return shared;
}

// Passes a test case if no cluster can run.
inline bool has_slurm() {
  const std::string missing = SlurmCluster::missing();
  if (!missing.empty()) WARN("skipped: there is no " << missing << " (Debian: slurm-wlm)");
  SUCCEED();
  return missing.empty();
}

class SlurmExperiments : public Experiments {
 public:
  explicit SlurmExperiments(const std::string& orchestrator = "grace = 1\n")
      : Experiments("type = 'slurm/Orchestrator'\n" + orchestrator, cluster().settings()) {}

  // A field of `scontrol show job` of a unit's job: "NumCPUs".
  std::string field(int wid, const std::string& name, const std::string& job = "main") const {
    const std::string detail = this->job(wid, job).at("detail");
    const std::string id = detail.substr(0, detail.find(':')).substr(detail.rfind(' ') + 1);
    const std::string text = cluster().command("scontrol show job " + id).output;
    const auto begin = text.find(" " + name + "=");
    if (begin == std::string::npos) return text;
    const auto value = begin + name.size() + 2;
    return text.substr(value, text.find_first_of(" \n", value) - value);
  }
};

}  // namespace trivet::test
