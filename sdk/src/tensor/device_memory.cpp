// SPDX-License-Identifier: Apache-2.0
// The device's memory policy; see device.h for what it promises and step_plan.h for the plan.
#include "tensor/device_memory.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tensor/device_impl.h"
#include "trivet/error.h"

namespace trivet {
namespace {

// Steps of so many shapes keep a plan of their own, e.g. training, its last batch, and evaluation.
constexpr std::size_t kMostPlans = 4;
// After this many records in a row the steps differ each time: solving plans would be wasted,
// except now and then.
constexpr std::int64_t kPatience = 8;
constexpr std::int64_t kTryAgain = 64;

std::uint64_t rounded(std::uint64_t bytes) {
  return std::max<std::uint64_t>(64, (bytes + 63) / 64 * 64);
}

std::string in_mib(std::uint64_t bytes) {
  const std::uint64_t tenths = (bytes * 10 + (1 << 19)) >> 20;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " MiB";
}

Storage* describe(Device::Impl* owner, const Shape& shape, DType dtype, const char* made_by) {
  const auto elements = static_cast<std::uint64_t>(shape.size());
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(elements, size_of(dtype), &bytes) || bytes >> 62 != 0) {
    throw Error("a tensor of shape " + shape.to_string() + " is too large");
  }
  Storage* storage = make_storage();
  storage->owner = owner;
  storage->bytes = bytes;
  storage->made_by = made_by;
  storage->shape = shape;
  storage->dtype = dtype;
  return storage;
}

}  // namespace

void give_back_device_memory(Storage& storage) {
  storage.owner->memory->free(storage);
}

DeviceMemory::DeviceMemory(Device::Impl& device, const std::string& key, std::uint64_t limit,
                           Take take, GiveBack give_back)
    : device_(device), key_(key), limit_(limit), take_(take), give_back_(give_back) {
  plans_.reserve(kMostPlans + 1);
}

DeviceMemory::~DeviceMemory() {
  if (arena_ != nullptr) release_arena(arena_);
  trim();
}

Storage* DeviceMemory::allocate(const Shape& shape, DType dtype, const char* made_by) {
  Storage* storage = describe(&device_, shape, dtype, made_by);
  return place(storage, Where::step);
}

Storage* DeviceMemory::allocate_apart(const Shape& shape, DType dtype) {
  return place(describe(&device_, shape, dtype, "a constant"), Where::apart);
}

Storage* DeviceMemory::place(Storage* storage, Where where) {
  const bool apart = where == Where::apart;
  std::lock_guard lock(mutex_);
  try {
    if (phase_ == Phase::choosing && !apart) choose_plan(rounded(storage->bytes));
    if (phase_ == Phase::outside || apart) {
      if (!apart) storage->made_by = "";  // made by no op that we know of
      take_cached(*storage, MemoryKind::persistent);
      persistent_ += storage->bytes;
    } else if (phase_ != Phase::replaying || !replay_allocation(*storage)) {
      record_allocation(*storage);
    }
  } catch (...) {
    discard_storage(storage);
    throw;
  }
  link(*storage);
  return storage;
}

void DeviceMemory::free(Storage& storage) {
  std::lock_guard lock(mutex_);
  unlink(storage);
  if (storage.kind == MemoryKind::persistent) persistent_ -= storage.bytes;
  if (phase_ != Phase::outside && storage.step == step_ && storage.kind != MemoryKind::persistent) {
    note_free(storage);
  }
  if (storage.kind == MemoryKind::arena) {
    Arena* arena = storage.arena;
    if (--arena->alive == 0 && arena->left) release_arena(arena);
  } else {
    free_blocks_.emplace(storage.capacity, storage.data);
  }
}

void* DeviceMemory::allocate_scratch(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  return take_from_backend(bytes);
}

void DeviceMemory::free_scratch(void* data, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  give_to_backend(data, bytes);
}

// ---- blocks

void* DeviceMemory::take_from_backend(std::uint64_t bytes) {
  auto possible = [&] { return limit_ == 0 || taken_ + bytes <= limit_; };
  void* data = nullptr;
  if (possible()) data = take_(device_, bytes);
  if (data == nullptr && !free_blocks_.empty()) {
    trim();
    if (possible()) data = take_(device_, bytes);
  }
  if (data == nullptr) return nullptr;
  taken_ += bytes;
  report_.peak_bytes = std::max(report_.peak_bytes, taken_);
  ++report_.backend_allocations;
  return data;
}

void DeviceMemory::give_to_backend(void* data, std::uint64_t bytes) {
  give_back_(device_, data);
  taken_ -= bytes;
}

void DeviceMemory::trim() {
  for (auto [bytes, data] : free_blocks_) give_to_backend(data, bytes);
  free_blocks_.clear();
}

