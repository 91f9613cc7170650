// SPDX-License-Identifier: Apache-2.0
#include "ops/saved_activations.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "tensor/tensor_impl.h"
#include "trivet/error.h"
#include "trivet/tape.h"
#include "trivet/tensor/device.h"
#include "trivet/tensor/meta_device.h"

namespace trivet::detail {
namespace {

thread_local SavingActivations* current = nullptr;

// The memory alone: what is on a tape refers to it.
Tensor off_tape(const Tensor& x) {
  return x.defined() ? Tensor(x.impl()->alias()) : x;
}

bool has_act_fwd(const Device& device) {
  const tv_backend& table = device.table();
  return table.struct_size > offsetof(tv_backend, act_fwd) && table.act_fwd != nullptr;
}

}  // namespace

bool SavedActivations::wants(const KeptOp& op) const {
  if (op.on_tape == KeptOp::OnTape::no) return false;
  const std::string_view name = CheckpointName::current();
  if (!name.empty() && std::ranges::find(keeps_.names, name) != keeps_.names.end()) return true;
  if (op.kind == KeptOp::Kind::function) return false;
  if (keeps_.products == RematProducts::all) return true;
  return keeps_.products == RematProducts::without_batch && op.kind == KeptOp::Kind::product;
}

Tensor SavedActivations::stored(const Tensor& x) {
  if (!x.defined()) return x;
  // A meta device has no memory to free, nor the host's to take.
  if (keeps_.memory == RematMemory::device || x.device().host_visible() || is_meta(x.device())) {
    return off_tape(x);
  }
  device_ = &x.device();
  Tensor copy = Tensor::host(x.shape(), x.dtype());
  const std::vector<std::byte> bytes = x.to_bytes();
  copy.assign_bytes(bytes);
  return copy;
}

Tensor SavedActivations::fetched(const Tensor& x) const {
  return x.defined() && x.on_host() ? x.to(*device_) : x;
}

SavingActivations::SavingActivations(SavedActivations* results, Run run)
    : results_(results), run_(run), outer_(std::exchange(current, this)) {}

SavingActivations::~SavingActivations() {
  current = outer_;
}

std::vector<Tensor> SavingActivations::known(const KeptOp& op, std::vector<std::string>* labels) {
  if (current == nullptr || current->results_ == nullptr || current->run_ == Run::first) return {};
  SavedActivations& saved = *current->results_;
  if (!saved.wants(op)) return {};
  if (current->next_ == saved.results_.size()) {
    throw Error("[remat] a function did more in its second run than in its first");
  }
  SavedActivations::Result& result = saved.results_[current->next_++];
  if (std::strcmp(result.op, op.name) != 0) {
    throw Error("[remat] a function ran " + std::string(op.name) + " in its second run, but " +
                result.op + " in its first");
  }
  if (labels != nullptr) *labels = std::move(result.labels);
  // Handed out once, so that the memory is free as soon as the tape does not need it.
  std::vector<Tensor> tensors = std::exchange(result.tensors, {});
  for (Tensor& x : tensors) x = saved.fetched(x);
  return tensors;
}

void SavingActivations::keep(const KeptOp& op, const std::vector<Tensor>& results,
                             std::vector<std::string> labels) {
  if (current == nullptr || current->results_ == nullptr || current->run_ == Run::again) return;
  SavedActivations& saved = *current->results_;
  if (!saved.wants(op)) return;
  std::vector<Tensor> stored;
  for (const Tensor& x : results) stored.push_back(saved.stored(x));
  saved.results_.push_back({op.name, std::move(stored), std::move(labels)});
}

std::vector<Tensor> SavingActivations::kept(const KeptOp& op,
                                            const std::function<std::vector<Tensor>()>& compute) {
  if (std::vector<Tensor> results = known(op); !results.empty()) return results;
  std::vector<Tensor> results = compute();
  keep(op, results);
  return results;
}

SavingActivations::Activated SavingActivations::kept(const KeptOp& op, Activation act,
                                                     const std::function<Activated()>& compute) {
  if (const std::vector<Tensor> results = known(op); !results.empty()) {
    Activated known{results[0], results[1]};
    if (!known.y.defined()) {
      const NoGrad no_grad;
      known.y = ops::activation(known.pre, act);
    }
    return known;
  }
  Activated computed = compute();
  if (!computed.y.defined()) {
    keep(op, {});
    return computed;
  }
  // A composed activation might differ in the last bit from the kernel's.
  const bool again = computed.pre.defined() && has_act_fwd(computed.y.device());
  keep(op, {again ? Tensor() : computed.y, computed.pre});
  return computed;
}

}  // namespace trivet::detail
