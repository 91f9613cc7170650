// SPDX-License-Identifier: Apache-2.0
#include "trivet/train/learner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "train/gradient_clip.h"
#include "train/optimizer_runner.h"
#include "train/variational_noise.h"
#include "train/weight_average.h"
#include "trivet/error.h"
#include "trivet/train/optim_update.h"

namespace trivet {
namespace {

std::vector<LearnerRule> one_rule(std::unique_ptr<Optimizer> optimizer,
                                  std::unique_ptr<Schedule> learning_rate) {
  std::vector<LearnerRule> rules;
  rules.push_back({.optimizer = std::move(optimizer), .learning_rate = std::move(learning_rate)});
  return rules;
}

std::string title_of(const std::string& name) {
  return name.empty() ? "the main one" : "'" + name + "'";
}

// The trainable variables of every rule, in the store's order.
std::vector<std::vector<Parameter*>> shares(const ParameterStore& store,
                                            const std::vector<LearnerRule>& rules) {
  std::vector<std::vector<Parameter*>> out(rules.size());
  std::string none, several;
  for (const auto& parameter : store.parameters()) {
    if (!parameter->trainable()) continue;
    std::vector<std::size_t> takers;
    std::optional<std::size_t> rest;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (rules[i].variables.empty()) rest = i;
      if (rules[i].variables.matches(parameter->path())) takers.push_back(i);
    }
    if (takers.empty() && rest) takers.push_back(*rest);
    if (takers.size() == 1) {
      out[takers.front()].push_back(parameter.get());
    } else if (takers.empty()) {
      none += "\n  " + parameter->path() + ": none";
    } else {
      several += "\n  " + parameter->path() + ": " + title_of(rules[takers[0]].name) + " and " +
                 title_of(rules[takers[1]].name);
    }
  }
  if (none.empty() && several.empty()) return out;
  throw ConfigError(
      Diagnostic{.path = "trainer.learners",
                 .what = "every variable must belong to exactly one learner:" + none + several,
                 .hint = "patterns must match whole paths; trainer.optimizer takes "
                         "those that no learner matches"});
}

}  // namespace

struct Learner::Impl {
  Impl(ParameterStore& parameters, std::vector<LearnerRule> rules, const LearnerOptions& options);

  ParameterStore& store;
  detail::GradientClip clip;
  std::vector<detail::OptimizerRunner> runners;
  std::optional<detail::WeightAverage> average;
  std::optional<detail::VariationalNoise> noise;

  // Accumulation: parts of the update that is under way.
  std::int64_t parts = 1, parts_done = 0;
  double weights = 0;
  bool skips = false, bad = false;  // bad: a part of the update had a loss to skip
  OptimizerSegment sum;             // value: the sum, gradient: the store's
  std::vector<bool> had_gradient;   // of each parameter, in a part so far

  bool add_up(double weight);  // whether the update is complete
  void note_gradients();
  [[noreturn]] void throw_not_finite(std::int64_t step);
};

Learner::Impl::Impl(ParameterStore& parameters, std::vector<LearnerRule> rules,
                    const LearnerOptions& options)
    : store(parameters), clip(parameters, options.clip), skips(options.skip_bad_updates) {
  if (rules.empty()) throw Error("a learner needs a rule");
  auto variables = shares(store, rules);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (variables[i].empty() && !rules[i].variables.empty()) {
      throw ConfigError(Diagnostic{
          .path = "trainer.learners",
          .what = "learner " + title_of(rules[i].name) + " matches no trainable variable",
          .hint = "patterns must match whole paths, e.g. \"head/.*\""});
    }
    runners.emplace_back(store, std::move(rules[i]), std::move(variables[i]));
  }
  if (options.ema.decay > 0) average.emplace(store, options.ema);
  if (options.variational_noise.scale > 0) noise.emplace(store, options.variational_noise);
}

// Of all parts, as the sum is.
void Learner::Impl::note_gradients() {
  for (std::size_t i = 0; i < had_gradient.size(); ++i) {
    Parameter& parameter = *store.parameters()[i];
    had_gradient[i] = had_gradient[i] || parameter.has_gradient();
    parameter.set_has_gradient(had_gradient[i]);
  }
}

bool Learner::Impl::add_up(double weight) {
  if (parts == 1) return true;
  note_gradients();
  tv_optim add{};
  add.kind = TV_SGD;  // sum -= -1 * (weight * gradient): one pass where the backend has the kernel
  add.lr = -1;
  add.grad_scale = static_cast<float>(weight);
  optim_update(add, sum);
  weights += weight;
  if (++parts_done < parts) return false;
  const auto factor = static_cast<float>(weights > 0 ? 1 / weights : 0);
  assign(sum.gradient, sum.value);
  detail::apply_scalar(TV_MUL, sum.gradient, Tensor::scalar(store.device(), factor));
  return true;
}

