// SPDX-License-Identifier: Apache-2.0
// RowShare: weights whose rows, along dimension 0, are computed with apart from each other, such as
// those of experts. Where processes have parts of the weights, each has some rows, and computes
// with them for the shards of all: what the rows work on moves to the weights, and comes back
// (Lepikhin et al. 2020, GShard). The other way, which the bits equal, is that each process gathers
// all rows.
//
// A layer asks for it by ParameterOptions::rows_apart. Each process must have several rows: a
// backend gives each product of a batch of two or more the same bits, however many they are.
//
// Example (sdk/examples/snippets/layer.cpp#rows):
//
//   const RowShare* const share = RowShare::of({&up, &down});
//   if (share == nullptr) return ops::matmul(ops::matmul(x, up.value()), down.value());
//   std::vector<Tensor> parts = share->dispatch(x);
//   for (std::size_t shard = 0; shard < parts.size(); ++shard) {
//     const Tensor h = ops::matmul(parts[shard], share->rows(up, shard));
//     parts[shard] = ops::matmul(h, share->rows(down, shard));
//   }
//   return share->combine(parts);
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/tensor.h"

namespace trivet {

class Device;
class MeshShards;    // trivet/tensor/mesh_shards.h
class Parameter;     // trivet/layer/parameter_store.h
class ProcessGroup;  // trivet/backend/process_group.h

class TRIVET_API RowShare {
 public:
  // That of weights which are computed with together; null: compute with their values, as one of
  // them is whole, or has rows that the processes do not divide. The same for all processes.
  // [run-thread]
  static const RowShare* of(std::initializer_list<const Parameter*> weights);

  // Each process trains one of them, and has as many rows of each weight.
  std::int64_t shards() const { return shards_; }

  // x [all rows, n, ...] is of this process's shard. For each shard what this process's rows work
  // on: [rows of this process, n of the shard, ...]. Types and further dimensions are equal in all
  // processes. All of them make the calls of dispatch and combine in the same order, in the
  // backward pass too. Throws RunError where another process is gone. [run-thread]
  std::vector<Tensor> dispatch(const Tensor& x) const;
  // The way back: from a part for each shard, as dispatch gives them, [all rows, n, ...] of this
  // process's shard. Rows are in their order. [run-thread]
  Tensor combine(std::span<const Tensor> parts) const;
  // A number of each shard, such as the key of its random numbers. All processes make this call.
  // [run-thread]
  std::vector<std::uint64_t> gather(Device& device, std::uint64_t own) const;
  // The first row that this process has, of so many of all. [run-thread]
  std::int64_t first_row(std::int64_t all_rows) const {
    return static_cast<std::int64_t>(rank_) * (all_rows / shards_);
  }
  // The rows of this process as weights of the work for a shard, [rows, ...]. [run-thread]
  const Tensor& rows(const Parameter& weights, std::size_t shard) const;

 private:
  friend class ParameterStore;
  RowShare(const MeshShards& mesh, std::int64_t shards);

  std::shared_ptr<ProcessGroup> group_;  // null: alone on a meta device
  std::int64_t shards_ = 1;
  std::size_t rank_ = 0;
};

}  // namespace trivet
