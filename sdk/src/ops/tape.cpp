// SPDX-License-Identifier: Apache-2.0
// Tape: nodes in the order their ops ran, walked backwards once.
//
// A node keeps of its inputs only where their gradients go, and stand-ins that know shape and type;
// what the gradient needs to read stands among the saved tensors. So an activation that nobody
// saved is free as soon as the forward pass drops it.
#include "trivet/tape.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "ops/op_support.h"
#include "tensor/block_pool.h"
#include "tensor/tensor_impl.h"
#include "trivet/error.h"
#include "trivet/plugin/plugin_call.h"
#include "trivet/tensor/profile.h"

namespace trivet {
namespace {

constexpr std::size_t kMostInputs = 6, kMostOutputs = 4, kMostSaved = 8, kMostAttributes = 192;

struct Destination {
  std::uint32_t node = 0, output = 0;  // node 0: not on the tape
  GradientSlot* slot = nullptr;
  std::weak_ptr<const void> slot_life{};
  bool wanted() const { return node != 0 || slot != nullptr; }
};

struct Node {
  const OpDef* op = nullptr;
  const RegistryItem* item = nullptr;  // whose code recorded it, and so wrote its gradient
  std::uint32_t scope = 0;             // of a profile: the layer it works for
  std::size_t inputs = 0, outputs = 0, saved = 0;
  Destination to[kMostInputs];
  Tensor input[kMostInputs];
  Tensor output[kMostOutputs];
  Tensor gradient[kMostOutputs];
  Tensor kept[kMostSaved];
  alignas(16) std::byte attributes[kMostAttributes];
  std::vector<SlotGroup*> groups;  // of slots that its gradient adds to by a tape of its own
};

BlockPool<Node>& node_pool() {
  static BlockPool<Node>& pool = *new BlockPool<Node>;
  return pool;
}

thread_local Tape* current_tape = nullptr;
thread_local bool is_running_back = false;
std::atomic<std::uint64_t> next_run{1};

// Shape, type and device of x without its memory.
Tensor stand_in(const Tensor& x) {
  TensorImpl* impl = TensorImpl::make();
  impl->dtype = x.dtype();
  impl->device = x.impl()->device;
  impl->shape = x.shape();
  impl->set_contiguous_strides();
  return Tensor(impl);
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 0x100000001b3;
}

struct RunningGradient {
  explicit RunningGradient(const char* op) : outer(std::exchange(op_of_running_gradient(), op)) {}
  ~RunningGradient() { op_of_running_gradient() = outer; }
  RunningGradient(const RunningGradient&) = delete;
  RunningGradient& operator=(const RunningGradient&) = delete;
  const char* outer;
};

// Calls `visit` for the groups of the slots that a node adds to.
template <class Visit>
void each_group(const Node& node, const Visit& visit) {
  for (std::size_t i = 0; i < node.inputs; ++i) {
    const Destination& to = node.to[i];
    if (to.slot == nullptr || to.slot_life.expired() || to.slot->group == nullptr) continue;
    visit(*to.slot->group);
  }
  for (SlotGroup* group : node.groups) visit(*group);
}

struct RunningBack {
  RunningBack() : outer(std::exchange(is_running_back, true)) {}
  ~RunningBack() { is_running_back = outer; }
  RunningBack(const RunningBack&) = delete;
  RunningBack& operator=(const RunningBack&) = delete;
  const bool outer;
};

}  // namespace

SlotGroup::~SlotGroup() = default;

struct Tape::Impl {
  std::vector<Node*> nodes;
  std::vector<std::shared_ptr<void>> kept;
  std::uint64_t run = 0;
  std::uint64_t hash = 0xcbf29ce484222325;

  Node& node(std::uint32_t id) { return *nodes[id - 1]; }

  void drop() {
    for (Node* node : nodes) {
      if (node != nullptr) node_pool().destroy(node);
    }
    nodes.clear();
    kept.clear();
  }

