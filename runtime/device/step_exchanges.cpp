// SPDX-License-Identifier: Apache-2.0
#include "device/step_exchanges.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "trivet/backend/mesh_layout.h"
#include "trivet/tensor/mesh_shards.h"

namespace trivet {
namespace {

// From here on MPI's implementations send around a ring.
constexpr std::uint64_t kLongGather = std::uint64_t{512} << 10;

class Exchanges {
 public:
  explicit Exchanges(const MeshConfig& mesh)
      : layout_(mesh),
        shards_(mesh, nullptr),
        all_(mesh.processes),
        own_shards_(layout_.shards_of(0, all_).count),
        own_pieces_(shards_.pieces() / all_),
        sharing_shards_(layout_.shards() / own_shards_),
        sharing_blocks_(sharing(mesh, MeshLayout::kBlockAxis)),
        sharing_stages_(sharing(mesh, MeshLayout::kStageAxis)),
        sharing_sequences_(sharing(mesh, MeshLayout::kSequenceAxis)) {}

  std::int64_t own_shards() const { return own_shards_; }
  std::int64_t own_pieces() const { return own_pieces_; }
  std::int64_t all() const { return all_; }
  // The processes with the same work of each shard, which have all shards between them.
  std::int64_t sharing_shards() const { return sharing_shards_; }
  // The processes that have all blocks along mdl, all stages, or all positions of a shard between
  // them, and are alike else.
  std::int64_t sharing_blocks() const { return sharing_blocks_; }
  std::int64_t sharing_stages() const { return sharing_stages_; }
  std::int64_t sharing_sequences() const { return sharing_sequences_; }

  void gather(std::string_view name, std::uint64_t bytes, std::int64_t processes,
              std::int64_t times = 1) {
    if (processes == 1) return;
    add(name, times, gather_messages(bytes, processes),
        bytes * static_cast<std::uint64_t>(processes - 1));
  }
  // As ProcessSum::whole. The last process has the shortest parts, and so sends most.
  void sum(std::string_view name, std::int64_t floats, std::int64_t processes,
           std::int64_t times = 1) {
    if (processes == 1) return;
    if (!MeshShards::is_cut(floats)) return gather(name, bytes_of(floats), processes, times);
    const std::int64_t segment = MeshShards::segment(processes) * processes;
    for (std::int64_t begin = 0; begin < floats; begin += segment) {
      const std::int64_t count = std::min(segment, floats - begin);
      const std::int64_t part = (count + processes - 1) / processes;
      const std::int64_t last = std::max<std::int64_t>(0, count - part * (processes - 1));
      add(name, times, processes - 1, bytes_of(count - last));
      // Two processes send their parts as long as they are.
      gather(name, bytes_of(processes > 2 ? part : last), processes, times);
    }
  }
  // Elements of a block that each process owns, by rank.
  using Parts = std::vector<std::int64_t>;
  Parts equal_parts(std::int64_t floats) const {
    Parts parts;
    for (std::int64_t rank = 0; rank < all_; ++rank) {
      parts.push_back(shards_.piece(floats, (rank + 1) * own_pieces_ - 1).end -
                      shards_.piece(floats, rank * own_pieces_).begin);
    }
    return parts;
  }
  // In segments, or a unit at once: beside a computation (MeshShards::start_sum_to_part).
  enum class Cut { segments, unit };
  bool overlaps() const { return shards_.overlap() > 0; }
  // As MeshShards::sum_to_part.
  void sum_to_part(std::string_view name, const Parts& parts, std::int64_t times, Cut cut) {
    if (sharing_shards_ == 1) return;
    std::map<std::int64_t, std::vector<std::int64_t>> groups;  // of ranks, by their work
    for (std::int64_t rank = 0; rank < all_; ++rank) {
      groups[layout_.work_of(rank, all_)].push_back(rank);
    }
    const std::int64_t segment = MeshShards::segment(sharing_shards_);
    std::vector<OfRank>& ranks = of_ranks(name);
    for (const auto& [work, members] : groups) {
      Parts owned;
      for (const std::int64_t rank : members) owned.push_back(at(parts, rank));
      const bool are_uneven = MeshShards::are_uneven(owned);
      const std::int64_t all = std::accumulate(owned.begin(), owned.end(), std::int64_t{0});
      const Parts summed = are_uneven ? even_parts(all, sharing_shards_) : owned;
      const Parts moved = are_uneven ? floats_moved(summed, owned) : Parts(owned.size());
      const std::int64_t longest = std::ranges::max(summed);
      const bool at_once = cut == Cut::unit && !are_uneven;
      const std::int64_t calls =
          at_once ? std::min<std::int64_t>(longest, 1) : (longest + segment - 1) / segment;
      for (std::size_t i = 0; i < members.size(); ++i) {
        OfRank& sums = ranks[static_cast<std::size_t>(members[i])];
        sums.floats += times * (all - summed[i] + moved[i]);
        sums.calls += times * (calls + (are_uneven ? 1 : 0));
      }
    }
  }
  // As MeshShards::gather_parts of these ranks.
  using Ranks = std::vector<std::int64_t>;
  void gather_parts(std::string_view name, const Parts& parts, const Ranks& members,
                    std::int64_t times, Cut cut) {
    if (members.size() == 1) return;
    Parts owned;
    for (const std::int64_t rank : members) owned.push_back(at(parts, rank));
    if (!MeshShards::are_uneven(owned)) return gather_directly(name, owned, members, times, cut);
    const std::int64_t all = std::accumulate(owned.begin(), owned.end(), std::int64_t{0});
    const Parts even = even_parts(all, std::ssize(members)), moved = floats_moved(owned, even);
    add(name, times, std::ssize(members) - 1, 0);
    std::vector<OfRank>& ranks = of_ranks(name);
    for (std::size_t i = 0; i < members.size(); ++i) {
      ranks[static_cast<std::size_t>(members[i])].floats += times * moved[i];
    }
    gather_directly(name, even, members, times, Cut::segments);
  }
  Ranks all_ranks() const {
    Ranks ranks(static_cast<std::size_t>(all_));
    std::iota(ranks.begin(), ranks.end(), std::int64_t{0});
    return ranks;
  }
  // Those of the first stage, and their parts of a block that they share.
  Ranks first_stage() const {
    Ranks ranks = all_ranks();
    std::erase_if(ranks, [this](std::int64_t rank) {
      return layout_.coordinates_of(rank, all_, MeshLayout::kStageAxis).first != 0;
    });
    return ranks;
  }
  Parts parts_of_stage(std::int64_t floats) const {
    Parts parts(static_cast<std::size_t>(all_));
    for (std::int64_t i = 0; i < shards_.pieces(); ++i) {
      parts[static_cast<std::size_t>(i / own_pieces_)] +=
          shards_.piece_of_stage(floats, i, 0).size();
    }
    return parts;
  }
  void send(std::string_view name, std::uint64_t bytes, std::int64_t to, std::int64_t times) {
    add(name, times, to, bytes * static_cast<std::uint64_t>(to));
  }
  // Of a tensor with as many rows for each process.
  void exchange_rows(std::string_view name, std::uint64_t bytes, std::int64_t times) {
    const auto others = static_cast<std::uint64_t>(all_ - 1);
    add(name, times, all_ - 1, bytes / static_cast<std::uint64_t>(all_) * others);
  }
  std::vector<Exchange> take() {
    for (const auto& [name, ranks] : of_ranks_) {
      const std::int64_t calls = std::ranges::max(ranks, {}, &OfRank::calls).calls;
      add(name, calls, sharing_shards_ - 1, 0);
      named(name).bytes += bytes_of(std::ranges::max(ranks, {}, &OfRank::floats).floats);
    }
    return std::move(exchanges_);
  }

