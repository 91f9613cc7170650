// SPDX-License-Identifier: Apache-2.0
#include "trivet/layer/remat.h"

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "ops/op_support.h"
#include "ops/saved_activations.h"

namespace trivet {
namespace {

// What a node on the tape refers to; the tape keeps it.
struct Again {
  explicit Again(const RematKeeps& keeps) : kept(keeps) {}
  Rematerialized fn;
  std::vector<Tensor> inputs;
  detail::SavedActivations kept;
};

// One leaf per input that wants a gradient, on the memory where the tape collects it: so sums are
// formed in the order in which they would be without rematerialization.
class Leaves {
 public:
  Leaves(Vjp& vjp, const std::vector<Tensor>& inputs) : inputs_(inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const int at = static_cast<int>(i);
      if (!vjp.wants(at)) continue;
      const Vjp::Target target = vjp.target(at);
      slots_[i] = {target.gradient, target.beta != 0};
      inputs_[i] = make_leaf(inputs[i], slots_[i]);
    }
  }
  ~Leaves() {
    for (GradientSlot& slot : slots_) {
      if (slot.gradient.defined() && !slot.written) detail::fill(slot.gradient, 0);
    }
  }
  Leaves(const Leaves&) = delete;
  Leaves& operator=(const Leaves&) = delete;

  std::span<const Tensor> tensors() const { return inputs_; }

 private:
  std::array<GradientSlot, 5> slots_;
  std::vector<Tensor> inputs_;
};

// What fn gives, on the current tape also where an output is an input or a parameter itself.
std::vector<Tensor> outputs_of(const Rematerialized& fn, std::span<const Tensor> inputs,
                               RematPass pass) {
  std::vector<Tensor> outputs = fn(inputs, pass);
  for (Tensor& output : outputs) {
    if (output.impl()->slot != nullptr) output = ops::reshape(output, output.shape());
  }
  return outputs;
}

// Runs back from the outputs that something flowed to.
void backward(Vjp& v, Tape& tape, const std::vector<Tensor>& outputs) {
  Tensor loss, seed;
  {
    Tape::Recording recording(tape);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Tensor& gradient = v.grad_output(static_cast<int>(i));
      if (!gradient.defined() || !outputs[i].requires_grad()) continue;
      if (!loss.defined()) {
        loss = outputs[i];
        seed = gradient;
        continue;
      }
      // The gradient of this sum is 1 times that of each output, which changes no bit.
      if (seed.defined()) loss = ops::sum(ops::mul(loss, std::exchange(seed, {})));
      loss = ops::add(loss, ops::sum(ops::mul(outputs[i], gradient)));
    }
  }
  if (loss.defined()) tape.backward(loss, seed);
}

void remat_vjp(Vjp& v) {
  Again& again = *v.attributes<Again*>();
  Device& device = again.inputs.front().device();
  const FlopCount flops = device.flop_count();
  {
    const Leaves leaves(v, again.inputs);
    Tape tape;
    std::vector<Tensor> outputs;
    {
      Tape::Recording recording(tape);
      const detail::SavingActivations keeping(&again.kept, detail::SavingActivations::Run::again);
      outputs = outputs_of(again.fn, leaves.tensors(), RematPass::backward);
    }
    backward(v, tape, outputs);
  }
  device.set_flop_count(flops);
  again = Again(RematKeeps{});
}
constexpr OpDef kRemat{"remat", remat_vjp};

// What fn gives now, and whether any of it needs a gradient.
struct FirstRun {
  std::vector<Tensor> outputs;
  bool needed = false;
  std::vector<SlotGroup*> groups{};  // of the parameters
};

FirstRun first_run(const Rematerialized& fn, std::span<const Tensor> inputs,
                   detail::SavedActivations& kept) {
  // On a tape that is dropped at once: layers then do, and count, what they do in training.
  Tape tape;
  std::array<GradientSlot, 5> slots;
  std::vector<Tensor> leaves(inputs.begin(), inputs.end());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].requires_grad()) leaves[i] = make_leaf(inputs[i], slots[i]);
  }
  Tape::Recording recording(tape);
  const detail::SavingActivations keeping(&kept, detail::SavingActivations::Run::first);
  FirstRun run{.outputs = outputs_of(fn, leaves, RematPass::forward)};
  run.groups = tape.slot_groups();
  for (Tensor& output : run.outputs) {
    run.needed = run.needed || output.requires_grad();
    output = Tensor(output.impl()->alias());
  }
  return run;
}

