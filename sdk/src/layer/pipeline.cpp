// SPDX-License-Identifier: Apache-2.0
// The order of a pipeline is that of the tape: each process records what it receives, computes and
// sends, and its backward pass is the way back. A small tensor, the token, is handed from node to
// node, so that the backward pass comes to each of them.
//
// Of auxiliary losses values alone move. Each process computes the loss of the run from them, and
// so knows the gradients of its own layers' losses without an exchange.
#include "trivet/layer/pipeline.h"

#include <array>
#include <bit>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/op_support.h"
#include "tensor/axis_processes.h"
#include "tensor/device_impl.h"
#include "tensor/packing.h"
#include "tensor/tensor_impl.h"
#include "trivet/backend/process_group.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tensor/meta_device.h"

namespace trivet {
namespace {

using detail::AxisProcesses;
using Kind = AxisExchange::Kind;

// A process of the axis; without others on a meta device.
struct Peer {
  AxisProcesses* processes = nullptr;
  int rank = 0;
  bool is_self = false;
};

void send(const Peer& to, const Tensor& x) {
  detail::count_exchange(Kind::send, x);
  if (to.processes != nullptr) to.processes->send(x, to.rank);
}

Tensor received(const Peer& from, Device& device, const Shape& shape, DType dtype) {
  Tensor x = Tensor::empty(device, shape, dtype);
  if (from.processes != nullptr) from.processes->receive(x, from.rank);
  return x;
}

// x of the root process, or zeros if it is undefined there.
Tensor of_all(const Peer& root, const Tensor& x, Device& device, const Shape& shape, DType dtype) {
  Tensor whole = !root.is_self ? Tensor::empty(device, shape, dtype)
                 : x.defined() ? detail::packed(x)
                               : Tensor::zeros(device, shape, dtype);
  if (root.is_self) detail::count_exchange(Kind::broadcast, whole);
  if (root.processes != nullptr) root.processes->broadcast(whole, root.rank);
  return whole;
}

Tensor new_token(Device& device) {
  return Tensor::zeros(device, {1});
}

// The gradient of x is known where the first stage is.
void enter_vjp(Vjp& v) {
  if (!v.wants(0)) return;
  const auto& first = v.attributes<Peer>();
  const Tensor& x = v.input(0);
  v.add(0, of_all(first, v.grad_output(0), x.device(), x.shape(), x.dtype()));
}
constexpr OpDef kEnter{"pipeline_enter", enter_vjp};

void send_vjp(Vjp& v) {
  const Tensor& x = v.input(0);
  Tensor gradient = received(v.attributes<Peer>(), x.device(), x.shape(), x.dtype());
  if (v.wants(0)) v.add(0, std::move(gradient));
  v.add(1, new_token(x.device()));
}
constexpr OpDef kSend{"pipeline_send", send_vjp};

void receive_vjp(Vjp& v) {
  const Tensor& y = v.output(0);
  const Tensor& gradient = v.grad_output(0);
  send(v.attributes<Peer>(),
       gradient.defined() ? gradient : Tensor::zeros(y.device(), y.shape(), y.dtype()));
  v.add(0, new_token(y.device()));
}
constexpr OpDef kReceive{"pipeline_receive", receive_vjp};

// The second input is what the process of the last stage has.
void leave_vjp(Vjp& v) {
  v.add(0, new_token(v.output(0).device()));
  if (v.attributes<bool>() && v.wants(1)) v.add(1, v.grad_output(0));
}
constexpr OpDef kLeave{"pipeline_leave", leave_vjp};

// What this process exchanges with the others of an axis that they share.
class Link {
 public:
  Link(const Tensor& x, const MeshAxis& stages)
      : device_(x.device()),
        shape_(x.shape()),
        dtype_(x.dtype()),
        processes_(stages.processes().get()) {
    const auto ranks = static_cast<int>(stages.extent() / stages.count());
    const auto rank = static_cast<int>(stages.first() / stages.count());
    first_ = {processes_, 0, rank == 0};
    last_ = {processes_, ranks - 1, rank == ranks - 1};
    before_ = {processes_, (rank + ranks - 1) % ranks};
    after_ = {processes_, (rank + 1) % ranks};
    if (Tape* tape = Tape::current(); tape != nullptr) tape->keep(stages.processes());
  }

