// SPDX-License-Identifier: Apache-2.0
// The inputs of several tasks as one. What a task's own input calls "image" is "NAME/image" in a
// batch of several tasks, where NAME is the task's. Beside these there is "weight" f32 [rows]: the
// weights of all rows one after the other, 1 where an input gives none, so that whoever counts
// examples finds them.
//
// A part of a joint batch that was cut for gradient accumulation has "share" f32 [tasks], too: by
// what each task's loss is multiplied, so that the mean over the parts is the loss of the whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "task_sampler.h"
#include "trivet/input.h"

namespace trivet::multitask {

// How many rows a task's own batch has; 0 for one without tensors.
std::int64_t rows_of(const Batch& batch);

// Adds the batch of one task to one of several tasks.
void add_batch(Batch& all, const std::string& name, const Batch& batch);

// The input of one task.
struct Source {
  std::string name;
  ConfigOf<Input> config;
  std::unique_ptr<Input> input;
  std::int64_t limit = -1;  // batches of an evaluation; -1: all
};

class SourcesInput : public Input {
 public:
  void start() override;
  void reset() override;
  Value save_state() const override;
  void restore_state(const Value& state) override;

 protected:
  explicit SourcesInput(std::vector<Source> sources) : sources_(std::move(sources)) {}

  // Adds a batch of a source to `out`; false at the end of its data.
  bool add(std::size_t source, Batch& out);

  std::vector<Source> sources_;
  std::int64_t given_ = 0;    // batches so far
  std::int64_t source_ = 0;   // in turn: the source whose turn it is
  std::int64_t of_turn_ = 0;  // batches in this turn
};

// A batch of one task each time, drawn by a sampler. Ends when the data of a task that is drawn
// ends.
class InterleavedInput final : public SourcesInput {
 public:
  InterleavedInput(std::vector<Source> sources, TaskSampler sampler)
      : SourcesInput(std::move(sources)), sampler_(std::move(sampler)) {}
  std::optional<Batch> get_next() override;

 private:
  TaskSampler sampler_;
};

// A batch of every task each time. Ends with the first of them.
class JointInput final : public SourcesInput {
 public:
  explicit JointInput(std::vector<Source> sources) : SourcesInput(std::move(sources)) {}
  std::optional<Batch> get_next() override;
};

// All of the first task, then all of the second, ... each up to its limit. Throws InputError for a
// task without a batch.
class InTurnInput final : public SourcesInput {
 public:
  explicit InTurnInput(std::vector<Source> sources) : SourcesInput(std::move(sources)) {}
  std::optional<Batch> get_next() override;
};

}  // namespace trivet::multitask
