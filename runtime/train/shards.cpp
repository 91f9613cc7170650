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

Shards::Shards(const MeshShards& shards, ParameterStore& store) : mesh_(shards), store_(store) {
  const Tensor& states = store.running_states();
  if (mesh_.total() == 1 || states.size() == 0) return;
  start_ = Tensor::empty(store.device(), states.shape());
  states_.emplace(store.device(), states.shape(), mesh_.own_tree());
}

std::vector<std::vector<Batch>> Shards::cut(Task& task, const Batch& batch, BatchOf of,
                                            std::int64_t gradient_accumulation) const {
  const auto split = [&](const Batch& whole, std::int64_t parts) {
    return in_task(task, "split_batch", [&] { return task.split_batch(whole, parts); });
  };
  const bool is_whole = of == BatchOf::all_shards;
  const std::int64_t count = is_whole ? mesh_.total() : mesh_.count();
  const std::vector<Batch> shards = count == 1 ? std::vector{batch} : split(batch, count);
  if (std::ssize(shards) != count || !are_equal(shards)) {
    throw RunError(fmt::format("a batch of {} rows makes no {} equal shards, one for each device "
                               "along replica, data and data_expert of the mesh",
                               size_of(batch).rows, count),
                   {.hint = "set task.train_input.batch_size to a multiple, or change mesh"});
  }
  std::vector<std::vector<Batch>> parts;
  for (std::int64_t i = 0; i < mesh_.count(); ++i) {
    const Batch& shard = shards[static_cast<std::size_t>(is_whole ? mesh_.first() + i : i)];
    parts.push_back(split(shard, gradient_accumulation));
    if (parts.back().size() != parts.front().size()) {
      throw RunError("the shards of a batch make different numbers of micro-batches",
                     {.hint = "set trainer.gradient_accumulation = 1"});
    }
  }
  return parts;
}

Tensor Shards::mean(const std::vector<WeightedScalar>& of_shards) const {
  if (mesh_.total() == 1) return of_shards.front().value;
  const NoGrad no_grad;
  TreeFold<Tensor> fold(mesh_.own_tree());
  std::vector<double> weights;
  Tensor total;
  for (const auto& [value, weight] : of_shards) {
    weights.push_back(weight);
    total = fold.add(ops::mul(value, static_cast<float>(weight)),
                     [](Tensor& sum, const Tensor& part) { sum = ops::add(sum, part); })
                .value_or(Tensor());
  }
  mesh_.sum(total);
  const double weight = canonical_sum(mesh_.tree(), mesh_.gather(weights));
  return ops::mul(total, static_cast<float>(weight > 0 ? 1 / weight : 0));
}

void Shards::begin_step() {
  done_ = 0;
  if (!states_) return;
  states_->restart();
  assign(start_, store_.running_states());
}

void Shards::end_shard() {
  ++done_;
  if (!states_) return;
  Tensor states = store_.running_states();
  assign(states_->next(), states);
  states_->add();
  if (done_ < mesh_.count()) {
    assign(states, start_);
    return;
  }
  mesh_.sum(states_->total());
  // Divided, not times 1/n: equal states then remain what they are for more of all n.
  const NoGrad no_grad;
  const Tensor shards = Tensor::scalar(store_.device(), static_cast<float>(mesh_.total()));
  assign(states, ops::div(states_->total(), shards));
}

}  // namespace trivet
