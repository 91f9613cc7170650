// SPDX-License-Identifier: Apache-2.0
// Tape: a record of the ops run while it was current, and the walk back over it.
//
// Example (sdk/examples/snippets/gradients.cpp#tape):
//
//   Tape tape;
//   Tensor loss;
//   {
//     Tape::Recording recording(tape);
//     loss = ops::mean(ops::square(ops::linear(x, w.value(), b.value())));
//   }
//   tape.backward(loss);  // w.gradient(), b.gradient() now hold the gradients
//
// The caller owns the tape; evaluation has none. The owner of the parameters (a ParameterStore)
// must outlive the backward pass; otherwise backward throws Error. Gradients of parameters are
// accumulated straight into their slots. A plugin adds an op of its own with `record` (below):
// there is nothing to register.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/tensor.h"

namespace trivet {

// Tells a tape whether the object it is part of is still there. What is assigned to the object
// leaves it alone, and a copy has one of its own.
class SlotLife {
 public:
  SlotLife() = default;
  SlotLife(const SlotLife&) noexcept {}
  SlotLife& operator=(const SlotLife&) noexcept { return *this; }
  std::weak_ptr<const void> token() {
    if (token_ == nullptr) token_ = std::make_shared<char>();
    return token_;
  }

 private:
  std::shared_ptr<const void> token_;
};

// Slots that get their memory together, with the first gradient of one of them, and give it back
// when their gradients are complete. A tape that runs back makes the calls.
class TRIVET_API SlotGroup {
 public:
  virtual ~SlotGroup();
  // Gives each slot a tensor of the shape of its leaf. [run-thread]
  virtual void open() = 0;
  // No op of the tape adds to the slots any more. [run-thread]
  virtual void complete() = 0;

 private:
  friend class Tape;
  std::size_t first_node_ = 0;  // of the tape that runs back: the last to add to a slot
};

// Where the gradient of a leaf (a parameter) is accumulated. `written` is false until the first
// contribution of a step, which overwrites; later ones add. So nothing has to be zeroed.
struct GradientSlot {
  Tensor gradient;
  bool written = false;
  SlotLife life{};
  SlotGroup* group = nullptr;  // null: `gradient` has memory, or gets its own
};

class Vjp;

// A differentiable op. Make one `static constexpr`/`const` object per op; its address is its
// identity on a tape.
struct OpDef {
  const char* name;
  void (*vjp)(Vjp&);  // adds gradients to the inputs that want one
};

// What an op's vjp sees. Valid during the call. [run-thread]
class TRIVET_API Vjp {
 public:
  const Tensor& grad_output(
      int i = 0) const;  // undefined Tensor when nothing flowed to that output
  const Tensor& input(int i) const;
  const Tensor& output(int i = 0) const;
  const Tensor& saved(int i) const;
  template <class T>
  const T& attributes() const {
    return *static_cast<const T*>(attribute_bytes());
  }
  bool wants(int i) const;  // input i requires a gradient

  // Adds `gradient` (shape of input i) to the gradient of input i.
  void add(int i, Tensor gradient);

  // For ops that can accumulate themselves (beta = 1 products): the memory to write to and the beta
  // to use.
  struct Target {
    Tensor gradient;
    float beta;  // 0: overwrite, 1: add
  };
  Target target(int i);

  // dy may be overwritten by this vjp: nobody else holds it.
  bool may_overwrite_grad_output(int i = 0) const;

  struct Impl;
  explicit Vjp(Impl& impl) : impl_(impl) {}

 private:
  const void* attribute_bytes() const;
  Impl& impl_;
};

class TRIVET_API Tape {
 public:
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // Makes a tape current on this thread for its lifetime.
  class Recording {
   public:
    explicit Recording(Tape& tape);
    ~Recording();
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

   private:
    Tape* previous_;
  };

  // Gradients of sum(seed * loss) for every leaf that took part. `loss` is a scalar unless a seed
  // of its shape, type and device is given. Frees saved tensors as it goes: a tape runs back once.
  // Throws Error when loss does not depend on a leaf, or when a leaf's slot is gone.
  void backward(const Tensor& loss, const Tensor& seed = {});

  // Holds an object until the tape is cleared or has run back: what an op's attributes point to.
  void keep(std::shared_ptr<void> object);

  // The groups of the slots that its ops add to, in the order of their first ops: that of the last
  // ones is complete first. And such groups of what the last op runs again in its gradient.
  std::vector<SlotGroup*> slot_groups() const;
  void add_slot_groups(const std::vector<SlotGroup*>& groups);

  void clear();
  std::size_t size() const;    // ops recorded
  std::uint64_t hash() const;  // of the sequence of ops and shapes; equal steps have equal hashes

  static Tape* current();

  struct Impl;

 private:
  friend class Tensor;
  friend void record(const OpDef&, std::span<const Tensor>, std::span<Tensor>,
                     std::span<const Tensor>, const void*, std::size_t);
  void complete_groups(std::size_t node);
  std::unique_ptr<Impl> impl_;
};

// Suspends recording on this thread for its lifetime (inside an op's forward, or for metrics).
class TRIVET_API NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  Tape* previous_;
};

// Puts an op on the current tape, if an input requires a gradient. Its vjp can read the values of
// `saved` (8 at most) alone; of the inputs (6) and outputs (4) it knows shape, type and device.
TRIVET_API void record(const OpDef& op, std::span<const Tensor> inputs, std::span<Tensor> outputs,
                       std::span<const Tensor> saved, const void* attributes,
                       std::size_t attribute_size);

template <class Attributes = std::nullptr_t>
void record(const OpDef& op, std::initializer_list<Tensor> inputs, Tensor& output,
            std::initializer_list<Tensor> saved = {}, const Attributes& attributes = {}) {
  static_assert(std::is_trivially_copyable_v<Attributes>, "attributes are copied byte for byte");
  record(op, std::span<const Tensor>(inputs.begin(), inputs.size()), std::span<Tensor>(&output, 1),
         std::span<const Tensor>(saved.begin(), saved.size()), &attributes, sizeof attributes);
}

// A leaf with its own slot, for gradient checks and for states outside a Scope: the same memory as
// x, requiring a gradient. `slot.gradient` is what was accumulated (undefined if nothing was).
TRIVET_API Tensor make_leaf(const Tensor& x, GradientSlot& slot);

}  // namespace trivet