 private:
  static Parts even_parts(std::int64_t all, std::int64_t processes) {
    Parts parts;
    for (const MeshShards::Range& part : MeshShards::even_parts(all, processes)) {
      parts.push_back(part.size());
    }
    return parts;
  }
  // The floats that each process sends to others where it has a part of a block, and gets another.
  static Parts floats_moved(const Parts& had, const Parts& gets) {
    Parts moved;
    std::int64_t begin = 0, begin_then = 0;
    for (std::size_t i = 0; i < had.size(); ++i) {
      const std::int64_t end = begin + had[i], end_then = begin_then + gets[i];
      const std::int64_t kept = std::min(end, end_then) - std::max(begin, begin_then);
      moved.push_back(had[i] - std::max<std::int64_t>(kept, 0));
      begin = end;
      begin_then = end_then;
    }
    return moved;
  }
  void gather_directly(std::string_view name, const Parts& parts, const Ranks& members,
                       std::int64_t times, Cut cut) {
    const std::int64_t count = std::ssize(members), longest = std::ranges::max(parts);
    const bool at_once = cut == Cut::unit && MeshShards::sends_to_each(longest, count);
    const std::int64_t step = at_once ? longest : std::min(longest, MeshShards::segment(count));
    std::vector<OfRank>& ranks = of_ranks(name);
    for (std::int64_t begin = 0; begin < longest; begin += step) {
      const std::int64_t most = std::min(longest - begin, step);
      add(name, times, gather_messages(bytes_of(most), count), 0);
      for (std::size_t i = 0; i < members.size(); ++i) {
        const std::int64_t own = std::clamp<std::int64_t>(parts[i] - begin, 0, most);
        const std::int64_t sent = MeshShards::sends_to_each(step, count) ? own : most;
        ranks[static_cast<std::size_t>(members[i])].floats += times * sent * (count - 1);
      }
    }
  }
  static std::uint64_t bytes_of(std::int64_t floats) {
    return static_cast<std::uint64_t>(floats) * sizeof(float);
  }
  static std::int64_t sharing(const MeshConfig& mesh, std::string_view axis) {
    return mesh.extent(axis) / MeshLayout(mesh).coordinates_of(0, mesh.processes, axis).count;
  }
  static std::int64_t at(const Parts& parts, std::int64_t rank) {
    return parts[static_cast<std::size_t>(rank)];
  }
  Exchange& named(std::string_view name) {
    const auto found = std::ranges::find(exchanges_, name, &Exchange::name);
    if (found != exchanges_.end()) return *found;
    return exchanges_.emplace_back(Exchange{.name = std::string(name)});
  }
  // So many calls, of so many messages and bytes each.
  void add(std::string_view name, std::int64_t calls, std::int64_t messages, std::uint64_t bytes) {
    Exchange& exchange = named(name);
    exchange.calls += calls;
    exchange.messages += calls * messages;
    exchange.bytes += static_cast<std::uint64_t>(calls) * bytes;
  }
  // What one process sends in parts, and its exchanges with those that have the same blocks. The
  // process that has most of each counts.
  struct OfRank {
    std::int64_t floats = 0, calls = 0;
  };
  std::vector<OfRank>& of_ranks(std::string_view name) {
    named(name);
    std::vector<OfRank>& all = of_ranks_[std::string(name)];
    all.resize(static_cast<std::size_t>(all_));
    return all;
  }

