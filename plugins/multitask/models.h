// SPDX-License-Identifier: Apache-2.0
// Models: combines the models of several tasks. A task without its own model uses the shared one.
// The shared model's variables keep their paths; those of a task's model are below the task's name.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "trivet/model.h"

namespace trivet::multitask {

// The context of one task's forward pass: its own random numbers and auxiliary losses, and the
// shared summaries.
FpropContext context_of(const std::string& name, const FpropContext& context);

class Models final : public Model {
 public:
  explicit Models(std::unique_ptr<Model> shared) : shared_(std::move(shared)) {}
  // A null model means the shared one.
  void add(std::string name, std::unique_ptr<Model> model);

  Model& of(std::size_t task);
  // The outputs of every task in the batch, named "NAME/logits" and so on; likewise the auxiliary
  // losses.
  NestedMap fprop(const Batch& batch, FpropContext& context) override;

 private:
  struct Entry {
    std::string name;
    std::unique_ptr<Model> model;
  };
  std::unique_ptr<Model> shared_;
  std::vector<Entry> entries_;
};

}  // namespace trivet::multitask
