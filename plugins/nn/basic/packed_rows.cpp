// SPDX-License-Identifier: Apache-2.0
#include "nn/basic/packed_rows.h"

#include <cstdint>

#include "trivet/error.h"
#include "trivet/ops/host_array.h"
#include "trivet/tensor/meta_device.h"

namespace trivet::nn {

void refuse_packed(std::string_view layer, const std::string& path, const FpropContext& context) {
  const Tensor& ids = context.segment_ids;
  if (!ids.defined() || is_meta(ids.device())) return;
  const HostArray<std::int32_t> segments(ids);
  for (std::int64_t i = 0; i < ids.size(); ++i) {
    if (segments[i] <= 1) continue;  // segments are numbered from 1; 0 is padding
    throw UsageError(std::string(layer) + " '" + path + "' would mix the texts of a packed row",
                     {.hint = "set pack = false in the input"});
  }
}

}  // namespace trivet::nn
