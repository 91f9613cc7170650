// SPDX-License-Identifier: Apache-2.0
#include "nn/attention/task_adapter.h"

#include <cstddef>
#include <vector>

#include "nn/basic/checks.h"
#include "trivet/error.h"
#include "trivet/ops.h"

namespace trivet::nn {
namespace {

constexpr InitConfig kGlorot = {Init::xavier_uniform, 1};
constexpr InitConfig kZero = {Init::constant, 0};

// Row t is 1 at t.
Tensor identity(Device& device, std::int64_t n) {
  std::vector<float> values(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i) values[static_cast<std::size_t>(i * (n + 1))] = 1;
  return Tensor::from<float>(device, values, {n, n});
}

// The shape of x with other last axes.
Shape with_last(const Tensor& x, std::initializer_list<std::int64_t> last) {
  std::vector<std::int64_t> extents(x.shape().begin(), x.shape().end());
  extents.pop_back();
  extents.insert(extents.end(), last);
  return Shape(extents);
}

}  // namespace

TaskAdapter::TaskAdapter(const Options& options, Scope& scope, const std::string& prefix)
    : path_(scope.path()),
      options_(options),
      down_w_(scope.parameter(prefix + "down_w", {options.tasks, options.input_dims, options.dims},
                              {.init = kGlorot})),
      down_b_(scope.parameter(prefix + "down_b", {options.tasks, options.dims}, {.init = kGlorot})),
      up_w_(scope.parameter(prefix + "up_w", {options.tasks, options.dims, options.input_dims},
                            {.init = kZero})),
      up_b_(scope.parameter(prefix + "up_b", {options.tasks, options.input_dims},
                            {.init = kGlorot})) {}

// Returns [B, .., tasks]: 1 for the task of each position, else 0; axes but the first may have
// extent 1.
Tensor TaskAdapter::chosen_tasks(const Tensor& x, const FpropContext& context) const {
  const Tensor all = identity(x.device(), options_.tasks);
  std::vector<std::int64_t> extents(static_cast<std::size_t>(x.rank()), 1);
  extents.back() = options_.tasks;
  if (!context.task_ids.defined()) {
    if (!options_.task_id && options_.tasks > 1) {
      throw Error(path_ + ": has adapters of " + std::to_string(options_.tasks) +
                      " tasks, and the batch has no task_ids",
                  {.hint = "set task_ids of the input, or adapter_task_id of the block"});
    }
    const std::int64_t task = options_.task_id.value_or(0);
    return ops::reshape(ops::slice(all, 0, task, task + 1), Shape(extents));
  }
  const Tensor& ids = context.task_ids;
  bool fits =
      ids.dtype() == DType::i32 && (ids.rank() == 1 || ids.rank() == 2) && ids.rank() < x.rank();
  for (int axis = 0; fits && axis < ids.rank(); ++axis) {
    fits = ids.dim(axis) == x.dim(axis);
    extents[static_cast<std::size_t>(axis)] = ids.dim(axis);
  }
  if (!fits) wrong_input("nn/TransformerBlock", path_, "task_ids i32 [B] or [B, T]", ids);
  return ops::reshape(ops::gather_rows(all, ids), Shape(extents));
}

Tensor TaskAdapter::fprop(const Tensor& x, FpropContext& context) {
  const auto& [input_dims, dims, tasks, task_id] = options_;
  expect_last("nn/TransformerBlock", path_, x, input_dims);
  const Tensor chosen = chosen_tasks(x, context);
  std::vector<std::int64_t> extents(chosen.shape().begin(), chosen.shape().end());
  extents.push_back(1);
  // One layer with the units of all tasks.
  const Tensor down =
      ops::reshape(ops::transpose(down_w_.value(), {1, 0, 2}), {input_dims, tasks * dims});
  const Tensor bias = ops::reshape(down_b_.value(), {tasks * dims});
  const Tensor units =
      ops::reshape(ops::linear(x, down, bias, Activation::relu), with_last(x, {tasks, dims}));
  const Tensor own = ops::reshape(ops::mul(units, ops::reshape(chosen, Shape(extents))),
                                  with_last(x, {tasks * dims}));
  const Tensor up = ops::reshape(up_w_.value(), {tasks * dims, input_dims});
  return ops::add(ops::linear(own, up), ops::linear(chosen, up_b_.value()));
}

}  // namespace trivet::nn
