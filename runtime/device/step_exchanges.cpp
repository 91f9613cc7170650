// SPDX-License-Identifier: Apache-2.0
#include "device/step_exchanges.h"

#include <algorithm>
#include <bit>
#include <map>
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
        sharing_stages_(sharing(mesh, MeshLayout::kStageAxis)) {}

  std::int64_t own_shards() const { return own_shards_; }
  std::int64_t own_pieces() const { return own_pieces_; }
  std::int64_t all() const { return all_; }
  // The processes with the same blocks and stages, which have all shards between them.
  std::int64_t sharing_shards() const { return sharing_shards_; }
  // The processes with the same shards and stages, or shards and blocks, which have all blocks, or
  // stages, between them.
  std::int64_t sharing_blocks() const { return sharing_blocks_; }
  std::int64_t sharing_stages() const { return sharing_stages_; }

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
  // As MeshShards::sum_to_part.
  void sum_part(std::string_view name, std::int64_t floats) {
    std::vector<Part> parts;
    for (std::int64_t rank = 0; rank < all_; ++rank) {
      parts.push_back({work_of(rank), part_of(floats, rank)});
    }
    sum_to(name, parts);
  }
  // The same of what the processes of the first stage share.
  void sum_stage_part(std::string_view name, std::int64_t floats) {
    sum_to(name, parts_of_stage(floats));
  }
  // As MeshShards::gather_parts.
  void gather_parts(std::string_view name, std::int64_t floats) {
    gather_from(name, shards_.piece(floats, 0).size() * own_pieces_, part_of(floats, 0), all_);
  }
  void gather_stage_parts(std::string_view name, std::int64_t floats) {
    const std::vector<Part> parts = parts_of_stage(floats);
    const std::int64_t own = parts.front().size;  // the longest
    gather_from(name, own, own, std::ssize(parts));
  }
  void send(std::string_view name, std::uint64_t bytes, std::int64_t to, std::int64_t times) {
    add(name, times, to, bytes * static_cast<std::uint64_t>(to));
  }
  std::vector<Exchange> take() { return std::move(exchanges_); }

 private:
  static std::uint64_t bytes_of(std::int64_t floats) {
    return static_cast<std::uint64_t>(floats) * sizeof(float);
  }
  using Work = std::pair<std::int64_t, std::int64_t>;  // the first block and the first stage
  Work work_of(std::int64_t rank) const {
    return {layout_.coordinates_of(rank, all_, MeshLayout::kBlockAxis).first,
            layout_.coordinates_of(rank, all_, MeshLayout::kStageAxis).first};
  }
  static std::int64_t sharing(const MeshConfig& mesh, std::string_view axis) {
    return mesh.extent(axis) / MeshLayout(mesh).coordinates_of(0, mesh.processes, axis).count;
  }
  // Of a rank.
  struct Part {
    Work work;
    std::int64_t size = 0;
  };
  std::int64_t part_of(std::int64_t floats, std::int64_t rank) const {
    return shards_.piece(floats, (rank + 1) * own_pieces_ - 1).end -
           shards_.piece(floats, rank * own_pieces_).begin;
  }
  // Of the processes of the first stage.
  std::vector<Part> parts_of_stage(std::int64_t floats) const {
    std::vector<Part> parts;
    for (std::int64_t rank = 0; rank < all_; ++rank) {
      const Work work = work_of(rank);
      if (work.second != 0) continue;
      Part& part = parts.emplace_back(Part{work, 0});
      for (std::int64_t i = rank * own_pieces_; i < (rank + 1) * own_pieces_; ++i) {
        part.size += shards_.piece_of_stage(floats, i, 0).size();
      }
    }
    return parts;
  }
  void sum_to(std::string_view name, const std::vector<Part>& parts) {
    if (sharing_shards_ == 1) return;
    std::map<Work, std::int64_t> of_all;  // with the same blocks and stages
    for (const Part& part : parts) of_all[part.work] += part.size;
    std::int64_t most = 0;
    for (const Part& part : parts) most = std::max(most, of_all[part.work] - part.size);
    const std::int64_t segment = MeshShards::segment(sharing_shards_);
    const std::int64_t calls = (parts.front().size + segment - 1) / segment;
    add(name, calls, sharing_shards_ - 1, 0);
    add_bytes(name, bytes_of(most));
  }
  // Parts of so many floats, of which this process has its own.
  void gather_from(std::string_view name, std::int64_t length, std::int64_t own,
                   std::int64_t processes) {
    const std::int64_t segment = MeshShards::segment(processes);
    for (std::int64_t begin = 0; begin < length; begin += segment) {
      const std::int64_t count = std::min(length - begin, segment);
      gather(name,
             bytes_of(processes > 2 ? count : std::clamp<std::int64_t>(own - begin, 0, count)),
             processes);
    }
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
  void add_bytes(std::string_view name, std::uint64_t bytes) { named(name).bytes += bytes; }

  MeshLayout layout_;
  MeshShards shards_;
  std::int64_t all_, own_shards_, own_pieces_, sharing_shards_, sharing_blocks_, sharing_stages_;
  std::vector<Exchange> exchanges_;
};

