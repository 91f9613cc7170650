// SPDX-License-Identifier: Apache-2.0
#include "device/step_exchanges.h"

#include <algorithm>
#include <bit>
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
      : shards_(mesh, nullptr),
        processes_(mesh.processes),
        own_shards_(shards_.total() / processes_),
        own_pieces_(shards_.pieces() / processes_) {}

  std::int64_t own_shards() const { return own_shards_; }
  std::int64_t own_pieces() const { return own_pieces_; }

  void gather(std::string_view name, std::uint64_t bytes) {
    add(name, gather_messages(bytes, processes_), bytes * others());
  }
  // As MeshShards::sum.
  void sum(std::string_view name, std::int64_t floats) {
    if (!MeshShards::is_cut(floats)) return gather(name, bytes_of(floats));
    const std::int64_t segment = MeshShards::segment(processes_) * processes_;
    for (std::int64_t begin = 0; begin < floats; begin += segment) {
      const std::int64_t count = std::min(segment, floats - begin);
      const std::int64_t part = (count + processes_ - 1) / processes_;
      send_parts(name, part, std::min(count, part * (processes_ - 1)));
      gather_parts_of(name, part, part);
    }
  }
  // The last process has the shortest part, and so sends most.
  void sum_part(std::string_view name, std::int64_t floats) {
    send_parts(name, first_part(floats),
               shards_.piece(floats, shards_.pieces() - own_pieces_).begin);
  }
  void gather_parts(std::string_view name, std::int64_t floats) {
    const std::int64_t length = shards_.piece(floats, 0).size() * own_pieces_;
    gather_parts_of(name, length, first_part(floats));
  }
  std::vector<Exchange> take() { return std::move(all_); }

 private:
  static std::uint64_t bytes_of(std::int64_t floats) {
    return static_cast<std::uint64_t>(floats) * sizeof(float);
  }
  std::uint64_t others() const { return static_cast<std::uint64_t>(processes_ - 1); }
  std::int64_t first_part(std::int64_t floats) const {
    return shards_.piece(floats, own_pieces_ - 1).end;
  }
  // `all` floats to the others, in segments of parts, the longest of which has `part`.
  void send_parts(std::string_view name, std::int64_t part, std::int64_t all) {
    std::int64_t left = all;
    for (std::int64_t begin = 0; begin < part; begin += MeshShards::segment(processes_)) {
      const std::int64_t count = std::min(part - begin, MeshShards::segment(processes_));
      const std::int64_t sent = std::min(left, count * (processes_ - 1));
      add(name, static_cast<std::int64_t>(others()), bytes_of(sent));
      left -= sent;
    }
  }
  // Two processes send their parts as long as they are, of which `own` is the longest, more send
  // `length` floats each.
  void gather_parts_of(std::string_view name, std::int64_t length, std::int64_t own) {
    for (std::int64_t begin = 0; begin < length; begin += MeshShards::segment(processes_)) {
      const std::int64_t count = std::min(length - begin, MeshShards::segment(processes_));
      gather(name,
             bytes_of(processes_ > 2 ? count : std::clamp<std::int64_t>(own - begin, 0, count)));
    }
  }
  void add(std::string_view name, std::int64_t messages, std::uint64_t bytes) {
    auto found = std::ranges::find(all_, name, &Exchange::name);
    if (found == all_.end()) found = all_.insert(all_.end(), {.name = std::string(name)});
    ++found->calls;
    found->messages += messages;
    found->bytes += bytes;
  }

  MeshShards shards_;
  std::int64_t processes_, own_shards_, own_pieces_;
  std::vector<Exchange> all_;
};

// What DefaultTrainer and Learner exchange besides tensors.
void add_numbers(Exchanges& exchanges, const ExchangedTensors& tensors) {
  constexpr std::string_view kName = "numbers";
  const auto of_shards = static_cast<std::uint64_t>(exchanges.own_shards()) * sizeof(double);
  const auto of_pieces = static_cast<std::uint64_t>(exchanges.own_pieces()) * sizeof(double);
  exchanges.gather(kName, kStepRecordBytes);
  if (tensors.reads_own_rows) {  // rows and examples
    exchanges.gather(kName, sizeof(std::int64_t));
    exchanges.gather(kName, sizeof(std::int64_t));
  }
  // Which variables have a gradient, and whether a loss is bad.
  exchanges.gather(kName, static_cast<std::uint64_t>(tensors.variables + 1));
  exchanges.gather(kName, of_shards);  // weights of the shards
  exchanges.gather(kName, of_shards);  // their losses
  if (tensors.needs_norm && tensors.shares_updates) exchanges.gather(kName, of_pieces);
  exchanges.sum(kName, 1);             // the step's loss
  exchanges.gather(kName, of_shards);  // and the weights again
  if (tensors.reads_own_rows && tensors.counts_tokens) {
    exchanges.gather(kName, sizeof(std::int64_t));
  }
}

}  // namespace

bool shares_blocks(const MeshConfig& mesh) {
  const MeshLayout layout(mesh);
  return layout.coordinates_of(0, mesh.processes, MeshLayout::kBlockAxis).count <
         mesh.extent(MeshLayout::kBlockAxis);
}

std::int64_t gather_messages(std::uint64_t bytes, std::int64_t processes) {
  const auto all = static_cast<std::uint64_t>(processes);
  if (bytes * all >= kLongGather) return processes - 1;
  return static_cast<std::int64_t>(std::bit_width(all - 1));
}

std::vector<Exchange> step_exchanges(const MeshConfig& mesh, const ExchangedTensors& tensors) {
  if (mesh.processes == 1 || shares_blocks(mesh)) return {};
  Exchanges exchanges(mesh);
  if (tensors.shares_updates) {
    exchanges.sum_part("gradients", tensors.gradients);
    exchanges.gather_parts("weights", tensors.gradients);
  } else {
    exchanges.sum("gradients", tensors.gradients);
  }
  if (tensors.states > 0) exchanges.sum("states", tensors.states);
  add_numbers(exchanges, tensors);
  return exchanges.take();
}

double seconds_of(const std::vector<Exchange>& exchanges, const Network& network) {
  double seconds = 0;
  for (const Exchange& one : exchanges) seconds += network.seconds(one.messages, one.bytes);
  return seconds;
}

}  // namespace trivet
