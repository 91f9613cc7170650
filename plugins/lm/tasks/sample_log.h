// SPDX-License-Identifier: Apache-2.0
// SampleLog: what a model writes for a task's sample prompts after each evaluation, in
// samples.jsonl of the run's directory, once per evaluation.
//
// The task calls evaluates in its validation_step, and start and write in aggregate_logs and
// reduce_aggregated_logs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trivet/extensions/text_generator.h"
#include "trivet/task.h"
#include "trivet/train/run_log.h"

namespace trivet::lm {

class SampleLog {
 public:
  // Without prompts or a directory nothing is written. Throws ConfigError if the prompts have no
  // tokenizer.
  SampleLog(std::vector<std::string> prompts, const std::string& directory, bool has_tokenizer);

  void evaluates(Model& model) { evaluated_ = &model; }
  // Returns a state that is not null if samples are to be written.
  std::unique_ptr<AggregatedLogs> start(std::unique_ptr<AggregatedLogs> state) const;
  void write(const AggregatedLogs& state, const TextGenerator& generator, std::int64_t step);

 private:
  std::vector<std::string> prompts_;
  Model* evaluated_ = nullptr;    // set by the running evaluation
  std::unique_ptr<RunLog> file_;  // null if none are written
};

// Whether the data set of this evaluation is the one whose evaluations write samples:
// task.eval_input, or the first of task.eval_inputs if there is none.
bool is_first_set(const Task& task);

}  // namespace trivet::lm
