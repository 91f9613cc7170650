// SPDX-License-Identifier: Apache-2.0
// ParameterStore: the flat blocks behind a model's parameters.
//
// Every parameter starts at a multiple of 16 floats (64 bytes) of its block, so a product may read
// it with aligned loads and one optimizer call may run over all of the block. The gaps hold zeros
// in values, gradients and slots, and stay zero: an update of (0, 0) is 0 for every optimizer.
#include "trivet/layer/parameter_store.h"

#include <algorithm>
#include <span>
#include <vector>

#include "layer/block_plan.h"
#include "layer/block_units.h"
#include "layer/block_weights.h"
#include "layer/gradient_parts.h"
#include "layer/orthogonal.h"
#include "layer/shared_layers.h"
#include "layer/weight_parts.h"
#include "tensor/axis_processes.h"
#include "trivet/backend/process_group.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/error.h"
#include "trivet/layer.h"
#include "trivet/layer/row_share.h"
#include "trivet/ops.h"
#include "trivet/tensor/meta_device.h"
#include "trivet/tensor/tensor_part.h"

namespace trivet {
namespace {

// The part of a block that belongs to one parameter, with its shape.
Tensor part_of(const Tensor& block, std::int64_t offset, const Shape& shape) {
  return ops::reshape(ops::slice(block, 0, offset, offset + shape.size()), shape);
}

}  // namespace

const Tensor& Parameter::value() const {
  if (!value_.defined()) {
    throw Error("the value of '" + path_ + "' was asked for before the model was built",
                {.hint = "constructors may use shapes only"});
  }
  if (detail::BlockWeights* blocks = detail::BlockWeights::current()) {
    return blocks->of(*this, value_);
  }
  return value_;
}

void Parameter::assign(const Tensor& value) {
  if (detail::BlockWeights::current() != nullptr) {
    throw Error("the value of '" + path_ + "' was changed in a block of positions",
                {.hint = "use layers without running statistics, or a mesh without seq"});
  }
  Tensor mine = this->value();
  if (!(value.shape() == shape_) || value.dtype() != mine.dtype()) {
    throw Error("'" + path_ + "' is " + mine.to_string() + " and was given " + value.to_string());
  }
  Device& device = mine.device();
  const bool is_here = !value.on_host() && &value.device() == &device;
  if (!is_here || is_in_parts_) return mine.assign_bytes(value.to_bytes());
  const tv_view from = value.view();
  const tv_view to = mine.mutable_view();
  device.call("copy", &tv_backend::copy, &to, &from);
}

ParameterStore::ParameterStore(Device& device, RngKey key)
    : device_(device), key_(key), shared_(std::make_unique<Shared>()) {}

ParameterStore::~ParameterStore() = default;

Parameter& ParameterStore::add(std::string path, const Shape& shape,
                               const ParameterOptions& options) {
  if (built_) throw Error("parameter '" + path + "' was added after the model was built");
  if (find(path) != nullptr) {
    throw Error("there is already a parameter '" + path + "'",
                {.hint = "names must differ within a layer"});
  }
  const InitConfig& init =
      options.init.method == Init::layer_default ? options.fallback : options.init;
  check_orthogonal(init.method, "'" + path + "' of shape ", shape, options.fan_in);
  auto parameter = std::make_unique<Parameter>();
  parameter->path_ = std::move(path);
  parameter->shape_ = shape;
  parameter->trainable_ = options.trainable;
  parameter->init_ = init;
  parameter->fan_in_ = options.fan_in;
  parameter->fan_out_ = options.fan_out;
  parameter->blocks_ = options.blocks;
  parameter->rows_apart_ = options.rows_apart;
  by_path_.emplace(parameter->path_, parameter.get());
  parameters_.push_back(std::move(parameter));
  return *parameters_.back();
}

void ParameterStore::freeze(Parameter& parameter) {
  if (built_) throw Error("'" + parameter.path_ + "' was frozen after the model was built");
  // A state remains one that steps change.
  parameter.is_frozen_ = parameter.is_frozen_ || parameter.trainable_;
  parameter.trainable_ = false;
}

void ParameterStore::build() {
  lay_out(detail::plan_block(detail::variables_of(*this), MeshShards(),
                             detail::BlockPlan::Units::one, Pieces::elements));
  allocate(nullptr, Gradients::whole);
}

void ParameterStore::build_to_load() {
  lay_out(detail::plan_block(detail::variables_of(*this), MeshShards(),
                             detail::BlockPlan::Units::one, Pieces::elements));
  const NoGrad no_grad;
  trainable_values_ = Tensor::empty(device_, {trainable_size_});
  built_ = true;
  for (const auto& parameter : parameters_) attach(*parameter);
}

void ParameterStore::build(const MeshShards& shards, Pieces pieces) {
  const detail::BlockPlan plan = detail::plan_block(detail::variables_of(*this), shards,
                                                    detail::BlockPlan::Units::one, pieces);
  lay_out(plan);
  unit_parts_ = plan.parts;
  allocate(nullptr, Gradients::whole);
}

void ParameterStore::build_in_parts(const MeshShards& shards, Gradients gradients, Pieces pieces,
                                    Keeps keeps) {
  const detail::BlockPlan plan = detail::plan_block(detail::variables_of(*this), shards,
                                                    detail::BlockPlan::Units::several, pieces);
  lay_out(plan);
  unit_parts_ = plan.parts;
  is_for_parts_ = true;
  keeps_all_ = keeps == Keeps::all;
  const bool is_shared = shards.all() != nullptr || is_meta(device_);
  allocate(is_shared ? &shards : nullptr, gradients);
}

// Where each parameter lies in its block.
void ParameterStore::lay_out(const detail::BlockPlan& plan) {
  if (built_) throw Error("the model was built already");
  std::size_t next = 0;
  for (const auto& parameter : parameters_) {
    if (!parameter->trainable_) continue;
    parameter->offset_ = plan.offsets[next++];
    trainable_size_ += detail::padded(parameter->shape_.size());
  }
  std::int64_t end = 0, running = 0;
  for (const bool are_frozen : {false, true}) {
    running = end;
    for (const auto& parameter : parameters_) {
      if (parameter->trainable_ || parameter->is_frozen_ != are_frozen) continue;
      parameter->offset_ = end;
      end += detail::padded(parameter->shape_.size());
    }
  }
  const NoGrad no_grad;
  states_ = Tensor::zeros(device_, {end});
  running_states_ = detail::part_of(states_, 0, running);
}

void ParameterStore::allocate(const MeshShards* in_parts, Gradients gradients) {
  const NoGrad no_grad;
  if (in_parts != nullptr) {
    const Keeps keeps = keeps_all_ ? Keeps::all : Keeps::own_parts;
    parts_ = std::make_unique<detail::WeightParts>(device_, *in_parts, unit_parts_, keeps);
  } else {
    trainable_values_ = Tensor::zeros(device_, {trainable_size_});
  }
  if (parts_ != nullptr && gradients == Gradients::in_parts) {
    share_rows(*in_parts);
    make_gradient_parts(*in_parts);
  } else {
    trainable_gradients_ = Tensor::zeros(device_, {trainable_size_});
  }
  built_ = true;
  for (const auto& parameter : parameters_) {
    if (!is_meta(device_) && has_some_of(*parameter)) draw(*parameter);
    attach(*parameter);
  }
}

bool ParameterStore::has_whole_variables() const {
  return unit_parts_ != nullptr && unit_parts_->has_whole_variables();
}

// Of the weights that are a unit of whose rows each process has as many, and several: backends may
// compute a batch of one product in another way than others.
void ParameterStore::share_rows(const MeshShards& shards) {
  const std::int64_t processes = shards.peers();
  if (processes == 1 || keeps_all_ || unit_parts_->has_whole_variables()) return;
  const detail::BlockUnits& units = unit_parts_->units();
  const detail::OwnParts& own = parts_->parts();
  std::vector<std::size_t> apart;
  for (const auto& parameter : parameters_) {
    const std::int64_t elements = parameter->shape_.size();
    if (!parameter->trainable_ || !parameter->rows_apart_ || parameter->shape_.rank() == 0 ||
        parameter->shape_[0] % processes != 0 || parameter->shape_[0] == processes ||
        elements == 0) {
      continue;
    }
    // On a meta device the process has all of it.
    const std::size_t unit = units.unit_at(parameter->offset_);
    const std::int64_t part = elements / processes;
    if (part % detail::padded(1) != 0 || units[unit].size() != elements) continue;
    if (!is_meta(device_) && own.part(unit).range.size() != part) continue;
    Shape shape = parameter->shape_;
    shape.set(0, shape[0] / processes);
    const std::int64_t position = own.part(unit).position;
    if (row_share_ == nullptr) row_share_.reset(new RowShare(shards, processes));
    parameter->rows_ = std::make_shared<detail::RowLeaves>(
        *row_share_, *parts_,
        ops::reshape(detail::part_of(parts_->own(), position, position + part), shape), processes);
    apart.push_back(unit);
  }
  parts_->read_in_parts(apart);
}

void ParameterStore::make_gradient_parts(const MeshShards& shards) {
  if (shards.count() != 1) throw Error("a process of several shards has their gradients whole");
  std::vector<detail::GradientParts::Variable> variables;
  for (const auto& parameter : parameters_) {
    if (!parameter->trainable_) continue;
    variables.push_back({.path = parameter->path_,
                         .offset = parameter->offset_,
                         .shape = parameter->shape_,
                         .slot = &parameter->slot_,
                         .rows = parameter->rows_.get()});
  }
  std::ranges::stable_sort(variables, {}, &detail::GradientParts::Variable::offset);
  gradient_parts_ = std::make_unique<detail::GradientParts>(device_, shards, parts_->parts(),
                                                            std::move(variables));
}

Tensor ParameterStore::memory_of(const Parameter& parameter) const {
  if (!parameter.trainable_ || parts_ == nullptr) {
    const Tensor& block = parameter.trainable_ ? trainable_values_ : states_;
    return part_of(block, parameter.offset_, parameter.shape_);
  }
  const detail::BlockUnits& units = unit_parts_->units();
  const std::size_t unit = units.unit_at(parameter.offset_);
  const std::int64_t position = parameter.offset_ - units[unit].begin;
  return part_of(parts_->whole(unit), position, parameter.shape_);
}

// Elsewhere the value need not be drawn.
bool ParameterStore::has_some_of(const Parameter& parameter) const {
  if (!parameter.trainable_ || !is_in_parts()) return true;
  const std::int64_t end = parameter.offset_ + parameter.shape_.size();
  return parts_->parts().overlap({parameter.offset_, end}).range.size() > 0;
}

void ParameterStore::draw(const Parameter& parameter) const {
  constexpr std::int64_t kPiece = 1 << 14;
  Tensor value = memory_of(parameter);
  const RngKey key = key_.fold("params").fold(parameter.path_);
  const bool is_in_place = device_.host_visible() && !(parameter.trainable_ && parts_ != nullptr);
  std::vector<float> copy(is_in_place ? 0 : static_cast<std::size_t>(value.size()));
  const std::span<float> all = is_in_place ? value.mutable_span<float>() : std::span(copy);
  const auto draw_part = [&](std::int64_t begin, std::int64_t end, std::int32_t) {
    initialize(parameter.init_, key, parameter.shape_, parameter.fan_in_, parameter.fan_out_,
               all.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)),
               begin);
  };
  if (is_drawn_in_parts(parameter.init_.method) && std::ssize(all) > kPiece) {
    device_.pool().parallel_for(std::ssize(all), kPiece, draw_part);
  } else {
    draw_part(0, std::ssize(all), 0);
  }
  if (!is_in_place) value.assign_bytes(std::as_bytes(all));
}