  // The gradient that is collected for a tensor.
  Tensor& gradient_of(const Destination& to) {
    if (to.slot != nullptr && to.slot_life.expired()) {
      throw Error("backward: a parameter that the loss depends on is gone",
                  {.hint = "keep its ParameterStore until the tape has run back"});
    }
    if (to.slot == nullptr) return node(to.node).gradient[to.output];
    if (to.slot->group != nullptr && !to.slot->gradient.defined()) to.slot->group->open();
    return to.slot->gradient;
  }
};

struct Vjp::Impl {
  Tape::Impl& tape;
  Node& node;
};

// ---- Vjp

const Tensor& Vjp::grad_output(int i) const {
  return impl_.node.gradient[i];
}
const Tensor& Vjp::input(int i) const {
  return impl_.node.input[i];
}
const Tensor& Vjp::output(int i) const {
  return impl_.node.output[i];
}
const Tensor& Vjp::saved(int i) const {
  return impl_.node.kept[i];
}
const void* Vjp::attribute_bytes() const {
  return impl_.node.attributes;
}

bool Vjp::wants(int i) const {
  return static_cast<std::size_t>(i) < impl_.node.inputs && impl_.node.to[i].wanted();
}

void Vjp::add(int i, Tensor gradient) {
  if (!wants(i)) return;
  const Destination& to = impl_.node.to[i];
  Tensor& sum = impl_.tape.gradient_of(to);
  const bool first = to.slot != nullptr ? !to.slot->written : !sum.defined();
  const Tensor& input = impl_.node.input[i];
  if (!gradient.defined() || gradient.shape() != input.shape() ||
      gradient.dtype() != input.dtype() || gradient.impl()->device != input.impl()->device) {
    throw Error("[" + std::string(impl_.node.op->name) + "] the gradient of input " +
                std::to_string(i) + " is " + gradient.to_string() + ", not " + input.to_string());
  }
  if (first && to.slot == nullptr) {
    sum = detail::packed(gradient);
  } else if (first && !sum.defined()) {
    // A slot is added to in place, so it must not share its memory with another gradient.
    sum = Tensor::empty(gradient.device(), gradient.shape(), gradient.dtype());
    detail::copy_into(sum.mutable_view(), gradient);
  } else if (first) {
    detail::copy_into(sum.mutable_view(), gradient);
  } else if (to.slot != nullptr || exclusive(sum)) {
    detail::add_in_place(sum, gradient);
  } else {
    sum = detail::binary("add", TV_ADD, sum, gradient);
  }
  if (to.slot != nullptr) to.slot->written = true;
}

Vjp::Target Vjp::target(int i) {
  const Destination& to = impl_.node.to[i];
  Tensor& sum = impl_.tape.gradient_of(to);
  const bool first = to.slot != nullptr ? !to.slot->written : !sum.defined();
  if (!sum.defined()) {
    const Tensor& input = impl_.node.input[i];
    sum = Tensor::empty(input.device(), input.shape(), input.dtype());
  } else if (to.slot == nullptr && !exclusive(sum)) {
    const Tensor own = Tensor::empty(sum.device(), sum.shape(), sum.dtype());
    detail::copy_into(own.view(), sum);
    sum = own;
  }
  if (to.slot != nullptr) to.slot->written = true;
  return {sum, first ? 0.0F : 1.0F};
}

bool Vjp::may_overwrite_grad_output(int i) const {
  const Tensor& gradient = impl_.node.gradient[i];
  return gradient.defined() && gradient.contiguous() && exclusive(gradient);
}

// ---- Tape

Tape::Tape() : impl_(std::make_unique<Impl>()) {
  impl_->run = next_run++;
}
Tape::~Tape() {
  impl_->drop();
}

Tape* Tape::current() {
  return current_tape;
}
std::size_t Tape::size() const {
  return impl_->nodes.size();
}
std::uint64_t Tape::hash() const {
  return impl_->hash;
}

void Tape::keep(std::shared_ptr<void> object) {
  impl_->kept.push_back(std::move(object));
}

void Tape::clear() {
  impl_->drop();
  impl_->run = next_run++;
  impl_->hash = 0xcbf29ce484222325;
}

Tape::Recording::Recording(Tape& tape) : previous_(std::exchange(current_tape, &tape)) {}
Tape::Recording::~Recording() {
  current_tape = previous_;
}
NoGrad::NoGrad() : previous_(std::exchange(current_tape, nullptr)) {}
NoGrad::~NoGrad() {
  current_tape = previous_;
}

void Tape::backward(const Tensor& loss, const Tensor& seed) {
  const TensorImpl* impl = loss.impl();
  if (impl == nullptr || impl->tape != impl_->run || impl->node == 0) {
    throw Error("backward: the loss does not depend on any parameter on this tape",
                {.hint = "compute it while the tape is recording, and from a parameter"});
  }
  if (!seed.defined() && loss.size() != 1) {
    throw Error("backward: the loss has shape " + loss.shape().to_string() +
                    ", and only a scalar needs no seed",
                {.hint = "take its sum or mean"});
  }
  const bool fits =
      !seed.defined() || (seed.shape() == loss.shape() && seed.dtype() == loss.dtype() &&
                          seed.impl()->device == loss.impl()->device);
  if (!fits) {
    throw Error("backward: the seed is " + seed.to_string() + ", the loss " + loss.to_string());
  }
  // Of a tape inside of a gradient, only the tape around it knows what else adds to a slot.
  const RunningBack running_back;
  const bool completes = !running_back.outer;
  for (std::size_t i = completes ? impl_->nodes.size() : 0; i-- > 0;) {
    each_group(*impl_->nodes[i], [i](SlotGroup& group) { group.first_node_ = i; });
  }
  NoGrad no_grad;
  impl_->node(impl->node).gradient[impl->output] =
      seed.defined() ? detail::packed(seed) : Tensor::full(loss.device(), loss.shape(), 1);
  for (std::size_t i = impl_->nodes.size(); i-- > 0;) {
    Node* node = impl_->nodes[i];
    bool reached = false;
    for (std::size_t o = 0; o < node->outputs; ++o) {
      reached = reached || node->gradient[o].defined();
    }
    if (reached) {
      Vjp::Impl state{*impl_, *node};
      Vjp vjp(state);
      loss.device().impl().op = node->op->name;
      const RunningGradient running(node->op->name);
      const detail::ScopedProfile scope({.index = node->scope, .gradient = true});
      in_plugin(node->item, "gradient", "", [&] { node->op->vjp(vjp); });
    }
    if (completes) complete_groups(i);
    node_pool().destroy(std::exchange(impl_->nodes[i], nullptr));
  }
  clear();
}

void Tape::complete_groups(std::size_t index) {
  each_group(*impl_->nodes[index], [index](SlotGroup& group) {
    constexpr std::size_t kNone = ~std::size_t{0};
    if (group.first_node_ != index) return;
    group.first_node_ = kNone;
    group.complete();
  });
}

std::vector<SlotGroup*> Tape::slot_groups() const {
  std::vector<SlotGroup*> groups;
  for (const Node* node : impl_->nodes) {
    each_group(*node, [&](SlotGroup& group) {
      if (std::ranges::find(groups, &group) == groups.end()) groups.push_back(&group);
    });
  }
  return groups;
}

void Tape::add_slot_groups(const std::vector<SlotGroup*>& groups) {
  if (!impl_->nodes.empty()) impl_->nodes.back()->groups = groups;
}

void record(const OpDef& op, std::span<const Tensor> inputs, std::span<Tensor> outputs,
            std::span<const Tensor> saved, const void* attributes, std::size_t attribute_size) {
  if (current_tape == nullptr) return;
  bool needed = false;
  for (const Tensor& input : inputs) needed = needed || (input.defined() && input.requires_grad());
  if (!needed) return;
  if (inputs.size() > kMostInputs || outputs.size() > kMostOutputs || saved.size() > kMostSaved ||
      attribute_size > kMostAttributes) {
    throw Error("[" + std::string(op.name) + "] an op has at most 6 inputs, 4 outputs, 8 saved " +
                "tensors and 192 bytes of attributes");
  }
  Tape::Impl& tape = *current_tape->impl_;
  Node& node = *tape.nodes.emplace_back(node_pool().make());
  const auto id = static_cast<std::uint32_t>(tape.nodes.size());
  node.op = &op;
  const PluginCall* const call = PluginCall::current();
  node.item = call != nullptr ? &call->item() : nullptr;
  node.scope = detail::profile_scope().index;
  node.inputs = inputs.size();
  node.outputs = outputs.size();
  node.saved = saved.size();
  for (const char* c = op.name; *c != 0; ++c) {
    tape.hash = mixed(tape.hash, static_cast<unsigned char>(*c));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    const TensorImpl& impl = *inputs[i].impl();
    if (impl.slot != nullptr) {
      node.to[i].slot = impl.slot;
      node.to[i].slot_life = impl.slot_life;
    } else if (impl.tape == tape.run) {
      node.to[i] = {impl.node, impl.output};
    }
    node.input[i] = stand_in(inputs[i]);
    for (const std::int64_t extent : impl.shape) {
      tape.hash = mixed(tape.hash, static_cast<std::uint64_t>(extent));
    }
  }
  for (std::size_t i = 0; i < saved.size(); ++i) node.kept[i] = saved[i];
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!outputs[o].defined()) continue;
    TensorImpl& impl = *outputs[o].impl();
    impl.tape = tape.run;
    impl.node = id;
    impl.output = static_cast<std::uint32_t>(o);
    node.output[o] = stand_in(outputs[o]);
  }
  if (attribute_size > 0) std::memcpy(node.attributes, attributes, attribute_size);
}

Tensor make_leaf(const Tensor& x, GradientSlot& slot) {
  detail::expect_defined("make_leaf", "x", x);
  TensorImpl* impl = x.impl()->alias();
  impl->slot = &slot;
  impl->slot_life = slot.life.token();
  return Tensor(impl);
}

bool Tensor::requires_grad() const {
  if (current_tape == nullptr || impl_ == nullptr) return false;
  if (impl_->slot != nullptr) return true;
  return impl_->node != 0 && impl_->tape == current_tape->impl_->run;
}

}  // namespace trivet
