// SPDX-License-Identifier: Apache-2.0
#include "layer/weight_parts.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "layer/block_units.h"
#include "tensor/axis_processes.h"
#include "tensor/device_impl.h"
#include "tensor/device_memory.h"
#include "tensor/packing.h"
#include "tensor/tensor_impl.h"
#include "trivet/backend/process_group.h"
#include "trivet/error.h"
#include "trivet/tensor/profile.h"

namespace trivet::detail {
namespace {

// An op may have so many weights at once: a vjp reads 8 saved tensors at most, and an op has 6
// inputs.
constexpr std::size_t kMostUnitsOfAnOp = 8;

// Apart from the memory of a step: a unit that was gathered in one may still be whole in the next.
Tensor memory_for(Device& device, std::int64_t elements) {
  Storage* storage = device.impl().memory->allocate_apart({elements}, DType::f32);
  return Tensor(TensorImpl::over(storage, &device, {elements}, DType::f32));
}

}  // namespace

// Tensors may outlive the parts.
class WeightParts::Source final : public OnDemand {
 public:
  Source(WeightParts& parts, std::size_t unit) : parts_(&parts), unit_(unit) {}

  void need(Storage& storage) override { storage.data = parts().need(unit_); }
  void assign(std::uint64_t offset, std::span<const std::byte> values) override {
    parts().assign(unit_, offset, values);
  }
  void end() { parts_ = nullptr; }

 private:
  WeightParts& parts() const {
    if (parts_ == nullptr) throw Error("a weight was read after its ParameterStore was gone");
    return *parts_;
  }

  WeightParts* parts_;
  std::size_t unit_;
};

WeightParts::WeightParts(Device& device, const MeshShards& shards,
                         std::shared_ptr<const UnitParts> parts, ParameterStore::Keeps keeps)
    : device_(device),
      shards_(shards),
      parts_(std::move(parts), OwnParts::Has::own),
      keeps_all_(keeps == ParameterStore::Keeps::all),
      own_(Tensor::zeros(device, {parts_.size()})) {
  const BlockUnits& units = parts_.units();
  of_all_.most = most_elements(units, [&](std::size_t i) { return !units.is_of_stage(i); });
  of_stages_.most = most_elements(
      units, [&](std::size_t i) { return units.is_of_stage(i) && parts_.all().is_used(i); });
  alike_pool_.most = most_elements(units, [](std::size_t) { return true; });
  for (std::size_t i = 0; i < units.count(); ++i) {
    Unit& unit = units_.emplace_back();
    unit.source = std::make_shared<Source>(*this, i);
    const std::int64_t elements = units[i].size();
    Storage* storage = make_storage();
    storage->kind = MemoryKind::on_demand;
    storage->bytes = static_cast<std::uint64_t>(elements) * sizeof(float);
    storage->on_demand = unit.source;
    unit.value = Tensor(TensorImpl::over(storage, &device, {elements}, DType::f32));
    if (keeps_all_) unit.memory = memory_for(device, elements);
  }
}

WeightParts::~WeightParts() {
  drop_all_ahead();
  drop_gathers();
  for (Unit& unit : units_) unit.source->end();
}

std::int64_t WeightParts::most_of_an_op(std::vector<std::int64_t> sizes, std::int64_t ahead) {
  std::ranges::sort(sizes, std::greater());
  const auto sum_of = [&](std::size_t count) {
    const auto largest = std::span(sizes).first(std::min(count, sizes.size()));
    return std::accumulate(largest.begin(), largest.end(), std::int64_t{0});
  };
  // Those ahead may be the largest ones.
  return std::min(sum_of(kMostUnitsOfAnOp) + sum_of(static_cast<std::size_t>(ahead)),
                  sum_of(sizes.size()));
}

void WeightParts::read_in_parts(const std::vector<std::size_t>& apart) {
  const BlockUnits& units = parts_.units();
  of_all_.most = most_elements(units, [&](std::size_t i) {
    return !units.is_of_stage(i) && std::ranges::find(apart, i) == apart.end();
  });
}

void WeightParts::changed() {
  if (keeps_all_) return gather_all();
  for (Pool* const pool : {&of_all_, &of_stages_, &alike_pool_}) restart(*pool);
  if (holds_ == 0) return give_up_all();
  for (std::size_t i = 0; i < units_.size(); ++i) gather(units_[i], i);
}

void WeightParts::gather_all() {
  const ProfileSpan span("gather weights");
  end_gathers();
  for (std::size_t i = 0; i < units_.size(); ++i) {
    units_[i].transfer = start(i, units_[i].memory);
    if (shards_.overlap() == 0) end_gather(units_[i]);
  }
}

void WeightParts::end_gather(Unit& unit) {
  if (unit.transfer == nullptr) return;
  unit.transfer->wait();
  unit.transfer = nullptr;
}

void WeightParts::end_gathers() {
  for (Unit& unit : units_) end_gather(unit);
}

void WeightParts::give_up_all() {
  drop_all_ahead();
  for (Unit& unit : units_) unit.memory = {};
  of_all_.whole = of_stages_.whole = alike_pool_.whole = 0;
}

WeightParts::Pool& WeightParts::pool_of(std::size_t unit) {
  if (is_read_alike()) return alike_pool_;
  return parts_.units().is_of_stage(unit) ? of_stages_ : of_all_;
}

bool WeightParts::has_alone(std::size_t unit) const {
  return parts_.units().is_of_stage(unit) && shards_.has_stages_alone() &&
         parts_.all().is_used(unit);
}

void* WeightParts::need(std::size_t unit) {
  Unit& needed = units_[unit];
  if (keeps_all_) {
    if (needed.transfer != nullptr) {
      const ProfileSpan span("gather weights");
      end_gather(needed);
    }
    return needed.memory.view().data;
  }
  if (device_.impl().is_in_stage && !parts_.units().is_of_stage(unit)) {
    throw Error(
        "a layer of a pipeline reads a weight of no stage, and the processes of other "
        "stages do not",
        {.hint = "make the weights of the layer in the scope of its stage"});
  }
  needed.read = ++reads_;
  if (!is_read_alike() && has_alone(unit)) {
    return part_of(own_, parts_.part(unit).position, parts_.part(unit).end()).view().data;
  }
  if (!needed.memory.defined()) {
    make_room(pool_of(unit), needed.value.size());
    gather(needed, unit);
  }
  return needed.memory.view().data;
}

// Those that were read longest ago make room for others. The limit has room for all that an op
// reads.
void WeightParts::make_room(Pool& pool, std::int64_t elements) {
  while (holds_ == 0 && pool.whole > 0 && pool.whole + elements > pool.most) {
    Unit* oldest = nullptr;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      Unit& unit = units_[i];
      if (!unit.memory.defined() || &pool_of(i) != &pool) continue;
      if (oldest == nullptr || unit.read < oldest->read) oldest = &unit;
    }
    pool.whole -= oldest->value.size();
    oldest->memory = {};
  }
}

