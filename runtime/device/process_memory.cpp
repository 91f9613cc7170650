// SPDX-License-Identifier: Apache-2.0
#include "device/process_memory.h"

#include <algorithm>
#include <string_view>

#include "trivet/backend/mesh_layout.h"
#include "trivet/tensor/mesh_shards.h"

namespace trivet {
namespace {

std::uint64_t bytes_of(const std::vector<MemoryPart>& parts, std::string_view name) {
  const auto found = std::ranges::find(parts, name, &MemoryPart::name);
  return found != parts.end() ? found->bytes : 0;
}

// Of slots and of the averages of trainable weights.
void keep_own_part(std::vector<MemoryPart>& parts, const MeshConfig& mesh) {
  const std::uint64_t weights = bytes_of(parts, "weights");
  const auto elements = static_cast<std::int64_t>(weights / sizeof(float));
  if (elements == 0) return;
  // The longest is of rank 0.
  const MeshShards whole(mesh, nullptr);
  const std::int64_t own = whole.piece(elements, whole.pieces() / mesh.processes - 1).end;
  const auto own_of = [&](std::uint64_t bytes) {
    return static_cast<std::uint64_t>(static_cast<double>(bytes) * static_cast<double>(own) /
                                      static_cast<double>(elements));
  };
  for (MemoryPart& part : parts) {
    if (part.name == "weights" || part.name == "gradients" || part.name == "states") continue;
    const std::uint64_t shared =
        part.name == "averages" ? std::min(part.bytes, weights) : part.bytes;
    part.bytes += own_of(shared) - shared;
  }
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
  if (mesh.processes > 1 && training.shares_updates) keep_own_part(kept, mesh);
  const auto add = [&](std::string_view name, std::uint64_t bytes) {
    if (bytes > 0) kept.push_back({.name = std::string(name), .bytes = bytes, .device_bytes = 0});
  };
  add("sums", sums);
  const auto floats = static_cast<std::int64_t>(std::max(gradients, states) / sizeof(float));
  add("exchange", MeshShards::exchange_bytes(floats, mesh));
  return kept;
}

MeshConfig mesh_of_layers(const MeshConfig& whole) {
  MeshConfig mesh = whole;
  for (std::size_t i = 0; i < mesh.mesh_axis_names.size(); ++i) {
    if (mesh.mesh_axis_names[i] == "mdl") continue;
    if (i < mesh.ici_mesh_shape.size()) mesh.ici_mesh_shape[i] = 1;
    if (i < mesh.dcn_mesh_shape.size()) mesh.dcn_mesh_shape[i] = 1;
  }
  const MeshLayout layout(whole);
  const std::int64_t own = layout.coordinates_of(0, whole.processes, MeshLayout::kBlockAxis).count;
  mesh.processes = whole.extent(MeshLayout::kBlockAxis) / own;
  return mesh;
}

}  // namespace trivet
