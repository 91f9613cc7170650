// SPDX-License-Identifier: Apache-2.0
#include "device/step_exchanges.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "device/part_traffic.h"
#include "trivet/backend/mesh_layout.h"
#include "trivet/tensor/mesh_shards.h"

namespace trivet {
namespace {

class Exchanges {
 public:
  explicit Exchanges(const MeshConfig& mesh)
      : layout_(mesh),
        shards_(mesh, nullptr),
        all_(mesh.processes),
        own_shards_(layout_.shards_of(0, all_).count),
        own_pieces_(shards_.pieces() / all_) {
    const auto work = [&](std::int64_t rank) { return layout_.work_of(rank, all_); };
    all_group_ = group_of(ranks_as_first(all_, [](std::int64_t) { return 0; }));
    sharing_shards_ = group_of(ranks_as_first(all_, work));
    first_stage_ = group_of(ranks_as_first(all_, [&](std::int64_t rank) {
      return layout_.coordinates_of(rank, all_, MeshLayout::kStageAxis).first;
    }));
    for (const std::string_view axis : MeshLayout::kInnerAxes) {
      axes_[axis] = {ranks_as_first(all_, [&](std::int64_t rank) {
        return std::pair(layout_.work_of(rank, all_, axis), layout_.shards_of(rank, all_).first);
      })};
    }
  }

  std::int64_t own_shards() const { return own_shards_; }
  std::int64_t own_pieces() const { return own_pieces_; }
  const TrafficGroup& all() const { return all_group_; }
  // The processes with the same work of each shard, which have all shards between them.
  const TrafficGroup& sharing_shards() const { return sharing_shards_; }
  // The processes that have all blocks along mdl, all stages, or all positions of a shard between
  // them, and are alike else.
  const TrafficGroup& sharing(std::string_view axis) const { return axes_.at(axis); }
  // So many processes that share an axis: where that may be several, those that send most to other
  // slices.
  const TrafficGroup& sharing(std::int64_t processes) const {
    const TrafficGroup* found = nullptr;
    for (const auto& [axis, group] : axes_) {
      if (group.size() != processes) continue;
      if (found == nullptr || others(group) > others(*found)) found = &group;
    }
    return found != nullptr ? *found : all_group_;
  }
  // Those of the first stage.
  const TrafficGroup& first_stage() const { return first_stage_; }