void WeightParts::check_readable(std::size_t index) const {
  if (is_read_alike() || parts_.all().is_used(index)) return;
  throw Error("a weight of stage " + std::to_string(parts_.units().stage(index)) +
                  " was read by a process of other stages",
              {.hint = "a layer of a pipeline reads weights of its stage alone; "
                       "ParameterStore::Whole has all"});
}

void WeightParts::gather(Unit& unit, std::size_t index) {
  const ProfileSpan span("gather weights");
  check_readable(index);
  if (!take_ahead(unit, index)) {
    Tensor memory = unit.memory;
    if (!memory.defined()) memory = memory_for(device_, unit.value.size());
    start(index, memory)->wait();
    if (!unit.memory.defined()) pool_of(index).whole += unit.value.size();
    unit.memory = memory;
  }
  note_gathered(index);
}

std::unique_ptr<Transfer> WeightParts::start(std::size_t index, Tensor& memory) {
  const OwnParts::Overlap& part = parts_.part(index);
  const bool among_stages = parts_.units().is_of_stage(index) && !is_read_alike();
  const auto among = among_stages ? MeshShards::Among::same_stages : MeshShards::Among::all;
  count_exchange(
      among_stages ? AxisExchange::Kind::gather_stage_parts : AxisExchange::Kind::gather_parts,
      memory, index);
  std::uint64_t& order = among_stages ? orders_.of_stages : orders_.of_all;
  order = (order ^ (index + 1)) * 0x100000001b3;
  return shards_.start_gather_parts(part_of(own_, part.position, part.end()),
                                    parts_.all().in_unit(index), memory, among);
}

// Processes that read the same units expect the same ones: so they start the same gathers. Where a
// step reads others than the one before it, nothing more is gathered ahead in it.
void WeightParts::note_gathered(std::size_t index) {
  if (holds_ > 0) return;
  Pool& pool = pool_of(index);
  const std::size_t next = pool.gathered.size();
  const bool is_expected = next < pool.expected.size() && pool.expected[next] == index;
  pool.is_as_expected = pool.is_as_expected && is_expected;
  pool.gathered.push_back(static_cast<std::uint32_t>(index));
  if (pool.is_as_expected) gather_ahead(pool);
}

void WeightParts::gather_ahead(Pool& pool) {
  const auto is_of = [&](const Ahead& one) { return one.pool == &pool; };
  auto count = std::ranges::count_if(ahead_, is_of);
  while (count < shards_.overlap()) {
    const std::size_t next = pool.gathered.size() + static_cast<std::size_t>(count);
    if (next >= pool.expected.size()) return;
    const std::size_t index = pool.expected[next];
    Ahead ahead{.unit = index,
                .pool = &pool,
                .memory = memory_for(device_, units_[index].value.size()),
                .transfer = nullptr};
    ahead.transfer = start(index, ahead.memory);
    ahead_.push_back(std::move(ahead));
    ++count;
  }
}