// As remat() below. `labels` are what fn leaves beside its outputs.
std::vector<Tensor> rematerialized(Rematerialized fn, std::span<const Tensor> inputs,
                                   const RematKeeps& keeps, std::vector<std::string>& labels) {
  if (Tape::current() == nullptr) return fn(inputs, RematPass::forward);
  if (inputs.empty() || inputs.size() > 5) {
    throw Error("[remat] expected 1 to 5 inputs, got " + std::to_string(inputs.size()));
  }
  auto again = std::make_shared<Again>(keeps);
  constexpr detail::KeptOp kOp{"remat", detail::KeptOp::Kind::function,
                               detail::KeptOp::OnTape::yes};
  std::vector<Tensor> outputs = detail::SavingActivations::known(kOp, &labels);
  std::vector<SlotGroup*> groups;
  if (outputs.empty()) {
    FirstRun run = first_run(fn, inputs, again->kept);
    outputs = std::move(run.outputs);
    groups = std::move(run.groups);
    detail::SavingActivations::keep(kOp, run.needed ? outputs : std::vector<Tensor>(), labels);
    if (!run.needed) return outputs;
  }
  again->fn = std::move(fn);
  again->inputs.assign(inputs.begin(), inputs.end());
  std::vector<Tensor> all(inputs.begin(), inputs.end());
  all.push_back(detail::anchor(inputs.front()));  // a function may have parameters alone
  Again* raw = again.get();
  record(kRemat, all, outputs, {}, &raw, sizeof raw);
  Tape::current()->add_slot_groups(groups);
  Tape::current()->keep(std::move(again));
  return outputs;
}

}  // namespace

std::vector<Tensor> remat(Rematerialized fn, std::span<const Tensor> inputs,
                          const RematKeeps& keeps) {
  std::vector<std::string> labels;
  return rematerialized(std::move(fn), inputs, keeps, labels);
}

Tensor remat(RematerializedLosses fn, std::span<const Tensor> inputs, NestedMap& losses,
             const RematKeeps& keeps) {
  const auto names = std::make_shared<std::vector<std::string>>();
  const auto run = [fn = std::move(fn), names](std::span<const Tensor> of, RematPass pass) {
    NestedMap inside;
    std::vector<Tensor> results{fn(of, pass, inside)}, values;
    names->clear();
    for (const auto& [name, loss] : inside) {
      names->push_back(name);
      values.push_back(ops::reshape(loss, {1}));
    }
    if (!values.empty()) results.push_back(ops::concat(values, 0));
    return results;
  };
  const std::vector<Tensor> outputs = rematerialized(run, inputs, keeps, *names);
  for (std::size_t i = 0; i < names->size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    losses.set((*names)[i], ops::reshape(ops::slice(outputs[1], 0, at, at + 1), {}));
  }
  return outputs[0];
}

Tensor remat(Layer& layer, const Tensor& x, FpropContext& context, const RematKeeps& keeps) {
  if (Tape::current() == nullptr) return layer.fprop(x, context);
  FpropContext later = context;
  later.aux_losses = {};
  later.summaries = {};
  later.recomputing = true;
  FpropContext* now = &context;
  const auto fn = [&layer, later, now](std::span<const Tensor> inputs, RematPass pass,
                                       NestedMap& losses) {
    FpropContext inside = later;
    if (inputs.size() > 1) inside.cross_inputs = inputs[1];
    const bool is_first = pass == RematPass::forward;
    if (is_first) {
      inside.recomputing = now->recomputing;
      std::swap(inside.summaries, now->summaries);
    }
    Tensor y = layer.fprop(inputs[0], inside);
    if (is_first) std::swap(inside.summaries, now->summaries);
    losses = std::move(inside.aux_losses);
    return y;
  };
  std::vector<Tensor> inputs{x};
  if (context.cross_inputs.defined()) inputs.push_back(context.cross_inputs);
  return remat(fn, inputs, context.aux_losses, keeps);
}

}  // namespace trivet
