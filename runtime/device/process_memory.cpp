// SPDX-License-Identifier: Apache-2.0
#include "device/process_memory.h"

#include <algorithm>
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

// Of slots and of the averages of trainable weights.
void keep_own_part(std::vector<MemoryPart>& parts, std::uint64_t all, std::uint64_t own) {
  const std::uint64_t weights = bytes_of(parts, "weights");
  const auto own_of = [&](std::uint64_t bytes) {
    return static_cast<std::uint64_t>(static_cast<double>(bytes) * static_cast<double>(own) /
                                      static_cast<double>(all));
  };
  for (MemoryPart& part : parts) {
    if (part.name == "weights" || part.name == "gradients" || part.name == "states") continue;
    const std::uint64_t shared =
        part.name == "averages" ? std::min(part.bytes, weights) : part.bytes;
    part.bytes += own_of(shared) - shared;
  }
}

std::int64_t own_elements(std::int64_t elements, const MeshConfig& mesh) {
  // The longest is of rank 0.
  const MeshShards whole(mesh, nullptr);
  return whole.piece(elements, whole.pieces() / mesh.processes - 1).end;
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
    keep_own_part(kept, static_cast<std::uint64_t>(weights->all),
                  static_cast<std::uint64_t>(weights->own));
    set_bytes(kept, "weights", weights->own);
    // Of whole ones the process has its part of the sum, too.
    const std::int64_t whole = training.has_gradients_in_parts ? 0 : weights->all;
    set_bytes(kept, "gradients", weights->own + whole);
  } else if (mesh.processes > 1 && training.shares_updates && elements > 0) {
    keep_own_part(kept, static_cast<std::uint64_t>(elements),
                  static_cast<std::uint64_t>(own_elements(elements, mesh)));
  }
  const auto add = [&](std::string_view name, std::uint64_t bytes) {
    if (bytes > 0) kept.push_back({.name = std::string(name), .bytes = bytes, .device_bytes = 0});
  };
  if (weights) add("gathered", static_cast<std::uint64_t>(weights->whole) * sizeof(float));
  add("sums", sums);
  const auto of_states = static_cast<std::int64_t>(states / sizeof(float));
  const auto of_gradients = static_cast<std::int64_t>(gradients / sizeof(float));
  const std::int64_t longest = std::max(weights ? weights->largest : of_gradients, of_states);
  add("exchange", MeshShards::exchange_bytes(longest, mesh));
  return kept;
}

std::int64_t shards_with_parts(const MeshConfig& mesh, bool shares_weights) {
  const bool is_shared = mesh.extent("data") > 1 || mesh.extent(MeshLayout::kStageAxis) > 1;
  if (mesh.processes == 1 || !is_shared || !shares_weights) return 0;
  return MeshLayout(mesh).shards_of(0, mesh.processes).count;
}

MeshConfig mesh_of_layers(const MeshConfig& whole) {
  MeshConfig mesh = whole;
  for (std::size_t i = 0; i < mesh.mesh_axis_names.size(); ++i) {
    const std::string& axis = mesh.mesh_axis_names[i];
    if (axis == MeshLayout::kBlockAxis || axis == MeshLayout::kStageAxis) continue;
    if (i < mesh.ici_mesh_shape.size()) mesh.ici_mesh_shape[i] = 1;
    if (i < mesh.dcn_mesh_shape.size()) mesh.dcn_mesh_shape[i] = 1;
  }
  mesh.processes = processes_of_shard(whole);
  return mesh;
}

}  // namespace trivet
