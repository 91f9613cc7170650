// SPDX-License-Identifier: Apache-2.0
#include "train/shards.h"

#include <algorithm>

#include <fmt/core.h>

#include "step/batch_size.h"
#include "step/step_parts.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tape.h"
#include "trivet/train/optim_update.h"

namespace trivet {
namespace {

bool are_equal(const std::vector<Batch>& shards) {
  const std::int64_t rows = size_of(shards.front()).rows;
  return std::ranges::all_of(shards,
                             [&](const Batch& shard) { return size_of(shard).rows == rows; });
}

}  // namespace

Shards::Shards(const SumTree& tree, ParameterStore& store) : tree_(tree), store_(store) {
  if (count() == 1 || store.states().size() == 0) return;
  start_ = Tensor::empty(store.device(), store.states().shape());
  states_.emplace(store.device(), store.states().shape(), tree);
}

std::vector<std::vector<Batch>> Shards::cut(Task& task, const Batch& batch,
                                            std::int64_t gradient_accumulation) const {
  const auto split = [&](const Batch& whole, std::int64_t parts) {
    return in_task(task, "split_batch", [&] { return task.split_batch(whole, parts); });
  };
  const std::vector<Batch> shards = count() == 1 ? std::vector{batch} : split(batch, count());
  if (std::ssize(shards) != count() || !are_equal(shards)) {
    throw RunError(fmt::format("a batch of {} rows makes no {} equal shards, one for each device "
                               "along replica, data and data_expert of the mesh",
                               size_of(batch).rows, count()),
                   {.hint = "set task.train_input.batch_size to a multiple, or change mesh"});
  }
  std::vector<std::vector<Batch>> parts;
  for (const Batch& shard : shards) {
    parts.push_back(split(shard, gradient_accumulation));
    if (parts.back().size() != parts.front().size()) {
      throw RunError("the shards of a batch make different numbers of micro-batches",
                     {.hint = "set trainer.gradient_accumulation = 1"});
    }
  }
  return parts;
}

RngKey Shards::key_of(RngKey step, std::int64_t shard) const {
  return count() == 1 ? step : step.fold("shard").fold(static_cast<std::uint64_t>(shard));
}

void Shards::begin_step() {
  done_ = 0;
  if (!states_) return;
  states_->restart();
  assign(start_, store_.states());
}

void Shards::end_shard() {
  ++done_;
  if (!states_) return;
  Tensor states = store_.states();
  assign(states_->next(), states);
  states_->add();
  if (done_ < count()) {
    assign(states, start_);
    return;
  }
  // Divided, not times 1/n: equal states then remain what they are for more of all n.
  const NoGrad no_grad;
  const Tensor shards = Tensor::scalar(store_.device(), static_cast<float>(count()));
  assign(states, ops::div(states_->total(), shards));
}

}  // namespace trivet