  // x, whose gradient becomes that of the first stage in all processes.
  // A weight in parts is copied: later the first stage alone reads it.
  Tensor enter(const Tensor& x) {
    std::array<Tensor, 2> outputs{Tensor(x.impl()->alias()), new_token(device_)};
    if (x.impl()->storage != nullptr && x.impl()->storage->on_demand) {
      outputs[0] = Tensor::empty(device_, x.shape(), x.dtype());
      detail::copy_into(outputs[0].mutable_view(), x);
    }
    record(kEnter, std::array{x, detail::anchor(x)}, outputs, {}, &first_, sizeof first_);
    token_ = std::move(outputs[1]);
    return std::move(outputs[0]);
  }
  void send_on(const Tensor& y) {
    send(after_, y);
    Tensor token = new_token(device_);
    record(kSend, {y, token_}, token, {}, after_);
    token_ = std::move(token);
  }
  Tensor receive(const Shape& shape) {
    std::array<Tensor, 2> outputs{received(before_, device_, shape, dtype_), new_token(device_)};
    record(kReceive, std::array{token_}, outputs, {}, &before_, sizeof before_);
    token_ = std::move(outputs[1]);
    return std::move(outputs[0]);
  }
  // y of the process of the last stage, in all of them.
  Tensor leave(const Tensor& y) {
    Tensor result = of_all(last_, y, device_, shape_, dtype_);
    if (result.same_as(y)) result = Tensor(y.impl()->alias());
    record(kLeave, {token_, last_.is_self ? y : token_}, result, {}, last_.is_self);
    return result;
  }

 private:
  Device& device_;
  Shape shape_;
  DType dtype_;
  AxisProcesses* processes_;
  Peer first_, last_, before_, after_;
  Tensor token_;
};

class InStage {
 public:
  explicit InStage(Device& device) : device_(device) { device.impl().is_in_stage = true; }
  ~InStage() { device_.impl().is_in_stage = false; }
  InStage(const InStage&) = delete;
  InStage& operator=(const InStage&) = delete;

 private:
  Device& device_;
};

void check(const Tensor& x, const MeshAxis& stages, const PipelineShape& shape) {
  const std::int64_t parts = shape.num_microbatches;
  if (parts < 1 || shape.circular_repeat < 1 || x.rank() == 0 || x.dim(0) % parts != 0) {
    detail::wrong("pipeline", "a batch of a multiple of " + std::to_string(parts) + " examples",
                  x.shape().to_string());
  }
  if (stages.is_shared() && stages.processes() == nullptr && !is_meta(x.device())) {
    detail::wrong("pipeline", "all stages, or the processes that have the others",
                  std::to_string(stages.count()) + " of " + std::to_string(stages.extent()));
  }
}

using Losses = std::map<std::string, Tensor>;

// Of this process: the means over the micro-batches, added from the first one on.
Losses means_of(std::span<const NestedMap> own) {
  Losses means;
  for (const NestedMap& microbatch : own) {
    for (const auto& [name, loss] : microbatch) {
      if (loss.dtype() != DType::f32 || loss.size() != 1) {
        detail::wrong("pipeline_losses", "a scalar f32 as the loss '" + name + "'",
                      loss.shape().to_string());
      }
      Tensor& sum = means[name];
      sum = sum.defined() ? ops::add(sum, loss) : loss;
    }
  }
  for (auto& [name, sum] : means) sum = ops::mul(sum, 1 / static_cast<float>(own.size()));
  return means;
}

// Each name is followed by a zero and the bytes of the value.
using Bytes = std::array<char, sizeof(float)>;

std::string text_of(const Losses& losses) {
  std::string text;
  for (const auto& [name, loss] : losses) {
    const auto bytes = std::bit_cast<Bytes>(loss.item());
    text.append(name).append(1, '\0').append(bytes.data(), bytes.size());
  }
  return text;
}

std::map<std::string, float> losses_of(std::string_view text) {
  std::map<std::string, float> losses;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    Bytes bytes{};
    text.copy(bytes.data(), bytes.size(), end + 1);
    losses[std::string(text.substr(0, end))] = std::bit_cast<float>(bytes);
    text.remove_prefix(end + 1 + bytes.size());
  }
  return losses;
}

void add_others(Losses& own, const MeshAxis& stages, Device& device) {
  detail::count_number(device);
  if (!own.empty()) detail::count_number(device);
  if (stages.processes() == nullptr) return;
  ProcessGroup& group = stages.processes()->group();
  const std::vector<std::string> all = all_gather_text(group, text_of(own));
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank == group.rank()) continue;
    for (const auto& [name, value] : losses_of(all[static_cast<std::size_t>(rank)])) {
      if (own.try_emplace(name, Tensor::scalar(device, value)).second) continue;
      throw Error("two layers of a pipeline have the auxiliary loss '" + name + "'",
                  {.hint = "name the loss by the path of its layer"});
    }
  }
}

}  // namespace