  MeshLayout layout_;
  MeshShards shards_;
  std::int64_t all_, own_shards_, own_pieces_, sharing_shards_, sharing_blocks_, sharing_stages_,
      sharing_sequences_;
  std::vector<Exchange> exchanges_;
  std::map<std::string, std::vector<OfRank>> of_ranks_;  // by name
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
        exchanges.sum("block_sums", floats, one.sharing, times);
        break;
      case AxisExchange::Kind::gather:
        exchanges.gather("block_gathers", one.bytes, one.sharing, times);
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
        exchanges.send("stages", one.bytes, 1, times);
        break;
      case AxisExchange::Kind::broadcast:
        exchanges.send("stages", one.bytes, exchanges.sharing_stages() - 1, times);
        break;
      case AxisExchange::Kind::exchange_rows:
        exchanges.exchange_rows("experts", one.bytes, times);
        break;
      case AxisExchange::Kind::gather_number:
        exchanges.gather("numbers", one.bytes, exchanges.all(), times);
        break;
      case AxisExchange::Kind::gather_parts:
        exchanges.gather_parts("weights", parts_of(one), exchanges.all_ranks(),
                               tensors.units_remain ? one.calls : times, Exchanges::Cut::unit);
        break;
    }
  }
}

// What DefaultTrainer and Learner exchange besides tensors.
void add_numbers(Exchanges& exchanges, const ExchangedTensors& tensors) {
  constexpr std::string_view kName = "numbers";
  const std::int64_t group = exchanges.sharing_shards();
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
                   exchanges.sharing_stages());
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
  return Exchanges(mesh).sharing_blocks();
}

std::int64_t processes_of_shard(const MeshConfig& mesh) {
  const Exchanges exchanges(mesh);
  return exchanges.sharing_blocks() * exchanges.sharing_stages() * exchanges.sharing_sequences();
}

std::int64_t gather_messages(std::uint64_t bytes, std::int64_t processes) {
  const auto all = static_cast<std::uint64_t>(processes);
  if (bytes * all >= kLongGather) return processes - 1;
  return static_cast<std::int64_t>(std::bit_width(all - 1));
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
    exchanges.gather_parts("weights", parts, exchanges.all_ranks(), 1, Exchanges::Cut::segments);
  } else {
    exchanges.sum("gradients", tensors.gradients, exchanges.sharing_shards());
  }
  if (tensors.states > 0) exchanges.sum("states", tensors.states, exchanges.sharing_shards());
  add_blocks(exchanges, tensors);
  add_numbers(exchanges, tensors);
  return exchanges.take();
}

double seconds_of(const std::vector<Exchange>& exchanges, const Network& network) {
  double seconds = 0;
  for (const Exchange& one : exchanges) seconds += network.seconds(one.messages, one.bytes);
  return seconds;
}

double hidden_seconds(const std::vector<Exchange>& exchanges, const Network& network,
                      const ExchangedTensors& tensors, std::int64_t overlap,
                      double compute_seconds) {
  if (overlap == 0 || tensors.units == 0) return 0;
  const double others = 1 - 1 / static_cast<double>(tensors.units);
  const auto seconds_of_others = [&](std::string_view name) {
    const auto found = std::ranges::find(exchanges, name, &Exchange::name);
    return found == exchanges.end() ? 0 : others * network.seconds(found->messages, found->bytes);
  };
  const double weights = seconds_of_others("weights");
  const double gradients = tensors.sums_units ? seconds_of_others("gradients") : 0;
  const double forward = tensors.units_remain ? weights : weights / 2;
  const double backward = weights - forward + gradients;
  return std::min(forward, compute_seconds / 3) + std::min(backward, compute_seconds * 2 / 3);
}

}  // namespace trivet
