// SPDX-License-Identifier: Apache-2.0
#include "processes/overlap_tuner.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "base/process_info.h"
#include "trivet/backend/mesh.h"
#include "trivet/config/json.h"
#include "trivet/tensor/step_plans.h"

namespace trivet {
namespace {

// The first steps plan memory.
constexpr std::int64_t kPlanningSteps = 2, kMeasuredSteps = 5;
constexpr std::int64_t kNoChoice = -1;

std::int64_t broadcast_number(World& world, std::int64_t number) {
  world.broadcast(std::as_writable_bytes(std::span(&number, 1)), 0);
  return number;
}

bool any_has(World& world, bool mine) {
  const std::uint8_t own = mine ? 1 : 0;
  std::vector<std::uint8_t> all(static_cast<std::size_t>(world.size()));
  world.all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  return std::ranges::find(all, 1) != all.end();
}

// A process that has taken its peak with the first overlap has so many bytes left for others.
std::int64_t bytes_left(const Device& device, std::uint64_t limit) {
  if (limit == 0) return std::numeric_limits<std::int64_t>::max();
  const std::uint64_t peak = device.memory().peak_bytes;
  return peak < limit ? static_cast<std::int64_t>(limit - peak) : 0;
}

std::int64_t most_with(const ExchangeProfile& profile, std::int64_t left) {
  const auto begun = static_cast<std::int64_t>(bytes_under_way(profile, MeshConfig::kFirstOverlap));
  std::int64_t most = MeshConfig::kMostOverlap;
  while (most > MeshConfig::kFirstOverlap &&
         static_cast<std::int64_t>(bytes_under_way(profile, most)) - begun > left) {
    --most;
  }
  return most;
}

}  // namespace

OverlapTuner::OverlapTuner(World& world, Device& device, std::uint64_t memory_limit, Lead lead)
    : world_(world), device_(device), memory_limit_(memory_limit), lead_(std::move(lead)) {}

// Gradients wait longer or shorter for their sums.
void OverlapTuner::set_overlap(std::int64_t count) {
  ExchangeLog& log = *world_.exchange_log();
  if (log.overlap().value_or(MeshConfig::kFirstOverlap) != count) forget_step_plans(device_);
  log.set_overlap(count);
}

void OverlapTuner::before_step() {
  const bool looks_for_units = !is_done_ && steps_ == kPlanningSteps - 1;
  if (!is_measuring_ && !looks_for_units) return;
  world_.exchange_log()->listen();
  step_begin_ = steady_seconds();
}

void OverlapTuner::after_step() {
  if (is_done_) return;
  ++steps_;
  if (is_measuring_) {
    measured_.push_back({.begin = step_begin_,
                         .end = steady_seconds(),
                         .exchanges = world_.exchange_log()->take()});
    if (std::ssize(measured_) == kMeasuredSteps) decide();
  } else if (steps_ == kPlanningSteps) {
    const bool has_units = !world_.exchange_log()->take().empty();
    // A process that has a stage for itself exchanges none.
    if (!any_has(world_, has_units)) {
      is_done_ = true;
      return;
    }
    const bool is_known = broadcast_number(world_, lead_.known ? 1 : 0) != 0;
    if (is_known) return decide();
    set_overlap(0);
    is_measuring_ = true;
  }
}

void OverlapTuner::decide() {
  is_measuring_ = false;
  is_done_ = true;
  const Value mine =
      Value::table({{"left", bytes_left(device_, memory_limit_)}, {"steps", to_value(measured_)}});
  const std::vector<std::string> all = all_gather_text(world_, to_json(mine));
  ChosenOverlap chosen;
  std::int64_t overlap = kNoChoice;
  if (world_.rank() == 0) {
    std::int64_t left = std::numeric_limits<std::int64_t>::max();
    std::vector<std::vector<MeasuredStep>> by_process;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      const std::string source = "process " + std::to_string(rank);
      const Value theirs = value_from_json(all[rank], source);
      left = std::min(left, theirs.at("left", source).as_integer());
      by_process.push_back(measured_steps(theirs.at("steps", source), source));
    }
    chosen.profile = lead_.known ? *lead_.known : exchange_profile(by_process);
    if (!chosen.profile.is_empty()) {
      const std::int64_t most = most_with(chosen.profile, left);
      chosen.choice = choose_overlap(chosen.profile, most);
      chosen.is_limited = most < MeshConfig::kMostOverlap &&
                          choose_overlap(chosen.profile, MeshConfig::kMostOverlap).overlap > most;
      overlap = chosen.choice.overlap;
    }
  }
  overlap = broadcast_number(world_, overlap);
  set_overlap(overlap == kNoChoice ? MeshConfig::kFirstOverlap : overlap);
  if (!lead_.known) {
    chosen.first_step = steps_ - kMeasuredSteps + 1;
    chosen.last_step = steps_;
  }
  measured_.clear();
  if (overlap != kNoChoice && lead_.on_choice) lead_.on_choice(chosen);
}

}  // namespace trivet
