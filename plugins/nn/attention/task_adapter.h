// SPDX-License-Identifier: Apache-2.0
// TaskAdapter: the part of Praxis' MultitaskResidualAdapter between its norm and its sum, x [B, ..,
// input_dims] -> the same shape. Position i of task t gets
//
//   up_w[t] relu(down_w[t] x_i + down_b[t]) + up_b[t]
//
// t is from the context's task_ids, i32 [B] or [B, T]; where it has none, from `task_id`. Throws
// Error for an id that is not below `tasks`. As in Praxis up_w starts at 0 and the others uniform
// (Glorot), so up_b is what the adapter adds at first.
//
// The products of all tasks are computed for each position, and those of others become 0: for
// adapters that are small beside their block.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trivet/layer/extend_step.h"
#include "trivet/layer/scope.h"

namespace trivet::nn {

class TaskAdapter final : public LocalLayer {
 public:
  struct Options {
    std::int64_t input_dims = 0, dims = 0, tasks = 1;
    std::optional<std::int64_t> task_id{};
  };
  // `prefix` precedes the names of the variables, for a layer that owns them directly.
  TaskAdapter(const Options& options, Scope& scope, const std::string& prefix);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  Tensor chosen_tasks(const Tensor& x, const FpropContext& context) const;

  std::string path_;
  Options options_;
  Parameter &down_w_, &down_b_, &up_w_, &up_b_;
};

}  // namespace trivet::nn
