// SPDX-License-Identifier: Apache-2.0
#include "layer/gradient_parts.h"

#include <algorithm>
#include <span>
#include <utility>

#include "layer/block_layout.h"
#include "ops/op_support.h"
#include "tensor/axis_processes.h"
#include "tensor/packing.h"
#include "trivet/backend/process_group.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tensor/profile.h"

namespace trivet::detail {

class GradientParts::Unit final : public SlotGroup {
 public:
  Unit(GradientParts& all, std::size_t index) : all_(all), index_(index) {}

  void add(Variable variable) {
    variable.slot->group = this;
    variables_.push_back(std::move(variable));
  }

  std::size_t index() const { return index_; }
  bool is_complete() const { return !expected_; }
  void expect() { expected_ = true; }

  void begin() {
    expected_ = false;
    state_ = State::without_memory;
    memory_ = {};
    for (const Variable& variable : variables_) variable.slot->gradient = {};
  }

  void open() override {
    if (state_ == State::summed) {
      throw Error(
          "a gradient of '" + variables_.front().path +
              "', or of a variable beside it, came after all ops that use it had theirs",
          {.hint = "what runs parts of a model again for its gradient must be trivet::remat"});
    }
    const NoGrad no_grad;
    const MeshShards::Range range = all_.parts_.units()[index_];
    memory_ = Tensor::empty(all_.device_, {range.size()});
    state_ = State::open;
    std::int64_t end = 0;
    for (const Variable& variable : variables_) {
      const std::int64_t begin = variable.offset - range.begin;
      zero(end, begin);
      end = begin + variable.shape.size();
      variable.slot->gradient = ops::reshape(part_of(memory_, begin, end), variable.shape);
    }
    zero(end, range.size());
  }

  void complete() override {
    expected_ = false;
    if (all_.factor_) all_.sum_complete(*all_.factor_);
  }

  void sum(float factor) {
    const NoGrad no_grad;
    const ProfileSpan span("sum gradients");
    if (state_ == State::without_memory) open();
    for (const Variable& variable : variables_) {
      if (!variable.slot->written) fill(variable.slot->gradient, 0);
    }
    apply_scalar(TV_MUL, memory_, Tensor::scalar(all_.device_, factor));
    // As a sum that starts with 0: -0 becomes 0.
    apply_scalar(TV_ADD, memory_, Tensor::scalar(all_.device_, 0));
    const OwnParts::Overlap& part = all_.parts_.part(index_);
    Tensor own = part_of(all_.own_, part.position, part.end());
    count_exchange(all_.parts_.units().is_of_stage(index_) ? AxisExchange::Kind::sum_to_stage_part
                                                           : AxisExchange::Kind::sum_to_part,
                   memory_, index_);
    all_.shards_.sum_to_part(memory_, all_.parts_.all().in_unit(index_), own);
    for (const Variable& variable : variables_) variable.slot->gradient = {};
    memory_ = {};
    state_ = State::summed;
  }

 private:
  enum class State { without_memory, open, summed };

  void zero(std::int64_t begin, std::int64_t end) {
    if (begin == end) return;
    Tensor gap = part_of(memory_, begin, end);
    fill(gap, 0);
  }

  GradientParts& all_;
  const std::size_t index_;
  std::vector<Variable> variables_;
  Tensor memory_;
  State state_ = State::without_memory;
  bool expected_ = false;
};

GradientParts::GradientParts(Device& device, const MeshShards& shards, const OwnParts& parts,
                             std::vector<Variable> variables)
    : device_(device), shards_(shards), parts_(parts), own_(Tensor::zeros(device, {parts.size()})) {
  for (std::size_t i = 0; i < parts_.units().count(); ++i) {
    units_.push_back(std::make_unique<Unit>(*this, i));
    if (parts_.all().is_used(i)) order_.push_back(static_cast<std::uint32_t>(i));
  }
  for (Variable& variable : variables) {
    units_[parts_.units().unit_at(variable.offset)]->add(std::move(variable));
  }
}

GradientParts::~GradientParts() = default;

void GradientParts::begin() {
  factor_.reset();
  summed_ = 0;
  for (const auto& unit : units_) unit->begin();
}

void GradientParts::begin(float factor, const std::vector<SlotGroup*>& groups) {
  factor_ = factor;
  std::vector<std::uint32_t> expected;
  for (SlotGroup* const group : groups) {
    const auto found =
        std::ranges::find_if(units_, [&](const auto& u) { return u.get() == group; });
    if (found == units_.end()) continue;
    (*found)->expect();
    expected.push_back(static_cast<std::uint32_t>((*found)->index()));
  }
  if (!std::exchange(is_agreed_, true)) agree_on_order(std::move(expected));
}

void GradientParts::agree_on_order(std::vector<std::uint32_t> expected) {
  std::ranges::reverse(expected);
  for (const std::uint32_t unit : order_) {
    if (std::ranges::find(expected, unit) == expected.end()) expected.push_back(unit);
  }
  order_ = std::move(expected);
  if (ProcessGroup* const group = shards_.same_stages()) {
    group->broadcast(std::as_writable_bytes(std::span(order_)), 0);
  }
}

void GradientParts::finish(float factor) {
  if (factor_ && *factor_ != factor) {
    throw Error("the weight of a pass was " + std::to_string(*factor_) +
                " before its gradients, and is " + std::to_string(factor) + " after them");
  }
  for (; summed_ < order_.size(); ++summed_) next().sum(factor);
}

void GradientParts::sum_complete(float factor) {
  for (; summed_ < order_.size() && next().is_complete(); ++summed_) next().sum(factor);
}

GradientParts::Unit& GradientParts::next() const {
  return *units_[order_[summed_]];
}

}  // namespace trivet::detail
