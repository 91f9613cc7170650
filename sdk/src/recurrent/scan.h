// SPDX-License-Identifier: Apache-2.0
// What the recurrent ops with kernels share.
#pragma once

#include "ops/op_support.h"
#include "trivet/backend/kernels/recurrent.h"
#include "trivet/recurrent/scan.h"

namespace trivet::detail {

// Throws Error unless the marks are f32 [B, T] of x [B, T, ..].
void check_marks(const char* op, const Tensor& x, const ScanOptions& options);

// Which marks a sequence has, for an op's attributes.
struct Sequence {
  bool reverse, starts, paddings;

  explicit Sequence(const ScanOptions& options)
      : reverse(options.reverse),
        starts(options.starts.defined()),
        paddings(options.paddings.defined()) {}
};

// All marks in one tensor [marks, B, T], to be saved; undefined if there are none.
Tensor joined_marks(const ScanOptions& options);

// states [B, T, n].
tv_sequence sequence_of(const Tensor& states, const Sequence& sequence, const Tensor& marks);

// Memory that a kernel may overwrite with those gates in it: `gates` if nobody else sees them, or
// else a copy.
Tensor own_memory(const Tensor& gates);

// The state that is read last, of states [B, T, n].
Tensor last_state(const Tensor& states, const ScanOptions& positions);

// A backend has the kernel `forward` without its gradient.
[[noreturn]] void missing_gradient(const Device& device, const char* forward, const char* gradient);

}  // namespace trivet::detail
