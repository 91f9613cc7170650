// SPDX-License-Identifier: Apache-2.0
// WeightParts: the trainable weights of a model on a mesh whose processes have parts of them (ZeRO
// stage 3, Rajbhandari et al. 2020). Each unit of the weights is whole where something reads it:
// the first that does so gathers the parts of all processes, and the memory is free again when
// others need it. So layers, ops and the tape know nothing of parts; what an op has saved for its
// gradient is gathered again when the gradient reads it. A step gathers the units that the one
// before it gathered next, while it computes (MeshConfig::overlap).
//
// A gather is an exchange of all processes: all read the same units in the same order. That of a
// unit of one stage (Parameter::stage) is one of the processes of the stage, and others cannot read
// it; a unit that this process has alone is read where it is.
//
// Processes may keep all weights (ParameterStore::Keeps): then their units are always whole, and a
// change starts the gathers of all of them, which the first that reads a unit waits for. Processes
// need not read alike.
//
// RowLeaves: the rows of a weight that this process has, as an input of the work for each shard
// (RowShare), with a gradient for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "layer/block_units.h"
#include "trivet/tape.h"
#include "trivet/tensor.h"
#include "trivet/tensor/device.h"
#include "trivet/tensor/mesh_shards.h"

namespace trivet {

class RowShare;  // trivet/layer/row_share.h
class Transfer;  // trivet/backend/process_group.h

namespace detail {

class WeightParts {
 public:
  // Zeros. Shards of several processes.
  WeightParts(Device& device, const MeshShards& shards, std::shared_ptr<const UnitParts> parts,
              ParameterStore::Keeps keeps);
  ~WeightParts();
  WeightParts(const WeightParts&) = delete;
  WeightParts& operator=(const WeightParts&) = delete;

  const OwnParts& parts() const { return parts_; }
  // The parts of this process, flat: after a change of it call changed(). [run-thread]
  const Tensor& own() const { return own_; }
  void changed();

  // A unit, flat, whose memory is there when it is read. [any-thread]
  const Tensor& whole(std::size_t unit) const { return units_[unit].value; }

  // Between them all units are whole. They may be nested. [run-thread]
  void hold();
  void release();
  // Between them all processes read all units, in the same order, of which not all are whole at a
  // time. [run-thread]
  void begin_alike();
  void end_alike();

  // Of the units gathered so far in steps, in their order: of those of all stages, which is equal
  // on all processes, and of this process's stages, equal on those with the same. [run-thread]
  struct Orders {
    std::uint64_t of_all = 0, of_stages = 0;
  };
  // ParameterStore::check_reads.
  void check_orders() const;
  // Whether this process keeps all weights.
  bool keeps_all() const { return keeps_all_; }
  // Of those that it keeps: waits for all gathers, before its parts change.
  void end_gathers();

  // Whether all processes have all units, or read them alike.
  bool is_read_alike() const { return holds_ > 0 || alike_ > 0; }
  // Steps read the other units alone.
  void read_in_parts(const std::vector<std::size_t>& units);

  // The most that whole units take at once, unless they are held, of those that `is_read` names:
  // without those that are gathered ahead, or with so many.
  template <class IsRead>
  static std::int64_t most_elements(const BlockUnits& units, const IsRead& is_read,
                                    std::int64_t ahead = 0) {
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < units.count(); ++i) {
      if (is_read(i)) sizes.push_back(units[i].size());
    }
    return most_of_an_op(std::move(sizes), ahead);
  }

 private:
  class Source;
  struct Unit {
    std::shared_ptr<Source> source;
    Tensor value;                        // of the source
    Tensor memory;                       // undefined: not whole now
    std::unique_ptr<Transfer> transfer;  // to the memory that is kept; null: it has ended
    std::uint64_t read = 0;
  };
  // Units of all stages and those of this process's are given up apart from each other: processes
  // of other stages read other ones of these.
  struct Pool {
    std::int64_t most = 0, whole = 0;  // elements
    // The units that are gathered between two changes, in their order: the last time, and now.
    std::vector<std::uint32_t> expected, gathered;
    bool is_as_expected = true;  // so far
  };
  // A unit that is not whole yet, of a pool.
  struct Ahead {
    std::size_t unit = 0;
    Pool* pool = nullptr;
    Tensor memory;
    std::unique_ptr<Transfer> transfer;
  };
  static std::int64_t most_of_an_op(std::vector<std::int64_t> sizes, std::int64_t ahead);
  void* need(std::size_t unit);
  void gather_all();
  static void end_gather(Unit& unit);
  void assign(std::size_t unit, std::uint64_t offset, std::span<const std::byte> values);
  void gather(Unit& unit, std::size_t index);
  std::unique_ptr<Transfer> start(std::size_t index, Tensor& memory);
  void check_readable(std::size_t index) const;
  bool take_ahead(Unit& unit, std::size_t index);
  void note_gathered(std::size_t index);
  void gather_ahead(Pool& pool);
  void drop_ahead(const Pool& pool) noexcept;
  void drop_all_ahead() noexcept;
  void drop_gathers() noexcept;
  void restart(Pool& pool);
  void make_room(Pool& pool, std::int64_t elements);
  void give_up_all();
  Pool& pool_of(std::size_t unit);
  bool has_alone(std::size_t unit) const;

  Device& device_;
  const MeshShards shards_;
  const OwnParts parts_;
  const bool keeps_all_;
  Tensor own_;
  std::vector<Unit> units_;
  Pool of_all_, of_stages_, alike_pool_;
  std::deque<Ahead> ahead_;
  std::uint64_t reads_ = 0;
  Orders orders_;
  int holds_ = 0, alike_ = 0;
};

struct RowLeaves {
  // `rows` are of `parts`.
  RowLeaves(const RowShare& share, const WeightParts& parts, const Tensor& rows,
            std::int64_t shards);
  RowLeaves(const RowLeaves&) = delete;
  RowLeaves& operator=(const RowLeaves&) = delete;

  bool have_gradient() const;

  const RowShare& share;
  const WeightParts& parts;
  std::vector<GradientSlot> slots;  // of each shard
  std::vector<Tensor> leaves;
};

}  // namespace detail
}  // namespace trivet
