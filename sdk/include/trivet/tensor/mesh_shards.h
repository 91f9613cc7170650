// SPDX-License-Identifier: Apache-2.0
// MeshShards: the shards of a mesh (trivet/backend/mesh_layout.h), which of them this process
// trains, and sums over those of all processes. A sum has the same bits for any number of them: a
// process adds its own by own_tree(), which is a part of tree(), and `sum` adds the rest.
//
// A long block of floats has a piece for each shard: equal parts of a multiple of 16 elements, the
// last ones shorter or empty. A process owns the pieces of its shards, which are one part of the
// block (the optimizer states of ZeRO, Rajbhandari et al. 2020, are partitioned so).
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

  struct Range {
    std::int64_t begin = 0, end = 0;  // elements
    std::int64_t size() const { return end - begin; }
    bool operator==(const Range&) const = default;
  };
  // The piece of a shard, of a block of so many elements.
  Range piece(std::int64_t elements, std::int64_t shard) const;
  // Those of all shards of this process, or of the process of another rank.
  Range own_part(std::int64_t elements) const;
  Range part_of(std::int64_t elements, std::int64_t rank) const;
  // Whether processes add up parts of a block of so many elements. Of a shorter one each process
  // adds up all.
  static bool is_cut(std::int64_t elements);

  // `own`, f32 and contiguous, is the sum of this process's shards by own_tree(), and becomes that
  // of all by tree(). Every process makes this call and the next four. [run-thread]
  void sum(Tensor& own) const;
  // The same sum; `out`, a block as long as `own`, gets own_part() of it. [run-thread]
  void sum_part(const Tensor& own, Tensor& out) const;
  // `block` gets the own_part() of each other process. [run-thread]
  void gather_parts(Tensor& block) const;
  // From a number for each shard of this process those of all shards, in their order.
  // [run-thread]
  std::vector<double> gather(std::span<const double> own) const;
  // What these exchanges of so many elements take of a process's memory, and keep.
  static std::uint64_t exchange_bytes(std::int64_t elements, std::int64_t shards,
                                      std::int64_t processes);
  // The i-th flag becomes 1 where it is not 0 on any process. [run-thread]
  void any(std::span<std::uint8_t> flags) const;

 private:
  SumTree tree_, own_tree_;
  SumTree processes_;  // over what own_tree() gives
  std::int64_t first_ = 0;
  ProcessGroup* group_ = nullptr;
  // What the calls exchange, kept for its memory.
  struct Buffers {
    std::vector<float> rows, all;
  };
  std::shared_ptr<Buffers> buffers_;  // null without others
};

}  // namespace trivet
