// SPDX-License-Identifier: Apache-2.0
// PrefetchInput: wraps another Input and reads batches ahead on a separate thread.
//
// Returns the same batches in the same order. The state is that of the inner input after the last
// batch that the consumer took: prefetched batches are read again after a restore. An error of the
// inner input reaches the consumer in place of the failed batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "trivet/input.h"

namespace trivet {

class PrefetchInput : public Input {
 public:
  // Holds at most `depth` (>= 1) prefetched batches. The thread starts with `start` or the first
  // `get_next`, and ends in the destructor; the destructor and `reset` wait at most for the current
  // batch. `path` is the input's path in the config, for errors.
  PrefetchInput(std::unique_ptr<Input> input, std::int64_t depth, std::string path = {});
  ~PrefetchInput() override;

  void start() override;

  std::optional<Batch> get_next() override;
  void reset() override;
  Value save_state() const override;
  void restore_state(const Value& state) override;
  std::optional<std::int64_t> batches_per_epoch() const override;
  const void* extension(std::string_view id) const noexcept override;

 private:
  struct Item;
  class Producer;
  void work_ahead();
  void forget();  // stops the thread and drops prefetched batches

  std::unique_ptr<Input> input_;
  std::size_t depth_;
  std::string path_;
  std::optional<std::int64_t> batches_per_epoch_;
  Value consumed_;            // state after the last batch taken
  bool ended_ = false;        // the end of the data was taken
  std::exception_ptr error_;  // was thrown; every later call throws it again
  std::unique_ptr<Producer> producer_;
};

}  // namespace trivet
