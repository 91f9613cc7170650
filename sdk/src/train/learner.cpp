// SPDX-License-Identifier: Apache-2.0
#include "trivet/train/learner.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>

#include "layer/gradient_parts.h"
#include "ops/op_support.h"
#include "train/gradient_clip.h"
#include "train/noise.h"
#include "train/optimizer_runner.h"
#include "train/weight_average.h"
#include "trivet/backend/process_group.h"
#include "trivet/error.h"
#include "trivet/tensor/canonical_sum.h"
#include "trivet/train/optim_update.h"

namespace trivet {
namespace {

using Of = detail::GradientClip::Of;

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
  Impl(ParameterStore& parameters, std::vector<LearnerRule> rules, const LearnerOptions& options,
       const MeshShards& shards);

  ParameterStore& store;
  const bool can_share;
  detail::SharedBlock block;
  detail::GradientClip clip;
  std::vector<detail::OptimizerRunner> runners;
  std::optional<detail::WeightAverage> average;
  std::optional<detail::VariationalNoise> noise;
  std::optional<detail::GradientNoise> gradient_noise;

  bool skips = false;
  bool clips_parts = false;

  // Of the update that is under way; kept for their memory.
  OptimizerSegment sum;             // value: that of a shard's parts, gradient: the store's; no
                                    // value where there is one part in all, in this process
  std::optional<CanonicalSum> all;  // of the shards, where there are several
  std::vector<bool> had_gradient;   // of each parameter, in a part so far

  void begin_sum(std::int64_t parts);
  void begin_shard();
  void add(float factor);
  void note_gradients();
  void share_stages();
  std::vector<detail::SharedTensor> slots() const;
  std::vector<detail::SharedTensor> averages() const;
  // Of this process's parts: the sum of weighted gradients.
  Tensor& total();
  [[noreturn]] void throw_not_finite(Of of, std::int64_t step);
};

Learner::Impl::Impl(ParameterStore& parameters, std::vector<LearnerRule> rules,
                    const LearnerOptions& options, const MeshShards& shards)
    : store(parameters),
      can_share((parameters.has_whole_variables() || has_element_updates(rules, options)) &&
                MeshShards::is_cut(parameters.trainable_size())),
      block(parameters, shards,
            can_share && shards.all() != nullptr ? detail::SharedBlock::Kind::shared
                                                 : detail::SharedBlock::Kind::whole),
      clip(parameters, options.clip, block),
      skips(options.skip_bad_updates),
      clips_parts(options.clip.each_part) {
  if (rules.empty()) throw Error("a learner needs a rule");
  auto variables = shares(store, rules);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (variables[i].empty() && !rules[i].variables.empty()) {
      throw ConfigError(Diagnostic{
          .path = "trainer.learners",
          .what = "learner " + title_of(rules[i].name) + " matches no trainable variable",
          .hint = "patterns must match whole paths, e.g. \"head/.*\""});
    }
    runners.emplace_back(store, std::move(rules[i]), std::move(variables[i]), block);
  }
  if (options.ema.decay > 0) average.emplace(store, options.ema, block);
  if (options.variational_noise.scale > 0) noise.emplace(store, options.variational_noise);
  if (options.gradient_noise.stddev > 0) {
    gradient_noise.emplace(store, options.gradient_noise, block);
  }
}

void Learner::Impl::begin_sum(std::int64_t parts) {
  const MeshShards& shards = block.shards();
  had_gradient.assign(store.parameters().size(), false);
  if (store.gradient_parts() != nullptr) {
    if (parts > 1) throw Error("gradients in parts are of one pass, not of several micro-batches");
    return;
  }
  sum.gradient = store.trainable_gradients();
  if (shards.count() == 1 && parts == 1) {
    all.reset();
    sum.value = {};
    return;
  }
  if (shards.count() == 1) {
    all.reset();
    if (!sum.value.defined()) sum.value = Tensor::empty(store.device(), sum.gradient.shape());
  } else if (all && all->tree() == shards.own_tree()) {
    all->restart();
  } else {
    sum.value = {};
    all.emplace(store.device(), sum.gradient.shape(), shards.own_tree());
  }
  begin_shard();
}

