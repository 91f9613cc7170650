// SPDX-License-Identifier: Apache-2.0
#include "device/part_traffic.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "trivet/tensor/mesh_shards.h"

namespace trivet {
namespace {

// From here on MPI's implementations send around a ring.
constexpr std::uint64_t kLongGather = std::uint64_t{512} << 10;

std::int64_t sum_of(const PartTraffic::Parts& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
}

PartTraffic::Parts even_parts(std::int64_t all, std::int64_t processes) {
  PartTraffic::Parts parts;
  for (const MeshShards::Range& part : MeshShards::even_parts(all, processes)) {
    parts.push_back(part.size());
  }
  return parts;
}

// Of each part its elements [begin, begin + count), as far as it has them.
PartTraffic::Parts step_of(const PartTraffic::Parts& parts, std::int64_t begin,
                           std::int64_t count) {
  PartTraffic::Parts step;
  for (const std::int64_t part : parts) {
    step.push_back(std::clamp<std::int64_t>(part - begin, 0, count));
  }
  return step;
}

// What all processes with the same position in their slices have.
PartTraffic::Parts by_position(const TrafficGroup& group, const PartTraffic::Parts& parts) {
  PartTraffic::Parts positions(static_cast<std::size_t>(group.in_slice));
  for (std::size_t i = 0; i < parts.size(); ++i) positions[i % positions.size()] += parts[i];
  return positions;
}

constexpr std::array kFigures = {&PartTraffic::Sent::calls, &PartTraffic::Sent::messages,
                                 &PartTraffic::Sent::floats, &PartTraffic::Sent::between_messages,
                                 &PartTraffic::Sent::between_floats};

std::uint64_t bytes_of(std::int64_t floats) {
  return static_cast<std::uint64_t>(floats) * sizeof(float);
}

}  // namespace

std::int64_t gather_messages(std::uint64_t bytes, std::int64_t processes) {
  const auto all = static_cast<std::uint64_t>(processes);
  if (bytes * all >= kLongGather) return processes - 1;
  return static_cast<std::int64_t>(std::bit_width(all - 1));
}

std::int64_t in_other_slices(const MeshLayout& layout, const TrafficGroup& group,
                             std::int64_t processes) {
  const std::int64_t first = layout.slices_of(group.ranks.front(), processes).first;
  return std::ranges::count_if(group.ranks, [&](std::int64_t rank) {
    return layout.slices_of(rank, processes).first != first;
  });
}

PartTraffic::PartTraffic(const MeshLayout& layout, std::int64_t processes)
    : slice_count_(static_cast<std::size_t>(layout.slices())),
      sent_(static_cast<std::size_t>(processes)) {
  for (std::int64_t rank = 0; rank < processes; ++rank) {
    slices_.push_back(static_cast<std::size_t>(layout.slices_of(rank, processes).first));
  }
}

PartTraffic::Sent& PartTraffic::of(const TrafficGroup& group, std::size_t member) {
  return sent_[static_cast<std::size_t>(group.ranks[member])];
}

std::size_t PartTraffic::slice_of(const TrafficGroup& group, std::size_t member) const {
  return slices_[static_cast<std::size_t>(group.ranks[member])];
}

std::vector<PartTraffic::Slice> PartTraffic::by_slice(const TrafficGroup& group,
                                                      const Parts& parts) const {
  std::vector<Slice> slices(slice_count_);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Slice& slice = slices[slice_of(group, i)];
    ++slice.processes;
    slice.floats += parts[i];
  }
  return slices;
}

// Where a part is much longer than others, even ones are summed or gathered.
void PartTraffic::sum(const TrafficGroup& group, const Parts& parts, std::int64_t times, Cut cut) {
  if (group.size() == 1) return;
  if (!MeshShards::are_uneven(parts)) return sum_evenly(group, parts, times, cut);
  const Parts even = even_parts(sum_of(parts), group.size());
  sum_evenly(group, even, times, Cut::segments);
  move(group, even, parts, times);
}

void PartTraffic::gather(const TrafficGroup& group, const Parts& parts, std::int64_t times,
                         Cut cut) {
  if (group.size() == 1) return;
  if (!MeshShards::are_uneven(parts)) return gather_evenly(group, parts, times, cut);
  const Parts even = even_parts(sum_of(parts), group.size());
  move(group, parts, even, times);
  gather_evenly(group, even, times, Cut::segments);
}

