// SPDX-License-Identifier: Apache-2.0
#include "nn/recurrent/state_chunks.h"

#include <utility>

#include "nn/basic/sequence_context.h"
#include "trivet/ops.h"
#include "trivet/ops/host_array.h"
#include "trivet/tape.h"
#include "trivet/tensor/meta_device.h"

namespace trivet::nn {

Tensor constants(Device& device, std::int64_t rows, std::int64_t columns,
                 const std::function<double(std::int64_t, std::int64_t)>& value) {
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) values.push_back(static_cast<float>(value(i, j)));
  }
  return Tensor::from<float>(device, values, {rows, columns});
}

void cut(const Tensor& x, std::int64_t chunk, std::vector<Tensor>& parts) {
  const std::int64_t length = x.dim(2), chunks = (length + chunk - 1) / chunk;
  if (chunks <= 1) {
    parts.push_back(ops::contiguous(x));
    return;
  }
  const std::int64_t half = chunks / 2 * chunk;
  cut(ops::slice(x, 2, 0, half), chunk, parts);
  cut(ops::slice(x, 2, half, length), chunk, parts);
}

Tensor joined_chunks(std::span<const Tensor> parts) {
  if (parts.size() == 1) return parts.front();
  const std::size_t half = parts.size() / 2;
  return ops::concat(
      std::vector<Tensor>{joined_chunks(parts.first(half)), joined_chunks(parts.subspan(half))}, 2);
}

Tensor without_padding(const Tensor& x, const FpropContext& context) {
  const Tensor paddings = fitting(context.paddings, x);
  if (!paddings.defined()) return x;
  Tensor counted;
  {
    NoGrad no_grad;
    counted = ops::reshape(ops::add(ops::neg(paddings), 1), {x.dim(0), x.dim(1), 1});
  }
  return ops::mul(x, counted);
}

Tensor reordered_rows(const Tensor& x, std::span<const std::int32_t> rows) {
  const Tensor by_row = reordered(ops::transpose(x, {1, 0, 2}), rows);
  return ops::contiguous(ops::transpose(by_row, {1, 0, 2}));
}

void reorder_segments(std::vector<std::int32_t>& segments, std::span<const std::int32_t> rows) {
  std::vector<std::int32_t> moved;
  for (const std::int32_t row : rows) {
    if (!segments.empty()) moved.push_back(segments.at(static_cast<std::size_t>(row)));
  }
  segments = std::move(moved);
}

Starts::Starts(const Tensor& ids, std::vector<std::int32_t>& last) {
  if (!ids.defined() || is_meta(ids.device())) return;
  const std::int64_t rows = ids.dim(0), length = ids.dim(1);
  const HostArray<std::int32_t> segments(ids);
  last.resize(static_cast<std::size_t>(rows), 0);
  continues.resize(static_cast<std::size_t>(rows * length), 1);
  for (std::int64_t i = 0; i < rows * length; ++i) {
    std::int32_t& known = last[static_cast<std::size_t>(i / length)];
    const std::int32_t id = segments[i];
    if (id == 0 || id == known) continue;
    const bool starts = known != 0;
    any = any || starts;
    if (starts) continues[static_cast<std::size_t>(i % length * rows + i / length)] = 0;
    known = id;
  }
}

Tensor Starts::at(Device& device, std::size_t t, std::int64_t rows) const {
  const auto size = static_cast<std::size_t>(rows);
  const std::span<const float> own = std::span(continues).subspan(t * size, size);
  return Tensor::from<float>(device, own, {1, rows, 1});
}

}  // namespace trivet::nn
