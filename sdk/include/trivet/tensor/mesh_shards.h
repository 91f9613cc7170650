// SPDX-License-Identifier: Apache-2.0
// MeshShards: the shards of a mesh (trivet/backend/mesh_layout.h), which of them this process
// trains, and sums over those of all processes. A sum has the same bits for any number of them: a
// process adds its own by own_tree(), which is a part of tree(), and `sum` adds the rest.
//
// A long block of floats has a piece for each device of the mesh, in their order: equal parts of a
// multiple of 16 elements, the last ones shorter or empty. A process owns the pieces of its
// devices, which are one part of the block (the optimizer states of ZeRO, Rajbhandari et al. 2020,
// are partitioned so).
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
class MeshLayout;    // trivet/backend/mesh_layout.h
class ExchangeLog;   // trivet/tensor/exchange_log.h
class ProcessGroup;  // trivet/backend/process_group.h
class Transfer;

namespace detail {
class PartGather;
class ProcessSum;
}  // namespace detail

class TRIVET_API MeshShards {
 public:
  MeshShards() = default;  // one shard
  // This process's of the group of all that share the mesh, which must outlive this; null: this
  // process is alone. All processes make this call. Throws Error for a group that cannot share it
  // (MeshLayout::can_share).
  MeshShards(const MeshConfig& mesh, ProcessGroup* group);

  std::int64_t total() const { return tree_.size(); }
  // Of this process: the shards first(), first() + 1, ...
  std::int64_t first() const { return first_; }
  std::int64_t count() const { return own_tree_.size(); }
  const SumTree& tree() const { return tree_; }
  const SumTree& own_tree() const { return own_tree_; }
  // With all shards, and the stages of the first of mesh.processes: for meta devices, which have no
  // other processes. So many of these have other shards for the same stages, or the same blocks.
  static MeshShards of_first_process(const MeshConfig& mesh, std::int64_t peers = 1);

  // All processes that share the mesh; null: this one is alone.
  ProcessGroup* all() const { return all_; }
  // Of them those with the same blocks (trivet/tensor/mesh_axis.h) and stages as this one, which
  // have all shards between them; null: this process has all shards.
  ProcessGroup* group() const { return group_.get(); }
  // The processes of the mesh, where each has one shard for itself; otherwise 1.
  std::int64_t peers() const { return peers_; }
  // Whether no other process has stages of this one.
  bool has_stages_alone() const { return has_stages_alone_; }
  // Of all() those with the same stages; null: this one is alone with them.
  ProcessGroup* same_stages() const { return locations_.empty() ? all_ : stage_group_.get(); }
  // Whether this process computes the layers of a stage.
  bool has_stage(std::int64_t stage) const {
    return stage >= first_stage_ && stage < first_stage_ + stage_count_;
  }
  // The first of its stages, which are neighbors.
  std::int64_t first_stage() const { return first_stage_; }

  struct Range {
    std::int64_t begin = 0, end = 0;  // elements
    std::int64_t size() const { return end - begin; }
    bool operator==(const Range&) const = default;
  };
  std::int64_t pieces() const { return pieces_; }
  // Of this process: the pieces first_piece(), first_piece() + 1, ...
  std::int64_t first_piece() const { return first_piece_; }
  std::int64_t piece_count() const { return piece_count_; }
  // Of this process in all().
  std::int64_t own_rank() const { return first_piece_ / piece_count_; }
  // A piece of a block of so many elements.
  Range piece(std::int64_t elements, std::int64_t index) const;
  // The stage of a piece's device; 0 on a mesh without stages.
  std::int64_t stage_of(std::int64_t index) const {
    return locations_.empty() ? 0 : locations_[static_cast<std::size_t>(index)].stage;
  }
  // A piece of a block that the devices of one stage share, in their order; that of another device
  // is empty.
  Range piece_of_stage(std::int64_t elements, std::int64_t index, std::int64_t stage) const;
  // All pieces of this process, or of the process of a rank of all().
  Range own_part(std::int64_t elements) const { return part_of(elements, own_rank()); }
  Range part_of(std::int64_t elements, std::int64_t rank) const;
  // part_of each process of all(), in the order of ranks.
  std::vector<Range> parts_of(std::int64_t elements) const;
  // Whether processes add up parts of a block of so many elements. Of a shorter one each process
  // adds up all.
  static bool is_cut(std::int64_t elements);

