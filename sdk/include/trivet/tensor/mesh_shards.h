// SPDX-License-Identifier: Apache-2.0
// MeshShards: the shards of a mesh (trivet/backend/mesh_layout.h), which of them this process
// trains, and sums over those of all processes. A sum has the same bits for any number of them: a
// process adds its own by own_tree(), which is a part of tree(), and `sum` adds the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trivet/backend/sum_tree.h"
#include "trivet/base/export.h"
#include "trivet/tensor.h"

namespace trivet {

struct MeshConfig;   // trivet/backend/mesh.h
class ProcessGroup;  // trivet/backend/process_group.h

class TRIVET_API MeshShards {
 public:
  MeshShards() = default;  // one shard
  // All shards in one process.
  explicit MeshShards(const SumTree& tree) : tree_(tree), own_tree_(tree) {}
  // This process's of the group, which must outlive this; null: this process is alone. Throws Error
  // for a group whose size does not divide the shards so that each process has a subtree of
  // tree().
  MeshShards(const MeshConfig& mesh, ProcessGroup* group);

  std::int64_t total() const { return tree_.size(); }
  // Of this process: the shards first(), first() + 1, ...
  std::int64_t first() const { return first_; }
  std::int64_t count() const { return own_tree_.size(); }
  const SumTree& tree() const { return tree_; }
  const SumTree& own_tree() const { return own_tree_; }
  bool has_other_processes() const { return group_ != nullptr; }
  // Null without others.
  ProcessGroup* group() const { return group_; }

  // `own`, f32 and contiguous, is the sum of this process's shards by own_tree(), and becomes that
  // of all by tree(). Every process makes this call and the next two. [run-thread]
  void sum(Tensor& own) const;
  // From a number for each shard of this process those of all shards, in their order.
  // [run-thread]
  std::vector<double> gather(std::span<const double> own) const;
  // What sum() of so many elements takes of a process's memory, and keeps.
  static std::uint64_t exchange_bytes(std::int64_t elements, std::int64_t processes);
  // The i-th flag becomes 1 where it is not 0 on any process. [run-thread]
  void any(std::span<std::uint8_t> flags) const;

 private:
  SumTree tree_, own_tree_;
  SumTree processes_;  // over what own_tree() gives
  std::int64_t first_ = 0;
  ProcessGroup* group_ = nullptr;
  // What sum() exchanges, kept for its memory.
  struct Buffers {
    std::vector<float> rows, all;
  };
  std::shared_ptr<Buffers> buffers_;  // null without others
};

}  // namespace trivet
