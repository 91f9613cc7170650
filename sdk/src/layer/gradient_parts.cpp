// SPDX-License-Identifier: Apache-2.0
#include "layer/gradient_parts.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "layer/block_units.h"
#include "ops/op_support.h"
#include "tensor/axis_processes.h"
#include "tensor/packing.h"
#include "tensor/profile_table.h"
#include "trivet/backend/process_group.h"
#include "trivet/backend/sum_tree.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tensor/exchange_log.h"
#include "trivet/tensor/profile.h"

namespace trivet::detail {

class GradientParts::Unit final : public SlotGroup {
 public:
  Unit(GradientParts& all, std::size_t index) : all_(all), index_(index), by_rows_(*this) {}

  void add(Variable variable) {
    variable.slot->group = this;
    if (variable.rows != nullptr) {
      rows_ = variable.rows;
      for (GradientSlot& slot : rows_->slots) slot.group = &by_rows_;
    }
    variables_.push_back(std::move(variable));
  }

  std::size_t index() const { return index_; }
  bool is_complete() const { return !expected_; }
  void expect() { expected_ = true; }
  // The way of the gradients of a group; none of another unit.
  std::optional<Way> way_of(const SlotGroup* group) const {
    if (group == this) return Way::whole;
    return group == &by_rows_ ? std::optional(Way::by_rows) : std::nullopt;
  }
  // That of what it has, or would have.
  Way way() const {
    return state_ == State::open_by_rows || (state_ != State::open && rows_ != nullptr)
               ? Way::by_rows
               : Way::whole;
  }

  void begin() {
    expected_ = false;
    state_ = State::without_memory;
    memory_ = {};
    give_up();
    if (rows_ == nullptr) return;
    for (GradientSlot& slot : rows_->slots) slot.written = false;
  }

