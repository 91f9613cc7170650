// SPDX-License-Identifier: Apache-2.0
// HostArray: the elements of a tensor on the host, in place where the device allows it, copied
// otherwise. For metrics and for what else looks at outputs; waits for the device. [run-thread]
#pragma once

#include <span>
#include <vector>

#include "trivet/ops.h"
#include "trivet/tensor/device.h"

namespace trivet {

template <class T>
class HostArray {
 public:
  explicit HostArray(const Tensor& tensor) : tensor_(ops::contiguous(tensor)) {
    if (tensor_.on_host() || tensor_.device().host_visible()) {
      view_ = tensor_.span<T>();
    } else {
      copy_ = tensor_.to_host<T>();
      view_ = copy_;
    }
  }
  HostArray(const HostArray&) = delete;
  HostArray& operator=(const HostArray&) = delete;

  T operator[](std::int64_t i) const { return view_[static_cast<std::size_t>(i)]; }
  const T* data() const { return view_.data(); }

 private:
  Tensor tensor_;
  std::vector<T> copy_;
  std::span<const T> view_;
};

}  // namespace trivet
