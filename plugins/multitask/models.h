// SPDX-License-Identifier: Apache-2.0
// Models: the models of several tasks as one. A task without a model of its own uses the one that
// all share; variables of the shared one have its own paths, those of a task's lie below its name.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "trivet/model.h"

namespace trivet::multitask {

// The context of one task's forward pass: randomness of its own, auxiliary losses of its own, and
// the summaries there are, to be added to and given back.
FpropContext context_of(const std::string& name, const FpropContext& context);

class Models final : public Model {
 public:
  explicit Models(std::unique_ptr<Model> shared) : shared_(std::move(shared)) {}
  // A null model stands for the shared one.
  void add(std::string name, std::unique_ptr<Model> model);

  Model& of(std::size_t task);
  // The outputs of every task that is in the batch, as "NAME/logits" and so on; so are their
  // auxiliary losses.
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