bool WeightParts::take_ahead(Unit& unit, std::size_t index) {
  Pool& pool = pool_of(index);
  const auto first = std::ranges::find(ahead_, &pool, &Ahead::pool);
  if (first == ahead_.end()) return false;
  if (first->unit != index || unit.memory.defined()) {
    drop_ahead(pool);
    return false;
  }
  first->transfer->wait();
  unit.memory = std::move(first->memory);
  pool.whole += unit.value.size();
  ahead_.erase(first);
  return true;
}

// If it fails, the next exchange throws the same. After a failure nobody may answer.
void WeightParts::drop_ahead(const Pool& pool) noexcept {
  for (Ahead& ahead : ahead_) {
    if (ahead.pool != &pool || std::uncaught_exceptions() > 0) continue;
    try {
      ahead.transfer->wait();
    } catch (const std::exception&) {
    }
  }
  std::erase_if(ahead_, [&](const Ahead& ahead) { return ahead.pool == &pool; });
}

void WeightParts::drop_gathers() noexcept {
  for (Unit& unit : units_) {
    if (unit.transfer == nullptr || std::uncaught_exceptions() > 0) continue;
    try {
      end_gather(unit);
    } catch (const std::exception&) {
    }
  }
}

void WeightParts::drop_all_ahead() noexcept {
  for (const Pool* const pool : {&of_all_, &of_stages_, &alike_pool_}) drop_ahead(*pool);
}

void WeightParts::restart(Pool& pool) {
  drop_ahead(pool);
  if (!pool.gathered.empty()) pool.expected = std::exchange(pool.gathered, {});
  pool.is_as_expected = true;
}

// All processes assign the same.
void WeightParts::assign(std::size_t unit, std::uint64_t offset,
                         std::span<const std::byte> values) {
  drop_all_ahead();
  end_gathers();
  const std::int64_t start = parts_.units()[unit].begin;
  const auto first = static_cast<std::int64_t>(offset / sizeof(float));
  const auto count = static_cast<std::int64_t>(values.size() / sizeof(float));
  const OwnParts::Overlap own = parts_.overlap({start + first, start + first + count});
  if (own.range.size() > 0) {
    Tensor mine = part_of(own_, own.position, own.end());
    const auto skipped = static_cast<std::size_t>(own.range.begin - start - first);
    mine.assign_bytes(values.subspan(skipped * sizeof(float), mine.bytes()));
  }
  const Tensor& memory = units_[unit].memory;
  if (memory.defined()) part_of(memory, first, first + count).assign_bytes(values);
}

// Processes of other stages have read other units.
void WeightParts::hold() {
  if (holds_++ > 0) return;
  if (alike_ == 0) give_up_all();
  for (std::size_t i = 0; i < units_.size(); ++i) need(i);
}

void WeightParts::release() {
  if (--holds_ == 0) give_up_all();
}

void WeightParts::begin_alike() {
  if (alike_++ == 0 && holds_ == 0) give_up_all();
  if (alike_ == 1) restart(alike_pool_);
}

void WeightParts::end_alike() {
  if (--alike_ == 0 && holds_ == 0) give_up_all();
}

void WeightParts::check_orders() const {
  if (shards_.all() == nullptr || keeps_all_) return;
  struct Read {
    Orders orders;
    std::int64_t stage = 0;
  };
  ProcessGroup& group = *shards_.all();
  const Read own{orders_, shards_.first_stage()};
  std::vector<Read> all(static_cast<std::size_t>(group.size()));
  group.all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const Read& read = all[rank];
    const auto same = std::ranges::find(all, read.stage, &Read::stage);
    const bool is_wrong_in_all = read.orders.of_all != all[0].orders.of_all;
    if (!is_wrong_in_all && read.orders.of_stages == same->orders.of_stages) continue;
    const std::ptrdiff_t other = is_wrong_in_all ? 0 : same - all.begin();
    throw RunError(
        "process " + std::to_string(rank) + " has read the weights in another order than " +
            "process " + std::to_string(other) + ", and each has parts of them",
        {.hint = "a layer whose ops depend on its data needs whole weights: use the axis "
                 "replica rather than data"});
  }
}

RowLeaves::RowLeaves(const RowShare& share, const WeightParts& parts, const Tensor& rows,
                     std::int64_t shards)
    : share(share), parts(parts), slots(static_cast<std::size_t>(shards)) {
  for (GradientSlot& slot : slots) leaves.push_back(make_leaf(rows, slot));
}

bool RowLeaves::have_gradient() const {
  return std::ranges::any_of(slots, &GradientSlot::written);
}

}  // namespace trivet::detail
