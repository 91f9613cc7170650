// SPDX-License-Identifier: Apache-2.0
#include "tensor/axis_processes.h"

#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "tensor/device_impl.h"
#include "tensor/host_block.h"
#include "tensor/packing.h"
#include "trivet/backend/process_group.h"

namespace trivet {

std::vector<AxisExchange> take_axis_exchanges(Device& device) {
  std::vector<AxisExchange> all;
  for (const auto& [exchange, calls] : device.impl().axis_exchanges) {
    const auto& [kind, bytes, unit, sharing] = exchange;
    all.push_back({.kind = kind, .bytes = bytes, .calls = calls, .unit = unit, .sharing = sharing});
  }
  device.impl().axis_exchanges.clear();
  return all;
}

namespace detail {
namespace {

// Of a contiguous tensor that the host sees.
std::span<const std::byte> bytes_of(const Tensor& x) {
  return {static_cast<const std::byte*>(x.view().data), x.bytes()};
}

std::span<std::byte> writable_bytes_of(Tensor& x) {
  return {static_cast<std::byte*>(x.mutable_view().data), x.bytes()};
}

}  // namespace

void count_exchange(AxisExchange::Kind kind, const Tensor& own, std::size_t unit,
                    std::int64_t sharing) {
  const auto index = static_cast<std::int64_t>(unit);
  ++own.device().impl().axis_exchanges[{kind, own.bytes(), index, sharing}];
}

void count_number(Device& device) {
  ++device.impl().axis_exchanges[{AxisExchange::Kind::gather_number, sizeof(std::int64_t), 0, 1}];
}

AxisProcesses::AxisProcesses(std::shared_ptr<ProcessGroup> group, const SumTree& tree)
    : group_(std::move(group)), sums_(*group_, tree, std::make_shared<ExchangeBuffers>()) {}

Tensor AxisProcesses::sum(const Tensor& own) {
  Tensor total = Tensor::empty(own.device(), own.shape());
  const bool is_direct = own.device().host_visible();
  const std::vector<float> copy = is_direct ? std::vector<float>() : own.to_host<float>();
  HostBlock block(total);
  sums_.whole(is_direct ? own.span<float>() : std::span(copy), block.values());
  block.assign();
  return total;
}

void AxisProcesses::gather(const Tensor& own, int dim, Tensor& whole) {
  const auto processes = static_cast<std::size_t>(group_->size());
  std::size_t outer = 1;
  for (int i = 0; i < dim; ++i) outer *= static_cast<std::size_t>(own.dim(i));
  const Tensor mine = packed(own);
  const bool is_direct = own.device().host_visible();
  const std::vector<std::byte> copy = is_direct ? std::vector<std::byte>() : mine.to_bytes();
  const std::span<const std::byte> from = is_direct ? bytes_of(mine) : std::span(copy);
  std::vector<std::byte> to_copy(is_direct ? 0 : whole.bytes());
  const std::span<std::byte> to = is_direct ? writable_bytes_of(whole) : std::span(to_copy);
  if (outer == 1) {
    group_->all_gather(from, to);
  } else {
    if (rows_.size() < to.size()) rows_.resize(to.size());
    group_->all_gather(from, std::span(rows_).first(to.size()));
    const std::size_t line = from.size() / outer;
    for (std::size_t i = 0; line > 0 && i < outer * processes; ++i) {
      const std::size_t rank = i % processes, row = i / processes;
      std::memcpy(&to[i * line], &rows_[(rank * outer + row) * line], line);
    }
  }
  if (!is_direct) whole.assign_bytes(to);
}

void AxisProcesses::send(const Tensor& x, int to) {
  group_->send(packed(x).to_bytes(), to);
  x.device().impl().sending = group_;
}

void AxisProcesses::receive(Tensor& x, int from) {
  if (x.device().host_visible()) return group_->receive(writable_bytes_of(x), from);
  std::vector<std::byte> bytes(x.bytes());
  group_->receive(bytes, from);
  x.assign_bytes(bytes);
}

void AxisProcesses::broadcast(Tensor& x, int root) {
  if (x.device().host_visible()) return group_->broadcast(writable_bytes_of(x), root);
  std::vector<std::byte> bytes = x.to_bytes();
  group_->broadcast(bytes, root);
  if (group_->rank() != root) x.assign_bytes(bytes);
}

}  // namespace detail
}  // namespace trivet
