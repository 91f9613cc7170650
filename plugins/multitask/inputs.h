// SPDX-License-Identifier: Apache-2.0
// Combines the inputs of several tasks. The field "image" of a task's own input becomes
// "NAME/image" in a batch of several tasks, where NAME is the task's. A batch also has "weight" f32
// [rows]: the weights of all rows concatenated, 1 if an input has none, for code that counts
// examples.
//
// A part of a joint batch cut for gradient accumulation also has "share" f32 [tasks]: the factor of
// each task's loss that makes the mean over the parts equal the loss of the whole batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "task_sampler.h"
#include "trivet/input.h"

namespace trivet::multitask {

// The number of rows of a task's own batch; 0 without tensors.
std::int64_t rows_of(const Batch& batch);

// Adds one task's batch to a batch of several tasks.
void add_batch(Batch& all, const std::string& name, const Batch& batch);

// The input of one task.
struct Source {
  std::string name;
  ConfigOf<Input> config;
  std::unique_ptr<Input> input;
  std::int64_t limit = -1;  // batches per evaluation; -1: all
};

class SourcesInput : public Input {
 public:
  void start() override;
  void reset() override;
  Value save_state() const override;
  void restore_state(const Value& state) override;

 protected:
  explicit SourcesInput(std::vector<Source> sources) : sources_(std::move(sources)) {}

  // Adds a batch of a source to `out`; returns false at the end of its data.
  bool add(std::size_t source, Batch& out);

  std::vector<Source> sources_;
  std::int64_t given_ = 0;    // batches so far
  std::int64_t source_ = 0;   // in turn: the current source
  std::int64_t of_turn_ = 0;  // batches of the current source
};

// Each batch is of one task, drawn by a sampler. Ends when the data of a drawn task ends.
class InterleavedInput final : public SourcesInput {
 public:
  InterleavedInput(std::vector<Source> sources, TaskSampler sampler)
      : SourcesInput(std::move(sources)), sampler_(std::move(sampler)) {}
  std::optional<Batch> get_next() override;

 private:
  TaskSampler sampler_;
};

// Each batch has a batch of every task. Ends when the first task's data ends.
class JointInput final : public SourcesInput {
 public:
  explicit JointInput(std::vector<Source> sources) : SourcesInput(std::move(sources)) {}
  std::optional<Batch> get_next() override;
};

// All of the first task, then all of the second, and so on, each up to its limit. Throws InputError
// for a task without a batch.
class InTurnInput final : public SourcesInput {
 public:
  explicit InTurnInput(std::vector<Source> sources) : SourcesInput(std::move(sources)) {}
  std::optional<Batch> get_next() override;
};

}  // namespace trivet::multitask
