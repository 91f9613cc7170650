// SPDX-License-Identifier: Apache-2.0
// OptimizerRunner: one rule of a learner: its optimizer over as few and as long segments as the
// groups of its variables allow, and the optimizer's slots.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layer/shared_block.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/train/learner_options.h"

namespace trivet {
struct RegistryItem;
}

namespace trivet::detail {

class OptimizerRunner {
 public:
  // `variables` are trainable ones of the store, in its order. Their parts in the process's own
  // part of the block are updated, and have slots.
  OptimizerRunner(ParameterStore& store, LearnerRule rule, std::vector<Parameter*> variables,
                  const SharedBlock& block);

  const std::string& name() const { return rule_.name; }
  // The schedule is asked once for a step. Throws RunError unless its answer is finite.
  double rate_at(std::int64_t step) const;
  void update(std::int64_t step, float gradient_scale);
  void add_slots(std::vector<SharedTensor>& out) const;

 private:
  // One slot of a variable, in the block of its type.
  struct SlotPart {
    Shape shape;  // whole
    DType dtype;
    std::int64_t offset;
    std::int64_t size;  // of the process's part
    std::int64_t end() const { return offset + size; }
  };
  // One slot of all variables. Where the optimizer does not work per variable a block is laid out
  // as the parameters are, so that neighbors of one type are neighbors here, too.
  struct Slot {
    std::string name;
    std::vector<SlotPart> parts;  // of each variable
    std::map<DType, Tensor> blocks;
    // From one variable's part to another's in the same block.
    Tensor between(std::size_t first, std::size_t last) const;
  };
  Slot make_slot(const std::string& name) const;
  bool owns_some(std::size_t variable) const;   // this process, of its elements
  bool takes_part(std::size_t variable) const;  // in updates of this process
  bool continues(std::size_t variable) const;   // may be in one segment with the one before
  bool have_changed() const;  // other variables have a gradient than those in the segments
  OptimizerSegment segment(std::size_t first, std::size_t last) const;
  void make_segments();  // of the variables that have a gradient
  std::size_t last_of_segment(std::size_t first) const;

  ParameterStore& store_;
  const SharedBlock& block_;
  LearnerRule rule_;
  const RegistryItem* optimizer_item_;
  const RegistryItem* schedule_item_;
  std::vector<Parameter*> variables_;
  std::vector<OwnParts::Overlap> own_;  // of each variable
  std::vector<Slot> slots_;
  std::vector<OptimizerSegment> segments_;
  std::vector<bool> in_segments_;  // of each variable
  struct Rate {
    std::int64_t step;
    double value;
  };
  mutable std::optional<Rate> rate_;  // what the schedule said last
};

}  // namespace trivet::detail