Tensor pipeline(const Tensor& x, const MeshAxis& stages, const PipelineShape& shape,
                const PipelinePart& part) {
  detail::expect_defined("pipeline", "x", x);
  check(x, stages, shape);
  x.device().impl().pipeline = {stages.extent(), shape.num_microbatches, shape.circular_repeat};
  const std::int64_t last_stage = stages.extent() - 1, first = stages.first();
  const std::int64_t end = first + stages.count();
  const auto microbatches = static_cast<std::size_t>(shape.num_microbatches);
  std::optional<Link> link;
  if (stages.is_shared()) link.emplace(x, stages);
  const Tensor entered = link ? link->enter(x) : x;
  Shape rows = x.shape();
  rows.set(0, x.dim(0) / shape.num_microbatches);
  // Of each micro-batch, in the process of the first stage and then in that of the last one.
  std::vector<Tensor> batches(microbatches);
  if (first == 0) batches = ops::split(entered, 0, static_cast<int>(shape.num_microbatches));
  for (std::int64_t repeat = 0; repeat < shape.circular_repeat; ++repeat) {
    const bool is_last = repeat + 1 == shape.circular_repeat;
    for (std::size_t m = 0; m < microbatches; ++m) {
      const bool is_here = first == 0 && (repeat == 0 || !link);
      Tensor y = is_here ? std::move(batches[m]) : link->receive(rows);
      for (std::int64_t stage = first; stage < end; ++stage) {
        const InStage in_stage(x.device());
        const double before = x.device().flop_count().model_flops;
        y = part(y, repeat * stages.extent() + stage, static_cast<std::int64_t>(m));
        x.device().impl().pipeline_flops += x.device().flop_count().model_flops - before;
        if (y.shape() == rows && y.dtype() == x.dtype()) continue;
        detail::wrong("pipeline", rows.to_string() + " from each part", y.to_string());
      }
      if (link && !(end > last_stage && is_last)) {
        link->send_on(y);
      } else {
        batches[m] = std::move(y);
      }
    }
  }
  const Tensor whole = end > last_stage ? ops::concat(batches, 0) : Tensor();
  return link ? link->leave(whole) : whole;
}

NestedMap pipeline_losses(std::span<const NestedMap> own, const MeshAxis& stages, Device& device) {
  Losses losses = means_of(own);
  if (stages.is_shared()) add_others(losses, stages, device);
  NestedMap all;
  for (auto& [name, loss] : losses) all.set(name, std::move(loss));
  return all;
}

std::optional<PipelineUse> take_pipeline(Device& device) {
  const auto [stages, microbatches, repeat] = std::exchange(device.impl().pipeline, {});
  const double flops = std::exchange(device.impl().pipeline_flops, 0);
  if (stages == 0) return std::nullopt;
  return PipelineUse{stages, {.num_microbatches = microbatches, .circular_repeat = repeat}, flops};
}

}  // namespace trivet
