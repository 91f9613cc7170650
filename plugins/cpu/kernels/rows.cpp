// SPDX-License-Identifier: Apache-2.0
// gather_rows and scatter_add_rows.

#include <cstring>

#include "cpu/support/context.h"
#include "cpu/support/kernels.h"

namespace cpu {
namespace {

// All indices are checked before the first write, so that a table is never half updated.
tv_status check_indices(tv_ctx* ctx, const char* function, const tv_view& idx, std::int64_t rows) {
  for (std::int64_t i = 0, n = element_count(idx); i < n; ++i) {
    const std::int32_t row = data<std::int32_t>(idx)[i];
    if (row >= 0 && row < rows) continue;
    return fail(ctx, std::string(function) + ": index " + std::to_string(row) + " at position " +
                         std::to_string(i) + " is outside a table of " + std::to_string(rows) +
                         " rows");
  }
  return TV_OK;
}

}  // namespace

tv_status gather_rows(tv_ctx* ctx, const tv_view* out, const tv_view* table, const tv_view* idx) {
  if (out->dtype != table->dtype || idx->dtype != TV_I32) return TV_UNSUPPORTED;
  const tv_status status = check_indices(ctx, "gather_rows", *idx, table->shape[0]);
  if (status != TV_OK) return status;
  const std::size_t bytes = static_cast<std::size_t>(table->shape[1]) * dtype_size(table->dtype);
  if (bytes == 0) return TV_OK;
  const auto grain = row_grain(static_cast<std::int64_t>(bytes / 4));
  parallel(ctx, element_count(*idx), grain, [&](auto begin, auto end, auto) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const auto row = static_cast<std::size_t>(data<std::int32_t>(*idx)[i]);
      std::memcpy(data<char>(*out) + i * bytes, data<char>(*table) + row * bytes, bytes);
    }
  });
  return TV_OK;
}

// Each thread owns a range of columns, so one thread adds every row in the order of i.
tv_status scatter_add_rows(tv_ctx* ctx, const tv_view* table, const tv_view* idx,
                           const tv_view* src) {
  if (!is_f32(*table) || !is_f32(*src) || idx->dtype != TV_I32) return TV_UNSUPPORTED;
  const tv_status status = check_indices(ctx, "scatter_add_rows", *idx, table->shape[0]);
  if (status != TV_OK) return status;
  constexpr std::int64_t kColumns = 64;
  const std::int64_t width = table->shape[1], n = element_count(*idx);
  parallel(ctx, width, kColumns, [&](auto begin, auto end, auto) {
    for (std::int64_t i = 0; i < n; ++i) {
      float* to = data<float>(*table) + data<std::int32_t>(*idx)[i] * width;
      const float* from = data<float>(*src) + i * width;
      for (std::int64_t j = begin; j < end; ++j) to[j] += from[j];
    }
  });
  return TV_OK;
}

}  // namespace cpu
