// SPDX-License-Identifier: Apache-2.0
#include "models.h"

#include <utility>

#include "metric_group.h"

namespace trivet::multitask {

FpropContext context_of(const std::string& name, const FpropContext& context) {
  FpropContext own = context;
  own.key = context.key.fold(name);
  own.aux_losses = context.aux_losses.child(name);
  return own;
}

void Models::add(std::string name, std::unique_ptr<Model> model) {
  entries_.push_back({std::move(name), std::move(model)});
}

Model& Models::of(std::size_t task) {
  const Entry& entry = entries_[task];
  return entry.model ? *entry.model : *shared_;
}

NestedMap Models::fprop(const Batch& batch, FpropContext& context) {
  NestedMap all;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::string& name = entries_[i].name;
    const Batch own = batch.child(name);
    if (own.empty()) continue;
    FpropContext own_context = context_of(name, context);
    for (const auto& [path, tensor] : with_prefix(name, of(i).fprop(own, own_context))) {
      all.set(path, tensor);
    }
    for (const auto& [path, tensor] : with_prefix(name, own_context.aux_losses)) {
      context.aux_losses.set(path, tensor);
    }
    context.summaries = std::move(own_context.summaries);
  }
  return all;
}

}  // namespace trivet::multitask