  // `own`, f32 and contiguous, is the sum of this process's shards by own_tree(), and becomes that
  // of all by tree(). Every process makes this call and those that follow. [run-thread]
  void sum(Tensor& own) const;
  // The same sum, of which this process gets its part alone. parts[r] are the elements that rank r
  // of all() owns, such as parts_of(); `part` is as long as that of this process. [run-thread]
  void sum_to_part(const Tensor& own, std::span<const Range> parts, Tensor& part) const;
  // `block` gets the parts of the other processes. [run-thread]
  void gather_parts(Tensor& block, std::span<const Range> parts) const;
  // `block` gets the parts of all processes, of which this one has `own`. Among those of the same
  // stages, which have all parts between them, they alone make the call. [run-thread]
  enum class Among { all, same_stages };
  void gather_parts(const Tensor& own, std::span<const Range> parts, Tensor& block,
                    Among among = Among::all) const;
  // sum_to_part and gather_parts without waiting: data move while this process waits for others,
  // and between the kernels of the device. The tensors must not change until the wait() that ends
  // it, and stay alive as long. Those that take several exchanges have ended when this returns.
  // [run-thread]
  std::unique_ptr<Transfer> start_sum_to_part(const Tensor& own, std::span<const Range> parts,
                                              Tensor& part) const;
  std::unique_ptr<Transfer> start_gather_parts(const Tensor& own, std::span<const Range> parts,
                                               Tensor& block, Among among = Among::all) const;
  // Of them so many may be under way at once while a step computes (MeshConfig::overlap), now.
  std::int64_t overlap() const;
  // That of all(), which notes these exchanges; null: none does.
  ExchangeLog* exchange_log() const;
  // From a number for each shard of this process those of all shards, in their order.
  // [run-thread]
  std::vector<double> gather(std::span<const double> own) const;
  // The same for the pieces of one block, or of several: those of this process block by block
  // become those of all block by block. [run-thread]
  std::vector<double> gather_pieces(std::span<const double> own) const;
  // Elements that each of so many processes has in an exchange of sum, sum_to_part or gather_parts,
  // of which longer blocks take several.
  static std::int64_t segment(std::int64_t processes);
  // Whether each process sends its part in a gather of so many elements of each to each other one
  // as it is; otherwise all send as much as the one with the longest part.
  static bool sends_to_each(std::int64_t elements, std::int64_t processes);
  // Whether processes that own so many elements each, of which some have much more than others,
  // have even parts in a sum or a gather, and move what belongs to others before or after it. And
  // these parts, of all elements.
  static bool are_uneven(std::span<const std::int64_t> parts);
  static std::vector<Range> even_parts(std::int64_t elements, std::int64_t processes);
  // What these exchanges of so many elements take of the memory of each of so many processes, and
  // keep.
  static std::uint64_t exchange_bytes(std::int64_t elements, const MeshConfig& mesh);
  // The same where the longest part of a process has so many elements.
  static std::uint64_t exchange_bytes(std::int64_t elements, std::int64_t longest_part,
                                      const MeshConfig& mesh);
  // The i-th flag becomes 1 where it is not 0 on any process. [run-thread]
  void any(std::span<std::uint8_t> flags) const;

 private:
  Range own_of(std::span<const Range> parts) const;
  std::vector<Range> of_group(std::span<const Range> parts) const;
  std::vector<Range> of_stages(std::span<const Range> parts) const;
  void take_stages(const MeshLayout& layout, std::int64_t rank, std::int64_t processes);
  SumTree tree_, own_tree_;
  std::int64_t first_ = 0, peers_ = 1, overlap_ = 0;
  std::int64_t pieces_ = 1, first_piece_ = 0, piece_count_ = 1;
  ProcessGroup* all_ = nullptr;
  std::shared_ptr<ProcessGroup> group_;
  std::vector<std::int64_t> group_ranks_;      // of its processes in all_
  std::shared_ptr<detail::ProcessSum> sums_;   // over group_, of what own_tree() gives
  std::shared_ptr<detail::PartGather> parts_;  // over all_

  std::int64_t first_stage_ = 0, stage_count_ = 1;
  bool has_stages_alone_ = false;
  struct Location {
    std::int64_t stage = 0, index = 0;  // among the devices of the stage
  };
  std::vector<Location> locations_;   // of the devices; empty: the mesh has one stage
  std::int64_t pieces_of_stage_ = 1;  // devices
  std::shared_ptr<ProcessGroup> stage_group_;
  std::vector<std::int64_t> stage_ranks_;            // of its processes in all_
  std::shared_ptr<detail::PartGather> stage_parts_;  // over stage_group_
};

}  // namespace trivet