DeviceMemory::Block DeviceMemory::take_block(std::uint64_t bytes) {
  // The best fit, if it wastes no more than a quarter.
  auto found = free_blocks_.lower_bound(bytes);
  if (found != free_blocks_.end() && found->first <= bytes + bytes / 4) {
    Block block{found->second, found->first};
    free_blocks_.erase(found);
    return block;
  }
  void* data = take_from_backend(bytes);
  if (data == nullptr) fail(bytes, "a tensor");
  return {data, bytes};
}

void DeviceMemory::take_cached(Storage& storage, MemoryKind kind) {
  Block block = take_block(rounded(storage.bytes));
  storage.kind = kind;
  storage.data = block.data;
  storage.capacity = block.bytes;
}

// ---- steps

void DeviceMemory::begin_step() {
  std::lock_guard lock(mutex_);
  // A step that an exception cut short leaves its arena to whatever still holds on to it.
  if (arena_ != nullptr && arena_->alive > 0) leave_arena();
  if (arena_ == nullptr && !plans_.empty()) provide_arena();
  ++step_;
  record_ = {};
  plan_ = nullptr;
  event_ = 0;
  number_ = 0;
  phase_ = plans_.empty() ? Phase::recording : Phase::choosing;
}

void DeviceMemory::end_step() {
  std::lock_guard lock(mutex_);
  const Phase phase = std::exchange(phase_, Phase::outside);
  if (phase == Phase::replaying) finish_replay();
  if (phase == Phase::recording) finish_recording();
}

void DeviceMemory::forget_plans() {
  std::lock_guard lock(mutex_);
  plans_.clear();
  plan_ = nullptr;
  records_in_a_row_ = 0;
  if (arena_ == nullptr) return;
  if (arena_->alive > 0) return leave_arena();
  release_arena(std::exchange(arena_, nullptr));
  report_.arena_bytes = 0;
}

void DeviceMemory::choose_plan(std::uint64_t bytes) {
  for (StepPlan& plan : plans_) {
    if (plan.record.sizes.front() != bytes) continue;
    if (plan_ == nullptr || plan.last_used > plan_->last_used) plan_ = &plan;
  }
  phase_ = plan_ == nullptr ? Phase::recording : Phase::replaying;
}

// True when the storage got its planned position.
bool DeviceMemory::replay_allocation(Storage& storage) {
  const StepRecord& record = plan_->record;
  if (event_ == record.events.size() || record.events[event_] != number_ ||
      record.sizes[static_cast<std::size_t>(number_)] != rounded(storage.bytes)) {
    diverge();
    return false;
  }
  storage.step = step_;
  storage.number = number_;
  if (plan_->escapes(number_)) {
    take_cached(storage, MemoryKind::step);
  } else {
    storage.kind = MemoryKind::arena;
    storage.arena = arena_;
    storage.data =
        static_cast<std::byte*>(arena_->data) + plan_->offsets[static_cast<std::size_t>(number_)];
    storage.capacity = rounded(storage.bytes);
    ++arena_->alive;
  }
  ++event_;
  ++number_;
  return true;
}

void DeviceMemory::record_allocation(Storage& storage) {
  take_cached(storage, MemoryKind::step);
  storage.step = step_;
  storage.number = static_cast<std::int32_t>(record_.sizes.size());
  record_.sizes.push_back(rounded(storage.bytes));
  record_.events.push_back(storage.number);
}

void DeviceMemory::note_free(const Storage& storage) {
  if (phase_ == Phase::replaying) {
    if (plan_->escapes(storage.number)) return;
    const auto& events = plan_->record.events;
    if (event_ < events.size() && events[event_] == ~storage.number) {
      ++event_;
      return;
    }
    diverge();
  }
  record_.events.push_back(~storage.number);
}

// The step leaves its plan: what was placed stays where it is, and what happened so far starts a
// new record.
void DeviceMemory::diverge() {
  const StepRecord& old = plan_->record;
  record_.sizes.assign(old.sizes.begin(), old.sizes.begin() + number_);
  record_.events.assign(old.events.begin(),
                        old.events.begin() + static_cast<std::ptrdiff_t>(event_));
  plan_ = nullptr;
  phase_ = Phase::recording;
}

void DeviceMemory::finish_recording() {
  ++report_.recorded_steps;
  ++records_in_a_row_;
  // Whatever is still in the arena was placed there before the step diverged.
  if (arena_ != nullptr && arena_->alive > 0) leave_arena();
  if (record_.sizes.empty()) return;
  if (records_in_a_row_ > kPatience && records_in_a_row_ % kTryAgain != 0) return;
  std::vector<bool> escaped;
  for (const StepPlan& plan : plans_) {
    // A tensor that outlived one step of a kind may do so again, even if it did not this time.
    if (plan.record.sizes != record_.sizes) continue;
    for (std::uint64_t offset : plan.offsets) escaped.push_back(offset == StepPlan::kNoPosition);
  }
  keep_plan(solve(std::move(record_), escaped));
  trim();
  provide_arena();
}