void ParameterStore::attach(Parameter& parameter) {
  Tensor value = memory_of(parameter);
  parameter.is_in_parts_ = parameter.trainable_ && parts_ != nullptr;
  if (!parameter.trainable_) {
    parameter.value_ = std::move(value);
    return;
  }
  if (trainable_gradients_.defined()) {
    parameter.slot_.gradient = part_of(trainable_gradients_, parameter.offset_, parameter.shape_);
  }
  parameter.value_ = make_leaf(value, parameter.slot_);
}

Parameter* ParameterStore::find(std::string_view path) const {
  const auto found = by_path_.find(path);
  return found == by_path_.end() ? nullptr : found->second;
}

std::vector<TensorPart> ParameterStore::value_parts() const {
  const NoGrad no_grad;
  std::vector<TensorPart> parts;
  for (const auto& parameter : parameters_) {
    TensorPart& part = parts.emplace_back(
        TensorPart{.name = parameter->path_, .shape = parameter->shape_, .values = {}});
    if (!parameter->is_in_parts_ || parameter->shape_.size() == 0) {
      part.values = parameter->value_;
      continue;
    }
    const std::int64_t begin = parameter->offset_, end = begin + parameter->shape_.size();
    const detail::OwnParts::Overlap own = parts_->parts().overlap({begin, end});
    part.values = detail::part_of(parts_->own(), own.position, own.end());
    part.begin = own.range.size() > 0 ? own.range.begin - begin : 0;
    part.is_shared = true;
  }
  return parts;
}

