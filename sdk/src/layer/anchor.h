// SPDX-License-Identifier: Apache-2.0
// An input that always wants a gradient, for a node whose other inputs may want none.
#pragma once

#include "trivet/tape.h"

namespace trivet::detail {

// On the device of x. Nothing may be added to it.
inline Tensor anchor(const Tensor& x) {
  static thread_local GradientSlot never_written;
  return make_leaf(x, never_written);
}

}  // namespace trivet::detail