  // As ProcessGroup::all_gather.
  void gather(std::string_view name, std::uint64_t bytes, const TrafficGroup& group,
              std::int64_t times = 1) {
    if (group.size() == 1) return;
    const std::int64_t messages = gather_messages(bytes, group.size());
    add(name, times,
        {.messages = messages,
         .bytes = bytes * static_cast<std::uint64_t>(group.size() - 1),
         .between_messages = std::min(messages, others(group)),
         .between_bytes = bytes * static_cast<std::uint64_t>(others(group))});
  }
  // As ProcessSum::whole.
  void sum(std::string_view name, std::int64_t floats, const TrafficGroup& group,
           std::int64_t times = 1) {
    if (group.size() == 1) return;
    if (!MeshShards::is_cut(floats)) return sum_short(name, bytes_of(floats), group, times);
    PartTraffic& traffic = traffic_of(name);
    const std::int64_t processes = group.size();
    const std::int64_t segment = MeshShards::segment(processes) * processes;
    for (std::int64_t begin = 0; begin < floats; begin += segment) {
      const std::int64_t count = std::min(segment, floats - begin);
      const std::int64_t length = (count + processes - 1) / processes;
      Parts parts;
      for (std::int64_t i = 0; i < processes; ++i) {
        parts.push_back(std::clamp<std::int64_t>(count - i * length, 0, length));
      }
      traffic.sum(group, parts, times, Cut::segments);
      traffic.gather(group, parts, times, Cut::segments);
    }
  }
  // Elements of a block that each process owns, by rank.
  using Parts = PartTraffic::Parts;
  using Cut = PartTraffic::Cut;
  Parts equal_parts(std::int64_t floats) const {
    Parts parts;
    for (std::int64_t rank = 0; rank < all_; ++rank) {
      parts.push_back(shards_.piece(floats, (rank + 1) * own_pieces_ - 1).end -
                      shards_.piece(floats, rank * own_pieces_).begin);
    }
    return parts;
  }
  bool overlaps() const { return shards_.overlap() > 0; }
  // As MeshShards::sum_to_part.
  void sum_to_part(std::string_view name, const Parts& parts, std::int64_t times, Cut cut) {
    if (sharing_shards_.size() == 1) return;
    std::map<std::int64_t, std::vector<std::int64_t>> groups;  // of ranks, by their work
    for (std::int64_t rank = 0; rank < all_; ++rank) {
      groups[layout_.work_of(rank, all_)].push_back(rank);
    }
    for (const auto& [work, ranks] : groups) {
      traffic_of(name).sum(group_of(ranks), of(parts, ranks), times, cut);
    }
  }
  // As MeshShards::gather_parts of these ranks.
  void gather_parts(std::string_view name, const Parts& parts, const TrafficGroup& group,
                    std::int64_t times, Cut cut) {
    if (group.size() > 1) traffic_of(name).gather(group, of(parts, group.ranks), times, cut);
  }
  // Of a block that the first stage shares.
  Parts parts_of_stage(std::int64_t floats) const {
    Parts parts(static_cast<std::size_t>(all_));
    for (std::int64_t i = 0; i < shards_.pieces(); ++i) {
      parts[static_cast<std::size_t>(i / own_pieces_)] +=
          shards_.piece_of_stage(floats, i, 0).size();
    }
    return parts;
  }
  // From a stage to the next one, or to all others. Some stage has the next one in another slice.
  void send(std::string_view name, std::uint64_t bytes, std::int64_t times) {
    const bool is_between = others(sharing(MeshLayout::kStageAxis)) > 0;
    add(name, times,
        {.messages = 1,
         .bytes = bytes,
         .between_messages = is_between ? 1 : 0,
         .between_bytes = is_between ? bytes : 0});
  }
  void send_to_all(std::string_view name, std::uint64_t bytes, std::int64_t times) {
    const TrafficGroup& stages = sharing(MeshLayout::kStageAxis);
    send_each(name, bytes, stages, times);
  }
  // Of a tensor with as many rows for each process.
  void exchange_rows(std::string_view name, std::uint64_t bytes, std::int64_t times) {
    send_each(name, bytes / static_cast<std::uint64_t>(all_), all_group_, times);
  }
  std::vector<Exchange> take() {
    for (const auto& [name, traffic] : traffic_) {
      const PartTraffic::Sent sent = traffic.most();
      Exchange& exchange = named(name);
      exchange.calls += sent.calls;
      exchange.messages += sent.messages;
      exchange.bytes += bytes_of(sent.floats);
      exchange.between_messages += sent.between_messages;
      exchange.between_bytes += bytes_of(sent.between_floats);
    }
    return std::move(exchanges_);
  }

 private:
  TrafficGroup group_of(const std::vector<std::int64_t>& ranks) const {
    return {ranks, layout_.in_slice(ranks, all_)};
  }
  std::int64_t others(const TrafficGroup& group) const {
    return in_other_slices(layout_, group, all_);
  }
  static Parts of(const Parts& parts, const std::vector<std::int64_t>& ranks) {
    Parts owned;
    for (const std::int64_t rank : ranks) owned.push_back(parts[static_cast<std::size_t>(rank)]);
    return owned;
  }
  // Each process adds up all: what its slice has, and then what slices have.
  void sum_short(std::string_view name, std::uint64_t bytes, const TrafficGroup& group,
                 std::int64_t times) {
    if (group.in_slice == 1) return gather(name, bytes, group, times);
    TrafficGroup within, between;
    for (std::int64_t i = 0; i < group.size(); ++i) {
      const std::int64_t rank = group.ranks[static_cast<std::size_t>(i)];
      if (i < group.in_slice) within.ranks.push_back(rank);
      if (i % group.in_slice == 0) between.ranks.push_back(rank);
    }
    gather(name, bytes, within, times);
    gather(name, bytes, between, times);
  }
  static std::uint64_t bytes_of(std::int64_t floats) {
    return static_cast<std::uint64_t>(floats) * sizeof(float);
  }
  Exchange& named(std::string_view name) {
    const auto found = std::ranges::find(exchanges_, name, &Exchange::name);
    if (found != exchanges_.end()) return *found;
    return exchanges_.emplace_back(Exchange{.name = std::string(name)});
  }
  struct Call {
    std::int64_t messages = 0;
    std::uint64_t bytes = 0;
    std::int64_t between_messages = 0;
    std::uint64_t between_bytes = 0;
  };
  void add(std::string_view name, std::int64_t calls, const Call& each) {
    Exchange& exchange = named(name);
    exchange.calls += calls;
    exchange.messages += calls * each.messages;
    exchange.bytes += static_cast<std::uint64_t>(calls) * each.bytes;
    exchange.between_messages += calls * each.between_messages;
    exchange.between_bytes += static_cast<std::uint64_t>(calls) * each.between_bytes;
  }
  void send_each(std::string_view name, std::uint64_t bytes, const TrafficGroup& group,
                 std::int64_t times) {
    const std::int64_t all = group.size() - 1;
    add(name, times,
        {.messages = all,
         .bytes = bytes * static_cast<std::uint64_t>(all),
         .between_messages = others(group),
         .between_bytes = bytes * static_cast<std::uint64_t>(others(group))});
  }
  PartTraffic& traffic_of(std::string_view name) {
    named(name);
    return traffic_.try_emplace(std::string(name), layout_, all_).first->second;
  }