Tensor& Learner::Impl::total() {
  if (all) return all->total();
  return sum.value.defined() ? sum.value : sum.gradient;
}

// sum += factor * gradient: one pass where the backend has the optimizer's kernel.
void Learner::Impl::add(float factor) {
  if (sum.value.defined()) {
    tv_optim step{};
    step.kind = TV_SGD;
    step.lr = -1;
    step.grad_scale = factor;
    return optim_update(step, sum);
  }
  detail::apply_scalar(TV_MUL, sum.gradient, Tensor::scalar(store.device(), factor));
  // As a sum that starts with 0: -0 becomes 0.
  detail::apply_scalar(TV_ADD, sum.gradient, Tensor::scalar(store.device(), 0));
}

void Learner::Impl::begin_shard() {
  if (all) sum.value = all->next();
  const tv_view view = sum.value.mutable_view();
  Device& device = store.device();
  device.call("fill", &tv_backend::fill, &view, 0);
}

// Of all parts, as the sum is.
void Learner::Impl::note_gradients() {
  for (std::size_t i = 0; i < had_gradient.size(); ++i) {
    Parameter& parameter = *store.parameters()[i];
    had_gradient[i] = had_gradient[i] || parameter.has_gradient();
    parameter.set_has_gradient(had_gradient[i]);
  }
}

// Those of the update, between the processes of a pipeline.
void Learner::Impl::share_stages() {
  if (store.parts() != nullptr) {
    store.share_has_gradient();
  } else {
    store.share_stages(total());
  }
  for (std::size_t i = 0; i < had_gradient.size(); ++i) {
    had_gradient[i] = store.parameters()[i]->has_gradient();
  }
}

void Learner::Impl::throw_not_finite(Of of, std::int64_t step) {
  const std::string first = clip.first_not_finite(of);
  throw RunError("the gradients of update " + std::to_string(step) + " are not finite" +
                     (first.empty() ? "" : ", first in '" + first + "'") + " (learning rate " +
                     to_toml(Value(runners.front().rate_at(step))) + ")",
                 {.hint = "lower the learning rate, give it a warm-up, or look at the batch"});
}

Learner::Learner(ParameterStore& store, std::unique_ptr<Optimizer> optimizer,
                 std::unique_ptr<Schedule> learning_rate)
    : Learner(store, std::move(optimizer), std::move(learning_rate), GradientClipConfig{}) {}

Learner::Learner(ParameterStore& store, std::unique_ptr<Optimizer> optimizer,
                 std::unique_ptr<Schedule> learning_rate, const GradientClipConfig& clip)
    : Learner(store, one_rule(std::move(optimizer), std::move(learning_rate)), {.clip = clip}) {}

Learner::Learner(ParameterStore& store, std::vector<LearnerRule> rules, LearnerOptions options,
                 const MeshShards& shards)
    : store_(store) {
  NoGrad no_grad;
  impl_ = std::make_unique<Impl>(store, std::move(rules), options, shards);
}

bool Learner::has_element_updates(const std::vector<LearnerRule>& rules,
                                  const LearnerOptions& options) {
  return options.clip.per_variable_norm <= 0 && options.gradient_noise.stddev <= 0 &&
         std::ranges::none_of(
             rules, [](const LearnerRule& rule) { return rule.optimizer->per_variable(); });
}

bool Learner::can_share() const {
  return impl_->can_share;
}

Learner::~Learner() = default;

Learner::Step Learner::begin(const LearnerStepOptions& options) {
  return {*this, options};
}