void DeviceMemory::finish_replay() {
  if (event_ != plan_->record.events.size()) {
    diverge();
    phase_ = Phase::outside;
    return finish_recording();
  }
  ++report_.planned_steps;
  records_in_a_row_ = 0;
  plan_->last_used = step_;
  report_.lower_bound_bytes = plan_->lower_bound;
  if (arena_->alive == 0) return;
  std::vector<bool> escaped = escaped_from_arena();
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    escaped[i] = escaped[i] || plan_->offsets[i] == StepPlan::kNoPosition;
  }
  leave_arena();
  keep_plan(solve(plan_->record, escaped));
  provide_arena();
}

std::vector<bool> DeviceMemory::escaped_from_arena() const {
  std::vector<bool> escaped(plan_->record.sizes.size());
  for (const Storage* storage = alive_; storage != nullptr; storage = storage->next) {
    if (storage->arena == arena_) escaped[static_cast<std::size_t>(storage->number)] = true;
  }
  return escaped;
}

void DeviceMemory::keep_plan(StepPlan plan) {
  plan.last_used = step_;
  report_.lower_bound_bytes = plan.lower_bound;
  // The first allocation distinguishes plans.
  std::erase_if(plans_, [&](const StepPlan& old) {
    return old.record.sizes.front() == plan.record.sizes.front();
  });
  if (plans_.size() == kMostPlans) {
    plans_.erase(std::min_element(
        plans_.begin(), plans_.end(),
        [](const StepPlan& a, const StepPlan& b) { return a.last_used < b.last_used; }));
  }
  plans_.push_back(std::move(plan));
  plan_ = nullptr;
}

void DeviceMemory::provide_arena() {
  std::uint64_t bytes = 64;
  for (const StepPlan& plan : plans_) bytes = std::max(bytes, plan.arena_bytes);
  if (arena_ != nullptr && arena_->bytes >= bytes) return;
  if (arena_ != nullptr) release_arena(arena_);
  arena_ = nullptr;
  report_.arena_bytes = 0;
  void* data = take_from_backend(bytes);
  if (data == nullptr) {
    plans_.clear();
    fail(bytes, "the memory of a step");
  }
  arena_ = new Arena{data, bytes};
  report_.arena_bytes = bytes;
}

void DeviceMemory::leave_arena() {
  arena_->left = true;
  arena_ = nullptr;
  report_.arena_bytes = 0;
}

void DeviceMemory::release_arena(Arena* arena) {
  give_to_backend(arena->data, arena->bytes);
  delete arena;
}

// ---- what is alive

void DeviceMemory::link(Storage& storage) {
  storage.previous = nullptr;
  storage.next = alive_;
  if (alive_ != nullptr) alive_->previous = &storage;
  alive_ = &storage;
}

void DeviceMemory::unlink(Storage& storage) {
  if (storage.next != nullptr) storage.next->previous = storage.previous;
  (storage.previous != nullptr ? storage.previous->next : alive_) = storage.next;
}

MemoryReport DeviceMemory::report() const {
  std::lock_guard lock(mutex_);
  MemoryReport report = report_;
  report.persistent_bytes = persistent_;
  return report;
}

void DeviceMemory::fail(std::uint64_t bytes, const char* what) const {
  std::string text = key_ + ": no memory for " + what + " of " + in_mib(bytes) + ": " +
                     in_mib(taken_) + " are in use";
  if (limit_ != 0) text += ", the limit is " + in_mib(limit_);
  if (!device_.error_text.empty()) text += " (" + std::exchange(device_.error_text, {}) + ")";
  throw Error(
      text + largest_tensors(),
      {.hint = limit_ != 0 ? "raise runtime.memory_limit, or make the batch or the model smaller"
                           : "make the batch or the model smaller"});
}

std::string DeviceMemory::largest_tensors() const {
  std::vector<const Storage*> all;
  for (const Storage* storage = alive_; storage != nullptr; storage = storage->next) {
    all.push_back(storage);
  }
  const auto shown = std::min<std::size_t>(10, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), all.end(),
                    [](const Storage* a, const Storage* b) { return a->bytes > b->bytes; });
  std::string text = shown == 0 ? "" : "; the largest tensors are:";
  for (std::size_t i = 0; i < shown; ++i) {
    text += "\n  " + in_mib(all[i]->bytes) + "  " + std::string(name_of(all[i]->dtype)) + " " +
            all[i]->shape.to_string() + (*all[i]->made_by ? " of " : "") + all[i]->made_by;
  }
  return text;
}

}  // namespace trivet
