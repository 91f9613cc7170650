// SPDX-License-Identifier: Apache-2.0
// HostBlock: host memory with the floats of a contiguous tensor, and the way back.
#pragma once

#include <span>
#include <vector>

#include "trivet/tensor.h"
#include "trivet/tensor/device.h"

namespace trivet::detail {

class HostBlock {
 public:
  explicit HostBlock(Tensor& block) : block_(block) {
    if (block.device().host_visible()) {
      values_ = block.mutable_span<float>();
    } else {
      copy_ = block.to_host<float>();
      values_ = copy_;
    }
  }
  std::span<float> values() const { return values_; }
  void assign() {
    if (!block_.device().host_visible()) block_.assign_bytes(std::as_bytes(values_));
  }

 private:
  Tensor& block_;
  std::vector<float> copy_;
  std::span<float> values_;
};

}  // namespace trivet::detail