std::int64_t ParameterStore::trainable_count() const {
  std::int64_t n = 0;
  for (const auto& parameter : parameters_) {
    if (parameter->trainable_) n += parameter->shape_.size();
  }
  return n;
}

std::int64_t ParameterStore::count() const {
  std::int64_t n = 0;
  for (const auto& parameter : parameters_) n += parameter->shape_.size();
  return n;
}

void ParameterStore::begin_gradients() {
  for (const auto& parameter : parameters_) parameter->slot_.written = false;
  if (gradient_parts_ != nullptr) gradient_parts_->begin();
}

void ParameterStore::end_gradients() {
  for (const auto& parameter : parameters_) {
    GradientSlot& slot = parameter->slot_;
    if (parameter->rows_ != nullptr && parameter->rows_->have_gradient()) slot.written = true;
    parameter->has_gradient_ = slot.written;
    if (!parameter->trainable_ || slot.written || gradient_parts_ != nullptr) continue;
    const tv_view view = slot.gradient.mutable_view();
    device_.call("fill", &tv_backend::fill, &view, 0);
    slot.written = true;
  }
}

void ParameterStore::share_stages(Tensor& gradients) {
  if (!stages_.is_shared()) return;
  const std::int64_t own = stages_.first() / stages_.count();
  std::vector<const Parameter*> of_stages;
  for (const auto& parameter : parameters_) {
    const bool is_of_stage = parameter->stage_ != Parameter::kEveryStage;
    if (parameter->trainable_ && is_of_stage) of_stages.push_back(parameter.get());
  }
  std::ranges::sort(of_stages, {}, &Parameter::offset_);
  const auto end_of = [](const Parameter& p) {
    return p.offset_ + detail::padded(p.shape_.size());
  };
  for (std::size_t first = 0, last = 0; first < of_stages.size(); first = last + 1) {
    const Parameter& start = *of_stages[first];
    for (last = first; last + 1 < of_stages.size() && of_stages[last + 1]->stage_ == start.stage_ &&
                       of_stages[last + 1]->offset_ == end_of(*of_stages[last]);) {
      ++last;
    }
    Tensor range = detail::part_of(gradients, start.offset_, end_of(*of_stages[last]));
    const std::int64_t root = start.stage_ / stages_.count();
    if (root == own) detail::count_exchange(AxisExchange::Kind::broadcast, range);
    detail::AxisProcesses* const processes = stages_.processes().get();  // null on a meta device
    if (processes != nullptr) processes->broadcast(range, static_cast<int>(root));
  }
  share_has_gradient();
}

