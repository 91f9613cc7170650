// SPDX-License-Identifier: Apache-2.0
// ContinuousEval: evaluates the checkpoints of a run while another process trains it.
//
// It uses a directory below the run's, so both may run at the same time. Hard links keep the files
// of the checkpoint that is evaluated, because the run may remove it. It ends when a checkpoint of
// train_steps is evaluated, when the run's status.json says that it is done, or when no checkpoint
// arrives within the timeout. It evaluates only the newest checkpoint and may skip older ones, like
// the original.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "checkpoint/checkpoint_manager.h"
#include "checkpoint/checkpoint_watch.h"
#include "run/run_recorder.h"
#include "rundir/metrics_log.h"
#include "rundir/status_file.h"
#include "train/controller.h"
#include "trivet/config/value.h"
#include "trivet/trainer.h"

namespace trivet {

class ContinuousEval {
 public:
  struct Parts {
    Trainer& trainer;
    Controller& controller;
    CheckpointManager& checkpoints;  // of this process; keeps one checkpoint
    RunRecorder& recorder;
    StatusFile& status;
    MetricsLog& metrics;
  };
  struct Options {
    std::filesystem::path directory;  // of the run to follow
    Value config;                     // of this process
    std::int64_t train_steps = 0;     // 0: no target
    double timeout = 3600;
  };

  ContinuousEval(Parts parts, Options options);

  Controller::Outcome run();

 private:
  bool take();
  void check_config();

  Parts parts_;
  Options options_;
  CheckpointWatch watch_;
  bool checked_ = false;
};

}  // namespace trivet
