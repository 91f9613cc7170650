// SPDX-License-Identifier: Apache-2.0
// How a task says how many tokens a batch has, so that runs tell tokens per second and model FLOPs
// utilization, and `trivet summary` FLOPs per token. The task derives from TokenCount, too.
//
// Example (sdk/examples/snippets/task_extensions.cpp#token_count):
//
//   const void* extension(std::string_view id) const noexcept override {
//     return id == kTaskTokenCount ? static_cast<const TokenCount*>(this) : nullptr;
//   }
//   std::int64_t tokens(const Batch& batch) const override { return batch.at("ids").size(); }
#pragma once

#include <cstdint>
#include <string_view>

#include "trivet/tensor/nested_map.h"

namespace trivet {

// Id for Task::extension; what it returns points to a TokenCount.
inline constexpr std::string_view kTaskTokenCount = "trivet.task.token_count/1";

class TokenCount {
 public:
  // Positions that the model computes for this batch, padding included: all rows of all of T. For
  // an encoder and a decoder those of both. Looks at shapes alone. [run-thread]
  virtual std::int64_t tokens(const Batch& batch) const = 0;

 protected:
  ~TokenCount() = default;
};

}  // namespace trivet
