// SPDX-License-Identifier: Apache-2.0
#include "ops/saved_activations.h"

#include <utility>

#include "tensor/tensor_impl.h"
#include "trivet/error.h"

namespace trivet::detail {
namespace {

thread_local SavingActivations* current = nullptr;

std::vector<Tensor> off_tape(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> aliases;
  for (const Tensor& x : tensors) aliases.emplace_back(x.impl()->alias());
  return aliases;
}

}  // namespace

SavingActivations::SavingActivations(SavedActivations* results, Run run)
    : results_(results), run_(run), previous_(std::exchange(current, this)) {}

SavingActivations::~SavingActivations() {
  current = previous_;
}

std::vector<Tensor> SavingActivations::kept(const std::function<std::vector<Tensor>()>& compute) {
  if (current == nullptr || current->results_ == nullptr) return compute();
  auto& all = current->results_->of_op;
  if (current->run_ == Run::first) {
    std::vector<Tensor> results = compute();
    all.push_back(off_tape(results));
    return results;
  }
  if (current->next_ == all.size()) {
    throw Error("[remat] a function did more in its second run than in its first");
  }
  return off_tape(all[current->next_++]);
}

}  // namespace trivet::detail