// What layers exchange inside of the steps of a process's shards.
void add_blocks(Exchanges& exchanges, const std::vector<AxisExchange>& of_shard,
                bool units_remain) {
  const std::int64_t processes = exchanges.sharing_blocks();
  for (const AxisExchange& one : of_shard) {
    const std::int64_t times = one.calls * exchanges.own_shards();
    const auto floats = static_cast<std::int64_t>(one.bytes / sizeof(float));
    switch (one.kind) {
      case AxisExchange::Kind::sum:
        exchanges.sum("block_sums", floats, processes, times);
        break;
      case AxisExchange::Kind::gather:
        exchanges.gather("block_gathers", one.bytes, processes, times);
        break;
      case AxisExchange::Kind::sum_to_part:  // once for all shards of the process
        for (std::int64_t i = 0; i < one.calls; ++i) exchanges.sum_part("gradients", floats);
        break;
      case AxisExchange::Kind::sum_to_stage_part:
        for (std::int64_t i = 0; i < one.calls; ++i) exchanges.sum_stage_part("gradients", floats);
        break;
      case AxisExchange::Kind::gather_stage_parts:
        for (std::int64_t i = 0; i < (units_remain ? one.calls : times); ++i) {
          exchanges.gather_stage_parts("weights", floats);
        }
        break;
      case AxisExchange::Kind::send:
        exchanges.send("stages", one.bytes, 1, times);
        break;
      case AxisExchange::Kind::broadcast:
        exchanges.send("stages", one.bytes, exchanges.sharing_stages() - 1, times);
        break;
      case AxisExchange::Kind::gather_parts:
        for (std::int64_t i = 0; i < (units_remain ? one.calls : times); ++i) {
          exchanges.gather_parts("weights", floats);
        }
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
    const auto units = static_cast<std::uint64_t>(std::max<std::int64_t>(tensors.units, 1));
    exchanges.gather(kName, units * of_pieces, exchanges.all());
  }
  if (tensors.units > 0) {  // which weights were read
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
  return exchanges.sharing_blocks() * exchanges.sharing_stages();
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
    exchanges.sum_part("gradients", tensors.gradients);
    exchanges.gather_parts("weights", tensors.gradients);
  } else {
    exchanges.sum("gradients", tensors.gradients, exchanges.sharing_shards());
  }
  if (tensors.states > 0) exchanges.sum("states", tensors.states, exchanges.sharing_shards());
  add_blocks(exchanges, tensors.blocks, tensors.units_remain);
  add_numbers(exchanges, tensors);
  return exchanges.take();
}

double seconds_of(const std::vector<Exchange>& exchanges, const Network& network) {
  double seconds = 0;
  for (const Exchange& one : exchanges) seconds += network.seconds(one.messages, one.bytes);
  return seconds;
}

}  // namespace trivet