void ParameterStore::share_has_gradient() {
  if (!stages_.is_shared() || stages_.processes() == nullptr) return;
  const std::size_t count = parameters_.size();
  std::vector<std::uint8_t> flags(count),
      all(count * static_cast<std::size_t>(stages_.extent() / stages_.count()));
  for (std::size_t i = 0; i < count; ++i) flags[i] = parameters_[i]->has_gradient_ ? 1 : 0;
  stages_.processes()->group().all_gather(std::as_bytes(std::span(flags)),
                                          std::as_writable_bytes(std::span(all)));
  for (std::size_t i = 0; i < count; ++i) {
    Parameter& parameter = *parameters_[i];
    if (parameter.stage_ == Parameter::kEveryStage) continue;
    const auto root = static_cast<std::size_t>(parameter.stage_ / stages_.count());
    parameter.has_gradient_ = all[root * count + i] != 0;
  }
}

Tensor& ParameterStore::trainable_values() {
  if (parts_ != nullptr) throw Error("this process has a part of the weights, and no block of all");
  return trainable_values_;
}
std::int64_t ParameterStore::trainable_size() const {
  return trainable_size_;
}
Tensor& ParameterStore::trainable_gradients() {
  if (gradient_parts_ != nullptr) {
    throw Error("this process has a part of the gradients, and no block of all");
  }
  if (!trainable_gradients_.defined()) {
    throw Error("these weights have no gradients: they were built to be loaded");
  }
  return trainable_gradients_;
}
Tensor& ParameterStore::states() {
  return states_;
}

void ParameterStore::check_reads() const {
  if (parts_ == nullptr) return;
  parts_->end_gathers();
  parts_->check_orders();
}

ParameterStore::Whole::Whole(ParameterStore& store)
    : parts_(store.is_in_parts() ? store.parts() : nullptr) {
  if (parts_ != nullptr) parts_->hold();
}

ParameterStore::Whole::~Whole() {
  if (parts_ != nullptr) parts_->release();
}

ParameterStore::ReadAlike::ReadAlike(ParameterStore& store)
    : parts_(store.is_in_parts() ? store.parts() : nullptr) {
  if (parts_ != nullptr) parts_->begin_alike();
}

ParameterStore::ReadAlike::~ReadAlike() {
  if (parts_ != nullptr) parts_->end_alike();
}

std::int64_t ParameterStore::offset_of(const Parameter& parameter) const {
  return parameter.offset_;
}

}  // namespace trivet
