// SPDX-License-Identifier: Apache-2.0
#include "device/process_memory.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "device/step_exchanges.h"
#include "trivet/backend/mesh_layout.h"
#include "trivet/tensor/mesh_shards.h"

namespace trivet {
namespace {

std::uint64_t bytes_of(const std::vector<MemoryPart>& parts, std::string_view name) {
  const auto found = std::ranges::find(parts, name, &MemoryPart::name);
  return found != parts.end() ? found->bytes : 0;
}

bool is_of_model(const MemoryPart& part) {
  constexpr std::array<std::string_view, 4> kNames = {"weights", "gradients", "states", "frozen"};
  return std::ranges::find(kNames, part.name) != kNames.end();
}

// Of slots and of the averages of trainable weights.
void keep_own_part(std::vector<MemoryPart>& parts, std::uint64_t all, std::uint64_t own) {
  const std::uint64_t weights = bytes_of(parts, "weights");
  const auto own_of = [&](std::uint64_t bytes) {
    return static_cast<std::uint64_t>(static_cast<double>(bytes) * static_cast<double>(own) /
                                      static_cast<double>(all));
  };
  for (MemoryPart& part : parts) {
    if (is_of_model(part)) continue;
    const std::uint64_t shared =
        part.name == "averages" ? std::min(part.bytes, weights) : part.bytes;
    part.bytes += own_of(shared) - shared;
  }
}

std::int64_t own_elements(const WeightShare& share, std::size_t rank) {
  std::int64_t elements = 0;
  for (const std::vector<std::int64_t>& of_unit : share.parts) elements += of_unit[rank];
  return elements;
}

// The bytes of a part in each process; of variables without an owner each one has all.
std::vector<std::uint64_t> bytes_of_ranks(const MemoryPart& part, const WeightShare& share) {
  std::vector<std::uint64_t> bytes(share.parts.front().size());
  std::uint64_t common = part.bytes;
  for (const auto& [path, size] : part.of_variables) {
    const auto owner = share.owners.find(path);
    if (owner == share.owners.end()) continue;
    bytes[static_cast<std::size_t>(owner->second)] += size;
    common -= size;
  }
  for (std::uint64_t& own : bytes) own += common;
  return bytes;
}

// Of slots and averages those of the whole variables that one process owns: that with the most
// memory, where so many bytes go with each element that it owns besides. Gives how many it owns.
std::int64_t keep_own_variables(std::vector<MemoryPart>& parts, const WeightShare& share,
                                std::uint64_t bytes_besides) {
  std::vector<std::uint64_t> all(share.parts.front().size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    all[rank] = bytes_besides * static_cast<std::uint64_t>(own_elements(share, rank));
  }
  for (const MemoryPart& part : parts) {
    if (is_of_model(part)) continue;
    const std::vector<std::uint64_t> bytes = bytes_of_ranks(part, share);
    for (std::size_t rank = 0; rank < all.size(); ++rank) all[rank] += bytes[rank];
  }
  const auto most = static_cast<std::size_t>(std::ranges::max_element(all) - all.begin());
  for (MemoryPart& part : parts) {
    if (!is_of_model(part)) part.bytes = bytes_of_ranks(part, share)[most];
  }
  return own_elements(share, most);
}

std::int64_t own_elements(std::int64_t elements, const MeshConfig& mesh) {
  // The longest is of rank 0.
  const MeshShards whole(mesh, nullptr);
  return whole.piece(elements, whole.pieces() / mesh.processes - 1).end;
}

bool has_owners(const WeightShare& share) {
  return !share.owners.empty();
}

// The most that the exchange of a unit of whole variables takes.
std::uint64_t exchange_bytes(const WeightShare& share, const MeshConfig& mesh) {
  std::uint64_t most = 0;
  for (const std::vector<std::int64_t>& parts : share.parts) {
    const std::int64_t all = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
    most = std::max(most, MeshShards::exchange_bytes(all, std::ranges::max(parts), mesh));
  }
  return most;
}

// What the sums of gradients under way receive, of the largest unit each.
std::uint64_t bytes_under_way(const WeightShare& weights, const MeshConfig& mesh) {
  const MeshLayout layout(mesh);
  const std::int64_t group = layout.shards() / layout.shards_of(0, mesh.processes).count;
  const std::int64_t part = own_elements(weights.largest, mesh);
  const std::int64_t count = std::min(mesh.assumed_overlap(), weights.units);
  return static_cast<std::uint64_t>(count * part * (group - 1)) * sizeof(float);
}

bool has_parts(const MeshConfig& mesh) {
  return mesh.extent("data") > 1 || mesh.extent("data_expert") > 1 ||
         mesh.extent(MeshLayout::kStageAxis) > 1;
}

void set_bytes(std::vector<MemoryPart>& parts, std::string_view name, std::int64_t elements) {
  const auto found = std::ranges::find(parts, name, &MemoryPart::name);
  if (found != parts.end()) found->bytes = static_cast<std::uint64_t>(elements) * sizeof(float);
}

}  // namespace

std::vector<MemoryPart> process_memory(std::vector<MemoryPart> kept, const MeshConfig& mesh,
                                       const ProcessTraining& training) {
  const MeshLayout layout(mesh);
  const std::int64_t shards = layout.shards(), own = layout.shards_of(0, mesh.processes).count;
  const auto parts = layout.shard_tree().split(own);
  const SumTree tree = own == shards || !parts ? layout.shard_tree() : parts->first;
  const std::uint64_t gradients = bytes_of(kept, "gradients"), states = bytes_of(kept, "states");
  // Those of CanonicalSum: one for each level, and one. States have those of the start, too.
  const std::uint64_t blocks = tree.arities().size() + 1;
  // A single part of a process is added up in the memory of its gradients.
  const bool adds_up = training.gradient_accumulation > 1;
  std::uint64_t sums = own > 1 ? blocks * gradients : adds_up ? gradients : 0;
  if (shards > 1) sums += (blocks + 1) * states;
  const auto elements = static_cast<std::int64_t>(bytes_of(kept, "weights") / sizeof(float));
  const std::optional<WeightShare>& weights = training.weights;
  if (weights) {
    std::int64_t own_weights = weights->own;
    if (has_owners(*weights)) {
      own_weights = keep_own_variables(kept, *weights, 2 * sizeof(float));
    } else {
      keep_own_part(kept, static_cast<std::uint64_t>(weights->all),
                    static_cast<std::uint64_t>(weights->own));
    }
    set_bytes(kept, "weights", own_weights);
    // Of whole ones the process has its part of the sum, too.
    const std::int64_t whole = training.has_gradients_in_parts ? 0 : weights->all;
    set_bytes(kept, "gradients", own_weights + whole);
  } else if (training.updates) {
    keep_own_variables(kept, *training.updates, 0);
  } else if (mesh.processes > 1 && training.shares_updates && elements > 0) {
    keep_own_part(kept, static_cast<std::uint64_t>(elements),
                  static_cast<std::uint64_t>(own_elements(elements, mesh)));
  }
  const auto add = [&](std::string_view name, std::uint64_t bytes) {
    if (bytes > 0) kept.push_back({.name = std::string(name), .bytes = bytes, .device_bytes = 0});
  };
  if (weights) {
    add("gathered", static_cast<std::uint64_t>(weights->whole + weights->ahead) * sizeof(float));
  }
  add("sums", sums);
  const auto of_states = static_cast<std::int64_t>(states / sizeof(float));
  const auto of_gradients = static_cast<std::int64_t>(gradients / sizeof(float));
  const std::optional<WeightShare>& share = weights ? weights : training.updates;
  const bool by_variable = share && has_owners(*share);
  std::int64_t longest = of_states;
  if (!by_variable) longest = std::max(weights ? weights->largest : of_gradients, longest);
  std::uint64_t exchange = MeshShards::exchange_bytes(longest, mesh);
  if (by_variable) exchange = std::max(exchange, exchange_bytes(*share, mesh));
  if (weights && training.has_gradients_in_parts) {
    exchange += bytes_under_way(*weights, mesh);
  }
  add("exchange", exchange);
  return kept;
}

std::int64_t shards_with_parts(const MeshConfig& mesh, bool shares_weights) {
  if (mesh.processes == 1 || !has_parts(mesh) || !shares_weights) return 0;
  return MeshLayout(mesh).shards_of(0, mesh.processes).count;
}

std::int64_t shards_that_keep(const MeshConfig& mesh, bool shares_weights) {
  const bool is_shared = mesh.extent("replica") > 1 && !has_parts(mesh);
  if (mesh.processes == 1 || !is_shared || !shares_weights) return 0;
  return MeshLayout(mesh).shards_of(0, mesh.processes).count;
}

MeshConfig mesh_of_layers(const MeshConfig& whole) {
  MeshConfig mesh = whole;
  for (std::size_t i = 0; i < mesh.mesh_axis_names.size(); ++i) {
    const std::string& axis = mesh.mesh_axis_names[i];
    const auto& inner = MeshLayout::kInnerAxes;
    if (std::ranges::find(inner, axis) != inner.end()) continue;
    if (i < mesh.ici_mesh_shape.size()) mesh.ici_mesh_shape[i] = 1;
    if (i < mesh.dcn_mesh_shape.size()) mesh.dcn_mesh_shape[i] = 1;
  }
  mesh.processes = processes_of_shard(whole);
  return mesh;
}

}  // namespace trivet
