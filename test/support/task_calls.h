// SPDX-License-Identifier: Apache-2.0
// The orders of a task's calls as a RecordingTask (recording_task.h) logs them with an evaluation
// of two batches: the parts of the orders of all modes.
#pragma once

#include <string>

namespace trivet::test {

inline const std::string kBuildTraining =
    "build_model\nbuild_metrics(train)\nbuild_inputs(train)\n";
inline const std::string kBuildEvaluation = "build_metrics(eval)\nbuild_inputs(eval)\n";
inline const std::string kBuildLearner = "create_optimizer\n";
inline const std::string kTrainStep = "train_step\nbuild_losses\nprocess_metrics\n";
inline const std::string kValidationStep =
    "validation_step\ninference_step\nbuild_losses\nprocess_metrics\n";

inline std::string evaluation_calls(int step) {
  return kValidationStep + "aggregate_logs(null)\n" + kValidationStep +
         "aggregate_logs(state)\nreduce_aggregated_logs(" + std::to_string(step) + ")\n";
}

// Training to step 2 and an evaluation there, by one process from the start.
inline const std::string kTrainAndEvaluate = kBuildTraining + kBuildEvaluation + kBuildLearner +
                                             "initialize\n" + kTrainStep + kTrainStep +
                                             evaluation_calls(2);

}  // namespace trivet::test
