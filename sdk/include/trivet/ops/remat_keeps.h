// SPDX-License-Identifier: Apache-2.0
// What rematerialization (trivet/layer/remat.h) keeps of a function beside its inputs: results that
// it does not compute a second time. The choices are those of jax.checkpoint's policies.
//
// A result is of ops::linear, ops::matmul, ops::attention, a convolution, or a rematerialized
// function inside. It is kept for what it is, or for the checkpoint name under which it is
// computed. Of a kernel that computes a product and its activation, the activation's input is kept
// and act_fwd runs again, if there is one; otherwise also the output, which is all that relu and
// others need.
//
// Example (sdk/examples/snippets/gradients.cpp#checkpoint_name):
//
//   const CheckpointName name("ffn1");
//   return ops::linear(x, w, {}, Activation::relu);
//
// Names of the shipped layers, after Praxis: query_proj, key_proj, value_proj, context, out_proj,
// ffn1, ffn1_gate, ffn2, iteration_input and transformer_layer_out. ops::attention calls its result
// context; what it computes without a kernel is called logits before the softmax.
#pragma once

#include <string_view>
#include <vector>

#include "trivet/base/export.h"

namespace trivet {

// Products kept without a name.
enum class RematProducts {
  none,
  without_batch,  // linear, and matmul unless both factors have leading axes
  all,            // also the other matmuls, attention and convolutions
};

enum class RematMemory {
  device,
  host,  // copied there until the second run, if the host cannot access the device's memory
};

struct RematKeeps {
  RematProducts products = RematProducts::none;
  std::vector<std::string_view> names{};  // of results; literals, or else they outlive the tape
  RematMemory memory = RematMemory::device;
};

// Gives results of this thread a name while it lives. The innermost name counts, and a
// rematerialized function starts without one. [run-thread]
class TRIVET_API CheckpointName {
 public:
  explicit CheckpointName(std::string_view name);  // outlives it
  ~CheckpointName();
  CheckpointName(const CheckpointName&) = delete;
  CheckpointName& operator=(const CheckpointName&) = delete;

  static std::string_view current() noexcept;  // empty: none

 private:
  std::string_view outer_;
};

}  // namespace trivet