  void open() override {
    const NoGrad no_grad;
    take_memory(State::open);
    const MeshShards::Range range = all_.parts_.units()[index_];
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

  void sum(float factor, Way way) {
    const NoGrad no_grad;
    const ProfileSpan span("sum gradients");
    if (way == Way::by_rows) return sum_rows(factor);
    if (state_ == State::without_memory) open();
    expect(State::open);
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
    all_.start_sum(memory_, all_.parts_.all().in_unit(index_), own);
    give_up();
    state_ = State::summed;
  }

 private:
  enum class State { without_memory, open, open_by_rows, summed };

  class ByRows final : public SlotGroup {
   public:
    explicit ByRows(Unit& unit) : unit_(unit) {}
    void open() override { unit_.open_by_rows(); }
    void complete() override { unit_.complete(); }

   private:
    Unit& unit_;
  };

  void take_memory(State next) {
    if (state_ == State::summed) {
      throw Error(
          "a gradient of '" + variables_.front().path +
              "', or of a variable beside it, came after all ops that use it had theirs",
          {.hint = "what runs parts of a model again for its gradient must be trivet::remat"});
    }
    expect(State::without_memory);
    memory_ = Tensor::empty(all_.device_, {all_.parts_.units()[index_].size()});
    state_ = next;
  }

  void expect(State state) const {
    if (state_ == state) return;
    throw Error("a step computes with the rows of '" + variables_.front().path +
                    "' in the processes that have them, and with its whole value",
                {.hint = "compute with a weight in one way (trivet/layer/row_share.h)"});
  }

  void give_up() {
    for (const Variable& variable : variables_) variable.slot->gradient = {};
    if (rows_ != nullptr) {
      for (GradientSlot& slot : rows_->slots) slot.gradient = {};
    }
    memory_ = {};
  }

  // The gradients of this process's rows, for one shard after another.
  Tensor rows_of(std::size_t shard) const {
    const std::int64_t size = memory_.size() / std::ssize(rows_->slots);
    const auto begin = static_cast<std::int64_t>(shard) * size;
    return part_of(memory_, begin, begin + size);
  }

  void open_by_rows() {
    const NoGrad no_grad;
    take_memory(State::open_by_rows);
    for (std::size_t shard = 0; shard < rows_->slots.size(); ++shard) {
      rows_->slots[shard].gradient = ops::reshape(rows_of(shard), rows_->leaves[shard].shape());
    }
  }

  // As sum(), without the exchange.
  void sum_rows(float factor) {
    if (state_ == State::without_memory) open_by_rows();
    expect(State::open_by_rows);
    const std::span<const float> factors = all_.factors_of_all(factor);
    const SumTree& tree = all_.shards_.tree();
    const bool is_alone = tree.size() != std::ssize(factors);  // on a meta device
    TreeFold<Tensor> fold(is_alone ? SumTree(std::array{std::ssize(factors)}) : tree);
    Tensor total;
    for (std::size_t shard = 0; shard < factors.size(); ++shard) {
      Tensor rows = rows_of(shard);
      if (!rows_->slots[shard].written) fill(rows, 0);
      apply_scalar(TV_MUL, rows, Tensor::scalar(all_.device_, factors[shard]));
      apply_scalar(TV_ADD, rows, Tensor::scalar(all_.device_, 0));
      total = fold.add(rows, [](Tensor& sum, const Tensor& more) { add_in_place(sum, more); })
                  .value_or(Tensor());
    }
    const std::int64_t position = all_.parts_.part(index_).position;
    const Tensor own = part_of(all_.own_, position, position + total.size());
    copy_into(own.view(), total);
    give_up();
    state_ = State::summed;
  }

  void zero(std::int64_t begin, std::int64_t end) {
    if (begin == end) return;
    Tensor gap = part_of(memory_, begin, end);
    fill(gap, 0);
  }

  GradientParts& all_;
  const std::size_t index_;
  ByRows by_rows_;
  RowLeaves* rows_ = nullptr;
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
    if (parts_.all().is_used(i)) order_.push_back({.unit = static_cast<std::uint32_t>(i)});
  }
  for (Variable& variable : variables) {
    units_[parts_.units().unit_at(variable.offset)]->add(std::move(variable));
  }
  for (Turn& turn : order_) turn.way = units_[turn.unit]->way();
}

GradientParts::~GradientParts() = default;

void GradientParts::begin() {
  factor_.reset();
  factors_.clear();
  summed_ = 0;
  // Of a pass that has failed.
  under_way_.clear();
  for (const auto& unit : units_) unit->begin();
}

void GradientParts::begin(float factor, const std::vector<SlotGroup*>& groups) {
  factor_ = factor;
  std::vector<Turn> expected;
  for (SlotGroup* const group : groups) {
    for (const auto& unit : units_) {
      const std::optional<Way> way = unit->way_of(group);
      if (!way) continue;
      unit->expect();
      expected.push_back({.unit = static_cast<std::uint32_t>(unit->index()), .way = *way});
    }
  }
  if (!std::exchange(is_agreed_, true)) agree_on_order(std::move(expected));
}

void GradientParts::agree_on_order(std::vector<Turn> expected) {
  std::ranges::reverse(expected);
  for (const Turn& turn : order_) {
    if (std::ranges::find(expected, turn.unit, &Turn::unit) == expected.end()) {
      expected.push_back(turn);
    }
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
  while (summed_ < order_.size()) sum_next(factor);
  end_sums(0);
}

// How many are under way follows from the order of gradients alone: memory that depended on time
// would not be as the plan of a step expects it.
void GradientParts::start_sum(const Tensor& gradients, std::span<const MeshShards::Range> parts,
                              Tensor& own) {
  const std::int64_t most = shards_.overlap();
  const ExchangeLog* const log = shards_.exchange_log();
  // A profile measures what would be under way, and sums in segments are not.
  const bool is_measured = log != nullptr && log->is_listening();
  if (most == 0 && !is_measured) {
    const double begin = exchange_seconds();
    shards_.sum_to_part(gradients, parts, own);
    if (shards_.all() == nullptr) return;
    return profile_exchange({.kind = UnitExchange::Kind::sum,
                             .bytes = gradients.bytes(),
                             .begin = begin,
                             .wait = begin,
                             .end = exchange_seconds()});
  }
  end_sums(std::max<std::int64_t>(most - 1, 0));
  under_way_.push_back(shards_.start_sum_to_part(gradients, parts, own));
  if (most == 0) end_sums(0);
}

void GradientParts::end_sums(std::int64_t left) {
  while (std::ssize(under_way_) > left) {
    under_way_.front()->wait();
    under_way_.pop_front();
  }
}

void GradientParts::sum_complete(float factor) {
  while (summed_ < order_.size() && next().is_complete()) sum_next(factor);
}

GradientParts::Unit& GradientParts::next() const {
  return *units_[order_[summed_].unit];
}

// Without begin() nothing is agreed on, and the processes that run the same ops have the same ways.
void GradientParts::sum_next(float factor) {
  Unit& unit = next();
  const Way way = is_agreed_ ? order_[summed_].way : unit.way();
  unit.sum(factor, way);
  ++summed_;
}

std::span<const float> GradientParts::factors_of_all(float factor) {
  if (!factors_.empty()) return factors_;
  factors_.assign(static_cast<std::size_t>(shards_.peers()), factor);
  count_number(device_);
  if (shards_.all() == nullptr) return factors_;
  const std::vector<double> all = shards_.gather(std::array{static_cast<double>(factor)});
  std::ranges::transform(all, factors_.begin(), [](double one) { return static_cast<float>(one); });
  return factors_;
}

}  // namespace trivet::detail