Learner::Step::Step(Learner& learner, const LearnerStepOptions& options)
    : learner_(learner), options_(options) {
  if (options.parts < 1) throw Error("an update needs at least one batch of gradients");
  if (learner.under_way_) throw Error("an update of this learner is under way");
  NoGrad no_grad;
  if (adds_up()) learner.impl_->begin_sum(options.parts);
  learner.under_way_ = true;
}

std::int64_t Learner::Step::passes() const {
  return options_.parts * learner_.impl_->block.shards().count();
}

bool Learner::Step::adds_up() const {
  return passes() > 1 || learner_.impl_->block.shards().total() > 1 ||
         learner_.store_.is_for_parts();
}

Learner::Step::~Step() {
  learner_.under_way_ = false;
  if (!learner_.impl_->noise) return;
  try {
    NoGrad no_grad;
    learner_.impl_->noise->remove();
  } catch (const Error&) {
    // The device has failed, which the next call to it tells.
  }
}

void Learner::Step::begin_part(RngKey key) {
  NoGrad no_grad;
  if (!key_) key_ = key;
  if (learner_.impl_->noise) learner_.impl_->noise->add(key, learner_.step_);
}

void Learner::Step::begin_gradients(double weight, const Tape& tape) {
  detail::GradientParts* const gradients = learner_.store_.gradient_parts();
  if (gradients != nullptr) gradients->begin(static_cast<float>(weight), tape.slot_groups());
}

bool Learner::Step::add_up(double weight, float scale, double loss) {
  if (passes_done_++ % options_.parts == 0) {
    sums_.weights.push_back(0);
    sums_.losses.push_back(0);
  }
  Impl& impl = *learner_.impl_;
  detail::GradientParts* const gradients = impl.store.gradient_parts();
  const float factor_of_part = static_cast<float>(weight) * scale;
  if (gradients != nullptr) gradients->finish(factor_of_part);
  if (!adds_up()) {
    impl.store.share_stages(impl.store.trainable_gradients());
    check_loss(loss);
    return true;
  }
  impl.note_gradients();
  if (gradients == nullptr) impl.add(factor_of_part);
  sums_.weights.back() += weight;
  sums_.losses.back() += weight * loss;
  const bool ends_shard = passes_done_ % options_.parts == 0;
  if (ends_shard && impl.all) impl.all->add();
  if (passes_done_ < passes()) {
    if (ends_shard) impl.begin_shard();
    return false;
  }
  const ShardSums sums = exchange();
  const SumTree& tree = impl.block.shards().tree();
  const double weights = canonical_sum(tree, sums.weights);
  if (weights > 0) check_loss(canonical_sum(tree, sums.losses) / weights);
  const auto factor = static_cast<float>(weights > 0 ? 1 / weights : 0);
  Tensor own = impl.block.gradients();
  detail::apply_scalar(TV_MUL, own, Tensor::scalar(impl.store.device(), factor));
  return true;
}

Learner::Step::ShardSums Learner::Step::exchange() {
  Impl& impl = *learner_.impl_;
  const MeshShards& shards = impl.block.shards();
  if (!impl.clips_parts) impl.share_stages();
  if (impl.store.gradient_parts() == nullptr) impl.block.sum_gradients(impl.total());
  impl.store.check_reads();
  if (shards.group() == nullptr) return sums_;
  std::vector<std::uint8_t> flags(impl.had_gradient.begin(), impl.had_gradient.end());
  flags.push_back(bad_ ? 1 : 0);
  shards.any(flags);
  bad_ = flags.back() != 0;
  for (std::size_t i = 0; i < impl.had_gradient.size(); ++i) {
    impl.store.parameters()[i]->set_has_gradient(flags[i] != 0);
  }
  return {.weights = shards.gather(sums_.weights), .losses = shards.gather(sums_.losses)};
}

void Learner::Step::check_loss(double loss) {
  if (!learner_.impl_->skips) return;
  bad_ = bad_ || !std::isfinite(loss) || loss > options_.loss_bound;
}