  MeshLayout layout_;
  MeshShards shards_;
  std::int64_t all_, own_shards_, own_pieces_;
  TrafficGroup all_group_, sharing_shards_, first_stage_;
  std::map<std::string_view, TrafficGroup> axes_;
  std::vector<Exchange> exchanges_;
  std::map<std::string, PartTraffic> traffic_;  // by name
};

// What layers exchange inside of the steps of a process's shards.
void add_blocks(Exchanges& exchanges, const ExchangedTensors& tensors) {
  const auto parts_of = [&](const AxisExchange& one) {
    if (!tensors.parts.empty()) return tensors.parts[static_cast<std::size_t>(one.unit)];
    const auto floats = static_cast<std::int64_t>(one.bytes / sizeof(float));
    const bool is_of_stage = one.kind == AxisExchange::Kind::sum_to_stage_part ||
                             one.kind == AxisExchange::Kind::gather_stage_parts;
    return is_of_stage ? exchanges.parts_of_stage(floats) : exchanges.equal_parts(floats);
  };
  for (const AxisExchange& one : tensors.blocks) {
    const std::int64_t times = one.calls * exchanges.own_shards();
    const auto floats = static_cast<std::int64_t>(one.bytes / sizeof(float));
    switch (one.kind) {
      case AxisExchange::Kind::sum:
        exchanges.sum("block_sums", floats, exchanges.sharing(one.sharing), times);
        break;
      case AxisExchange::Kind::gather:
        exchanges.gather("block_gathers", one.bytes, exchanges.sharing(one.sharing), times);
        break;
      case AxisExchange::Kind::sum_to_part:  // once for all shards of the process
      case AxisExchange::Kind::sum_to_stage_part:
        exchanges.sum_to_part("gradients", parts_of(one), one.calls,
                              tensors.sums_units && exchanges.overlaps()
                                  ? Exchanges::Cut::unit
                                  : Exchanges::Cut::segments);
        break;
      case AxisExchange::Kind::gather_stage_parts:
        exchanges.gather_parts("weights", parts_of(one), exchanges.first_stage(),
                               tensors.units_remain ? one.calls : times, Exchanges::Cut::unit);
        break;
      case AxisExchange::Kind::send:
        exchanges.send("stages", one.bytes, times);
        break;
      case AxisExchange::Kind::broadcast:
        exchanges.send_to_all("stages", one.bytes, times);
        break;
      case AxisExchange::Kind::exchange_rows:
        exchanges.exchange_rows("experts", one.bytes, times);
        break;
      case AxisExchange::Kind::gather_number:
        exchanges.gather("numbers", one.bytes, exchanges.all(), times);
        break;
      case AxisExchange::Kind::gather_parts:
        exchanges.gather_parts("weights", parts_of(one), exchanges.all(),
                               tensors.units_remain ? one.calls : times, Exchanges::Cut::unit);
        break;
    }
  }
}

// What DefaultTrainer and Learner exchange besides tensors.
void add_numbers(Exchanges& exchanges, const ExchangedTensors& tensors) {
  constexpr std::string_view kName = "numbers";
  const TrafficGroup& group = exchanges.sharing_shards();
  const auto of_shards = static_cast<std::uint64_t>(exchanges.own_shards()) * sizeof(double);
  const auto of_pieces = static_cast<std::uint64_t>(exchanges.own_pieces()) * sizeof(double);
  exchanges.gather(kName, kStepRecordBytes, exchanges.all());
  if (tensors.reads_own_rows) {  // rows and examples
    exchanges.gather(kName, sizeof(std::int64_t), group, 2);
  }
  // Which variables have a gradient, and whether a loss is bad.
  exchanges.gather(kName, static_cast<std::uint64_t>(tensors.variables + 1), group);
  exchanges.gather(kName, of_shards, group, 2);  // weights of the shards, and their losses
  exchanges.gather(kName, static_cast<std::uint64_t>(tensors.variables),
                   exchanges.sharing(MeshLayout::kStageAxis));
  if (tensors.needs_norm && tensors.shares_updates) {
    // Of each unit; or of all variables of a device, before and after they are limited.
    const std::int64_t units = std::max<std::int64_t>(tensors.units, 1);
    const auto numbers = static_cast<std::uint64_t>(tensors.clips_variables ? 2 : units);
    exchanges.gather(kName, numbers * of_pieces, exchanges.all());
  }
  if (tensors.units > 0 && !tensors.keeps_units) {  // which weights were read
    exchanges.gather(kName, 3 * sizeof(std::uint64_t), exchanges.all());
  }
  exchanges.sum(kName, 1, group);             // the step's loss
  exchanges.gather(kName, of_shards, group);  // and the weights again
  if (tensors.reads_own_rows && tensors.counts_tokens) {
    exchanges.gather(kName, sizeof(std::int64_t), group);
  }
}

}  // namespace

std::int64_t processes_of_blocks(const MeshConfig& mesh) {
  return Exchanges(mesh).sharing(MeshLayout::kBlockAxis).size();
}

std::int64_t processes_of_shard(const MeshConfig& mesh) {
  const Exchanges exchanges(mesh);
  std::int64_t processes = 1;
  for (const std::string_view axis : MeshLayout::kInnerAxes) {
    processes *= exchanges.sharing(axis).size();
  }
  return processes;
}

std::vector<Exchange> step_exchanges(const MeshConfig& mesh, const ExchangedTensors& tensors) {
  if (mesh.processes == 1) return {};
  Exchanges exchanges(mesh);
  if (tensors.units > 0) {
    // Those of a step are among `blocks`.
  } else if (tensors.shares_updates) {
    const Exchanges::Parts parts =
        tensors.parts.empty() ? exchanges.equal_parts(tensors.gradients) : tensors.parts.front();
    exchanges.sum_to_part("gradients", parts, 1, Exchanges::Cut::segments);
    exchanges.gather_parts("weights", parts, exchanges.all(), 1, Exchanges::Cut::segments);
  } else {
    exchanges.sum("gradients", tensors.gradients, exchanges.sharing_shards());
  }
  if (tensors.states > 0) exchanges.sum("states", tensors.states, exchanges.sharing_shards());
  add_blocks(exchanges, tensors);
  add_numbers(exchanges, tensors);
  return exchanges.take();
}

double seconds_of(const Exchange& exchange, const Networks& networks) {
  return networks.within.seconds(exchange.messages - exchange.between_messages,
                                 exchange.bytes - exchange.between_bytes) +
         networks.between.seconds(exchange.between_messages, exchange.between_bytes);
}

double seconds_of(const std::vector<Exchange>& exchanges, const Networks& networks) {
  double seconds = 0;
  for (const Exchange& one : exchanges) seconds += seconds_of(one, networks);
  return seconds;
}

double hidden_seconds(const std::vector<Exchange>& exchanges, const Networks& networks,
                      const ExchangedTensors& tensors, std::int64_t overlap,
                      double compute_seconds) {
  if (overlap == 0 || tensors.units == 0) return 0;
  const double others = 1 - 1 / static_cast<double>(tensors.units);
  const auto seconds_of_others = [&](std::string_view name) {
    const auto found = std::ranges::find(exchanges, name, &Exchange::name);
    return found == exchanges.end() ? 0 : others * seconds_of(*found, networks);
  };
  const double weights = seconds_of_others("weights");
  const double gradients = tensors.sums_units ? seconds_of_others("gradients") : 0;
  const double forward = tensors.units_remain ? weights : weights / 2;
  const double backward = weights - forward + gradients;
  return std::min(forward, compute_seconds / 3) + std::min(backward, compute_seconds * 2 / 3);
}

}  // namespace trivet
