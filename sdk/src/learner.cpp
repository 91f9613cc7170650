// SPDX-License-Identifier: Apache-2.0
// Learner: clipping, then the optimizer over as few and as long segments as the groups allow.
//
// Gradients live in one flat block, so clipping by value is two calls and the global norm is one,
// whatever the number of parameters. Global clipping costs no pass of its own: its factor goes into
// the optimizer's gradient_scale.
#include "trivet/learner.h"

#include <algorithm>
#include <cmath>

#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/optim_update.h"

namespace trivet {
namespace {

Tensor part_of(const Tensor& block, std::int64_t begin, std::int64_t end) {
  return ops::slice(block, 0, begin, end);
}

// x = op(x, scalar) in place.
void apply_scalar(tv_binary_op op, Tensor& x, const Tensor& scalar) {
  if (x.size() == 0) return;
  Device& device = x.device();
  const tv_view out = x.mutable_view();
  const tv_view in = x.view();
  const tv_view number = ops::expand(scalar, x.shape()).view();
  device.check(device.table().binary(device.context(), op, &out, &in, &number), "binary");
}

}  // namespace

struct Learner::Impl {
  struct Variable {
    Parameter* parameter;
    Tensor gradient;  // f32 [n]
    Tensor square;    // f32 [1]: its place in `squares`
  };
  struct Norms {
    double before = 0, after = 0;  // of all gradients, around clipping per variable
  };

  Impl(ParameterStore& parameters, std::unique_ptr<Optimizer> rule,
       std::unique_ptr<Schedule> learning_rate, GradientClipConfig limits);

  ParameterStore& store;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Schedule> schedule;
  GradientClipConfig clip;
  std::vector<Variable> variables;
  std::vector<std::string> slot_names;
  std::vector<Tensor> slot_blocks;  // laid out like the block of values
  std::vector<OptimizerSegment> segments;
  Tensor squares;       // f32 [variables]: sums of squares, read back in one go
  Tensor total_square;  // f32 [1]
  Tensor lower, upper;  // scalars: -clip.value and clip.value