void Learner::Impl::throw_not_finite(std::int64_t step) {
  const std::string first = clip.first_not_finite();
  throw RunError("the gradients of update " + std::to_string(step) + " are not finite" +
                     (first.empty() ? "" : ", first in '" + first + "'") + " (learning rate " +
                     to_toml(Value(runners.front().rate_at(step))) + ")",
                 {.hint = "lower the learning rate, give it a warm-up, or look at the batch"});
}

Learner::Learner(ParameterStore& store, std::unique_ptr<Optimizer> optimizer,
                 std::unique_ptr<Schedule> learning_rate, GradientClipConfig clip)
    : Learner(store, one_rule(std::move(optimizer), std::move(learning_rate)), {.clip = clip}) {}

Learner::Learner(ParameterStore& store, std::vector<LearnerRule> rules, LearnerOptions options)
    : store_(store), loss_bound_(std::numeric_limits<double>::infinity()) {
  NoGrad no_grad;
  impl_ = std::make_unique<Impl>(store, std::move(rules), options);
}

Learner::~Learner() = default;

void Learner::accumulate(std::int64_t n) {
  if (n < 1) throw Error("an update needs at least one batch of gradients");
  NoGrad no_grad;
  if (impl_->noise) impl_->noise->remove();
  impl_->parts = n;
  impl_->parts_done = 0;
  impl_->weights = 0;
  impl_->bad = false;
  impl_->had_gradient.assign(store_.parameters().size(), false);
  last_ = {};
  if (n == 1) return;
  OptimizerSegment& sum = impl_->sum;
  if (!sum.value.defined()) {
    sum.gradient = store_.trainable_gradients();
    sum.value = Tensor::empty(store_.device(), sum.gradient.shape());
  }
  const tv_view view = sum.value.mutable_view();
  Device& device = store_.device();
  device.check(device.table().fill(device.context(), &view, 0), "fill");
}

void Learner::add_noise(RngKey key) {
  NoGrad no_grad;
  if (impl_->noise) impl_->noise->add(key, step_);
}

Learner::Update Learner::apply_gradients(double weight, const Tensor& loss) {
  NoGrad no_grad;
  if (impl_->noise) impl_->noise->remove();
  last_ = {.learning_rate = learning_rate(), .applied = false};
  if (impl_->skips && loss.defined()) {
    const auto value = static_cast<double>(loss.item());
    impl_->bad = impl_->bad || !std::isfinite(value) || value > loss_bound_;
  }
  if (!impl_->add_up(weight)) return last_;
  const detail::GradientClip::Result clipped = impl_->clip.apply(impl_->skips);
  last_.skipped = impl_->skips && (impl_->bad || !std::isfinite(clipped.norm));
  impl_->bad = false;
  if (last_.skipped) return last_;
  if (!std::isfinite(clipped.norm)) impl_->throw_not_finite(step_);
  last_.gradient_norm = clipped.norm;
  last_.applied = true;
  if (impl_->average && step_ == 0) impl_->average->start();
  for (auto& runner : impl_->runners) runner.update(step_, clipped.scale);
  ++step_;
  if (impl_->average) impl_->average->update(step_);
  return last_;
}

double Learner::learning_rate() const {
  return impl_->runners.front().rate_at(step_);
}

std::vector<std::pair<std::string, double>> Learner::learning_rates() const {
  std::vector<std::pair<std::string, double>> out;
  for (const auto& runner : impl_->runners) out.emplace_back(runner.name(), runner.rate_at(step_));
  return out;
}

std::vector<std::pair<std::string, Tensor>> Learner::slots() const {
  NoGrad no_grad;
  std::vector<std::pair<std::string, Tensor>> out;
  for (const auto& runner : impl_->runners) runner.add_slots(out);
  return out;
}

std::vector<std::pair<std::string, Tensor>> Learner::averages() const {
  if (!impl_->average) return {};
  NoGrad no_grad;
  return impl_->average->tensors();
}

void Learner::restart_average() {
  NoGrad no_grad;
  if (impl_->average) impl_->average->start();
}

void Learner::swap_average() {
  NoGrad no_grad;
  if (impl_->average && step_ > 0) impl_->average->swap();
}

Learner::UseAverages::UseAverages(Learner& learner) : learner_(learner) {
  learner_.swap_average();
}

Learner::UseAverages::~UseAverages() {
  learner_.swap_average();
}

}  // namespace trivet