bool Learner::Step::accepts_norm(double norm) {
  if (std::isfinite(norm)) return true;
  bad_ = true;
  return learner_.impl_->skips;
}

void Learner::Step::add_noise(float& scale) {
  Impl& impl = *learner_.impl_;
  if (!key_) throw Error("noise on the gradients is drawn from the key of begin_part");
  Tensor gradients = impl.block.gradients();
  if (scale != 1) {
    detail::apply_scalar(TV_MUL, gradients, Tensor::scalar(impl.store.device(), scale));
  }
  scale = 1;
  impl.gradient_noise->add(*key_);
}

Learner::Update Learner::Step::apply_gradients(double weight, const Tensor& loss) {
  if (passes_done_ == passes()) {
    throw Error("this update has had its " + std::to_string(passes()) +
                " parts; Learner::begin starts the next");
  }
  NoGrad no_grad;
  Impl& impl = *learner_.impl_;
  std::int64_t& step = learner_.step_;
  if (impl.noise) impl.noise->remove();
  last_ = {.learning_rate = learner_.learning_rate(), .applied = false};
  const double part_loss = impl.skips && loss.defined() ? static_cast<double>(loss.item()) : 0;
  const bool clips_part = impl.clips_parts && adds_up();
  float part_scale = 1;
  if (clips_part) {
    impl.store.share_stages(impl.store.trainable_gradients());
    const detail::GradientClip::Result part = impl.clip.apply(Of::part, impl.skips);
    if (!accepts_norm(part.norm)) impl.throw_not_finite(Of::part, step);
    part_scale = part.scale;
  }
  if (!add_up(weight, part_scale, part_loss)) return last_;
  detail::GradientClip::Result clipped =
      clips_part ? impl.clip.norm_alone() : impl.clip.apply(Of::update, impl.skips);
  if (!accepts_norm(clipped.norm)) impl.throw_not_finite(Of::update, step);
  last_.gradient_norm = clipped.norm;
  last_.skipped = bad_ || (impl.skips && clipped.norm >= options_.gradient_norm_bound);
  if (last_.skipped) return last_;
  if (impl.gradient_noise) add_noise(clipped.scale);
  last_.applied = true;
  if (impl.average && step == 0) impl.average->start();
  if (impl.average && impl.average->before_update()) impl.average->update(step);
  for (auto& runner : impl.runners) runner.update(step, clipped.scale);
  impl.block.share_values();
  ++step;
  if (impl.average && !impl.average->before_update()) impl.average->update(step);
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

std::vector<detail::SharedTensor> Learner::Impl::slots() const {
  std::vector<detail::SharedTensor> out;
  for (const auto& runner : runners) runner.add_slots(out);
  return out;
}

std::vector<detail::SharedTensor> Learner::Impl::averages() const {
  return average ? average->tensors() : std::vector<detail::SharedTensor>();
}

double Learner::square_of_weights() const {
  NoGrad no_grad;
  const detail::SharedBlock& block = impl_->block;
  Tensor square = Tensor::zeros(store_.device(), {1});
  if (block.values().size() > 0) sum_of_squares(square, block.values());
  const double own = square.to_host<float>().front();
  if (!block.is_shared()) return own;
  ProcessGroup& group = *block.shards().all();
  std::vector<double> all(static_cast<std::size_t>(group.size()));
  group.all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  return std::accumulate(all.begin(), all.end(), 0.0);
}

Learner::NamedTensors Learner::slots() const {
  NoGrad no_grad;
  return impl_->block.whole(impl_->slots());
}

std::vector<TensorPart> Learner::slot_parts() const {
  NoGrad no_grad;
  return impl_->block.parts_of(impl_->slots());
}

Learner::NamedTensors Learner::averages() const {
  NoGrad no_grad;
  return impl_->block.whole(impl_->averages());
}

std::vector<TensorPart> Learner::average_parts() const {
  NoGrad no_grad;
  return impl_->block.parts_of(impl_->averages());
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