// Each process has a part of a block, and gets another.
void PartTraffic::move(const TrafficGroup& group, const Parts& had, const Parts& gets,
                       std::int64_t times) {
  const std::vector<Slice> slices = by_slice(group, had);
  Parts begins;  // of what they get
  std::int64_t begin = 0;
  for (const std::int64_t size : gets) {
    begins.push_back(begin);
    begin += size;
  }
  std::int64_t had_begin = 0;
  for (std::size_t i = 0; i < had.size(); ++i) {
    const std::int64_t had_end = had_begin + had[i];
    const auto common = [&](std::size_t other) {
      const std::int64_t end = std::min(begins[other] + gets[other], had_end);
      return std::max<std::int64_t>(0, end - std::max(begins[other], had_begin));
    };
    std::int64_t in_slice = 0;
    for (std::size_t other = 0; slice_count_ > 1 && other < gets.size(); ++other) {
      if (slice_of(group, other) == slice_of(group, i)) in_slice += common(other);
    }
    const std::int64_t others = group.size() - slices[slice_of(group, i)].processes;
    add(of(group, i), times,
        {.calls = 1,
         .messages = group.size() - 1,
         .floats = had[i] - common(i),
         .between_messages = others,
         .between_floats = others > 0 ? had[i] - in_slice : 0});
    had_begin = had_end;
  }
}

void PartTraffic::add(Sent& sent, std::int64_t times, const Sent& each) {
  for (const auto member : kFigures) sent.*member += times * (each.*member);
}

void PartTraffic::sum_evenly(const TrafficGroup& group, const Parts& parts, std::int64_t times,
                             Cut cut) {
  const std::int64_t longest = std::ranges::max(parts);
  const std::int64_t step =
      cut == Cut::unit ? longest : std::min(longest, MeshShards::segment(group.size()));
  for (std::int64_t begin = 0; begin < longest; begin += step) {
    sum_step(group, step_of(parts, begin, step), times);
  }
}

void PartTraffic::gather_evenly(const TrafficGroup& group, const Parts& parts, std::int64_t times,
                                Cut cut) {
  const std::int64_t longest = std::ranges::max(parts), count = group.size();
  const bool at_once = cut == Cut::unit && MeshShards::sends_to_each(longest, count);
  const std::int64_t step = at_once ? longest : std::min(longest, MeshShards::segment(count));
  for (std::int64_t begin = 0; begin < longest; begin += step) {
    if (MeshShards::sends_to_each(step, count)) {
      gather_step(group, step_of(parts, begin, step), times);
    } else {
      gather_together(group, std::min(longest - begin, step), times);
    }
  }
}

void PartTraffic::sum_step(const TrafficGroup& group, const Parts& parts, std::int64_t times) {
  const std::int64_t all = sum_of(parts);
  const std::vector<Slice> slices = by_slice(group, parts);
  const Parts positions = by_position(group, parts);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Slice& own = slices[slice_of(group, i)];
    Sent each{.calls = 1,
              .messages = group.size() - 1,
              .floats = all - parts[i],
              .between_messages = group.size() - own.processes,
              .between_floats = all - own.floats};
    if (group.in_slice > 1) {
      each.calls = group.slices() + 1;
      each.between_messages = group.slices() - 1;
      each.between_floats = positions[i % positions.size()] - parts[i];
    }
    add(of(group, i), times, each);
  }
}

void PartTraffic::gather_step(const TrafficGroup& group, const Parts& parts, std::int64_t times) {
  const std::vector<Slice> slices = by_slice(group, parts);
  const Parts positions = by_position(group, parts);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::int64_t others = group.size() - slices[slice_of(group, i)].processes;
    Sent each{.calls = 1,
              .messages = group.size() - 1,
              .floats = parts[i] * (group.size() - 1),
              .between_messages = others,
              .between_floats = parts[i] * others};
    if (group.in_slice > 1) {
      each.calls = group.slices() + 1;
      each.between_messages = group.slices() - 1;
      each.between_floats = parts[i] * (group.slices() - 1);
      // Within its slice a process also sends the parts of its position in other slices.
      each.floats = each.between_floats + positions[i % positions.size()] * (group.in_slice - 1);
    }
    add(of(group, i), times, each);
  }
}

// All send as much as the one with the longest part.
void PartTraffic::gather_together(const TrafficGroup& group, std::int64_t longest,
                                  std::int64_t times) {
  const std::uint64_t bytes = bytes_of(longest);
  const std::vector<Slice> slices = by_slice(group, Parts(group.ranks.size()));
  for (std::size_t i = 0; i < group.ranks.size(); ++i) {
    const std::int64_t others = group.size() - slices[slice_of(group, i)].processes;
    const std::int64_t messages = gather_messages(bytes, group.size());
    Sent each{.calls = 1,
              .messages = messages,
              .floats = longest * (group.size() - 1),
              .between_messages = std::min(messages, others),
              .between_floats = longest * others};
    if (group.in_slice > 1) {
      const auto of_position = bytes * static_cast<std::uint64_t>(group.slices());
      each.calls = 2;
      each.between_messages = gather_messages(bytes, group.slices());
      each.messages = each.between_messages + gather_messages(of_position, group.in_slice);
      each.between_floats = longest * (group.slices() - 1);
    }
    add(of(group, i), times, each);
  }
}

PartTraffic::Sent PartTraffic::most() const {
  Sent most;
  for (const Sent& sent : sent_) {
    for (const auto member : kFigures) most.*member = std::max(most.*member, sent.*member);
  }
  return most;
}

}  // namespace trivet