  void find_variables();
  void make_slots();
  void make_segments();
  std::vector<double> variable_norms();
  Norms clip_norms();
  double rate_at(std::int64_t step) const;
  [[noreturn]] void throw_not_finite(std::int64_t step);
};

Learner::Impl::Impl(ParameterStore& parameters, std::unique_ptr<Optimizer> rule,
                    std::unique_ptr<Schedule> learning_rate, GradientClipConfig limits)
    : store(parameters),
      optimizer(std::move(rule)),
      schedule(std::move(learning_rate)),
      clip(limits) {
  NoGrad no_grad;
  find_variables();
  make_slots();
  make_segments();
  total_square = Tensor::zeros(store.device(), {1});
  if (clip.value <= 0) return;
  const auto bound = static_cast<float>(clip.value);
  lower = Tensor::scalar(store.device(), -bound);
  upper = Tensor::scalar(store.device(), bound);
}

void Learner::Impl::find_variables() {
  for (const auto& parameter : store.parameters()) {
    if (parameter->trainable()) variables.push_back({parameter.get(), {}, {}});
  }
  squares = Tensor::zeros(store.device(), {static_cast<std::int64_t>(variables.size())});
  std::int64_t index = 0;
  for (Variable& variable : variables) {
    const std::int64_t begin = store.offset_of(*variable.parameter);
    const std::int64_t end = begin + variable.parameter->shape().size();
    variable.gradient = part_of(store.trainable_gradients(), begin, end);
    variable.square = part_of(squares, index, index + 1);
    ++index;
  }
}

void Learner::Impl::make_slots() {
  slot_names = optimizer->slots();
  for (const std::string& slot : slot_names) {
    slot_blocks.push_back(Tensor::full(store.device(), store.trainable_values().shape(),
                                       optimizer->slot_start(slot)));
  }
}

void Learner::Impl::make_segments() {
  std::int64_t begin = 0, end = 0, group = 0;
  const auto close = [&] {
    if (begin == end) return;
    OptimizerSegment segment{part_of(store.trainable_values(), begin, end),
                             part_of(store.trainable_gradients(), begin, end),
                             {},
                             group};
    for (const Tensor& block : slot_blocks) segment.slots.push_back(part_of(block, begin, end));
    segments.push_back(std::move(segment));
  };
  const bool apart = optimizer->per_variable();
  for (const Variable& variable : variables) {
    const std::int64_t wanted = optimizer->group_of(*variable.parameter);
    const std::int64_t offset = store.offset_of(*variable.parameter);
    if (apart || wanted != group) {
      close();
      begin = offset;
      group = wanted;
    }
    end = offset + variable.parameter->shape().size();
  }
  close();
}

std::vector<double> Learner::Impl::variable_norms() {
  for (Variable& variable : variables) sum_of_squares(variable.square, variable.gradient);
  std::vector<double> norms;
  for (const float square : squares.to_host<float>()) {
    norms.push_back(std::sqrt(static_cast<double>(square)));
  }
  return norms;
}

// Scales variables whose norm is too large; the common norm afterwards follows without a look at
// the gradients.
Learner::Impl::Norms Learner::Impl::clip_norms() {
  if (clip.per_variable_norm <= 0) {
    sum_of_squares(total_square, store.trainable_gradients());
    const double norm = std::sqrt(static_cast<double>(total_square.to_host<float>().front()));
    return {norm, norm};
  }
  Norms total;
  const std::vector<double> norms = variable_norms();
  for (std::size_t i = 0; i < norms.size(); ++i) {
    double norm = norms[i];
    total.before += norm * norm;
    if (norm > clip.per_variable_norm) {
      const auto factor = static_cast<float>(clip.per_variable_norm / norm);
      apply_scalar(TV_MUL, variables[i].gradient, Tensor::scalar(store.device(), factor));
      norm = clip.per_variable_norm;
    }
    total.after += norm * norm;
  }
  return {std::sqrt(total.before), std::sqrt(total.after)};
}

double Learner::Impl::rate_at(std::int64_t step) const {
  const double rate = schedule->value(step);
  if (std::isfinite(rate)) return rate;
  throw RunError("the learning rate of update " + std::to_string(step) + " is not a finite number");
}

void Learner::Impl::throw_not_finite(std::int64_t step) {
  std::string where;
  const std::vector<double> norms = variable_norms();
  for (std::size_t i = 0; i < norms.size() && where.empty(); ++i) {
    if (!std::isfinite(norms[i])) where = ", first in '" + variables[i].parameter->path() + "'";
  }
  throw RunError("the gradients of update " + std::to_string(step) + " are not finite" + where +
                     " (learning rate " + to_toml(Value(rate_at(step))) + ")",
                 {.hint = "lower the learning rate, give it a warm-up, or look at the batch"});
}

Learner::Learner(ParameterStore& store, std::unique_ptr<Optimizer> optimizer,
                 std::unique_ptr<Schedule> learning_rate, GradientClipConfig clip)
    : store_(store),
      impl_(std::make_unique<Impl>(store, std::move(optimizer), std::move(learning_rate), clip)) {}

Learner::~Learner() = default;

Learner::Update Learner::apply_gradients() {
  NoGrad no_grad;
  Update update{.learning_rate = learning_rate()};
  OptimizerStep step{.step = step_, .learning_rate = update.learning_rate};
  if (impl_->clip.value > 0) {
    apply_scalar(TV_MAX, store_.trainable_gradients(), impl_->lower);
    apply_scalar(TV_MIN, store_.trainable_gradients(), impl_->upper);
  }
  if (impl_->clip.per_variable_norm > 0 || impl_->clip.global_norm > 0) {
    const Impl::Norms norms = impl_->clip_norms();
    if (!std::isfinite(norms.before)) impl_->throw_not_finite(step_);
    update.gradient_norm = norms.before;
    if (impl_->clip.global_norm > 0 && norms.after > impl_->clip.global_norm) {
      step.gradient_scale = static_cast<float>(impl_->clip.global_norm / norms.after);
    }
  }
  impl_->optimizer->update(step, impl_->segments);
  ++step_;
  return update;
}

double Learner::learning_rate() const {
  return impl_->rate_at(step_);
}

std::vector<std::pair<std::string, Tensor>> Learner::slots() const {
  NoGrad no_grad;
  std::vector<std::pair<std::string, Tensor>> out;
  for (const auto& variable : impl_->variables) {
    const Parameter& parameter = *variable.parameter;
    const std::int64_t begin = store_.offset_of(parameter);
    for (std::size_t i = 0; i < impl_->slot_names.size(); ++i) {
      const Tensor part = part_of(impl_->slot_blocks[i], begin, begin + parameter.shape().size());
      out.emplace_back(parameter.path() + '/' + impl_->slot_names[i],
                       ops::reshape(part, parameter.shape()));
    }
  }
  return out;
}

}  // namespace trivet
