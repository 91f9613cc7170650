// SPDX-License-Identifier: Apache-2.0
// The part of DefaultTrainer that lays out the weights for the processes of a mesh, and makes their
// learner.
#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "train/default_trainer.h"
#include "train/default_trainer_training.h"
#include "train/learner_setup.h"
#include "trivet/backend/mesh_layout.h"

namespace trivet {

bool DefaultTrainer::has_stages() const {
  return mesh_.axis(MeshLayout::kStageAxis).is_split();
}

// A meta device has no other processes along these axes, and the context tells what they have.
DefaultTrainer::WeightsOf DefaultTrainer::weights_of(const TrainerContext& context) const {
  const auto is_over = [this](std::string_view axis) { return mesh_.axis(axis).is_split(); };
  if (is_over("data") || is_over("data_expert") || has_stages()) return WeightsOf::parts;
  if (is_over("replica") || context.process_keeps_weights) return WeightsOf::replicas;
  return context.process_shards > 0 ? WeightsOf::parts : WeightsOf::one;
}

// And the store: the processes have parts of the weights, or at least of the updates, by elements
// or by variables, as the updates are.
void DefaultTrainer::build_learner(const TrainerContext& context) {
  using Pieces = ParameterStore::Pieces;
  LearnerParts learner = learner_parts(config_, task_);
  const bool by_element = Learner::has_element_updates(learner.rules, learner.options);
  const Pieces pieces = by_element ? Pieces::elements : Pieces::variables;
  const bool is_cut = MeshShards::is_cut(store_.trainable_count());
  const WeightsOf of = weights_of(context);
  shares_weights_ = is_cut && !(has_stages() && needs_all_gradients(config_));
  const bool keeps_all = of == WeightsOf::replicas && by_element && exchanges_units(config_);
  if (shares_weights_ && (of == WeightsOf::parts || keeps_all)) {
    const std::int64_t shards = std::max(mesh_shards_.count(), context.process_shards);
    store_.build_in_parts(
        mesh_shards_,
        has_gradients_in_parts(config_, shards) ? ParameterStore::Gradients::in_parts
                                                : ParameterStore::Gradients::whole,
        pieces, keeps_all ? ParameterStore::Keeps::all : ParameterStore::Keeps::own_parts);
  } else {
    note_weights_over_data();
    if (is_cut && !by_element) {
      store_.build(mesh_shards_, pieces);
    } else {
      store_.build();
    }
  }
  training_->learner =
      std::make_unique<Learner>(store_, std::move(learner.rules), learner.options, mesh_shards_);
  training_->shards.emplace(mesh_shards_, store_);
  if (training_->bad_steps.skips()) {
    training_->before.states = Tensor::zeros(device_, store_.states().shape());
  }
}

void DefaultTrainer::note_weights_over_data() {
  if (mesh_shards_.all() == nullptr) return;
  for (const std::string_view axis :
       {MeshLayout::kStageAxis, std::string_view("data"), std::string_view("data_expert")}) {
    const MeshAxis& devices = mesh_.axis(axis);
    if (!devices.is_split()) continue;
    const bool is_small = !MeshShards::is_cut(store_.trainable_count());
    return observer_.note(fmt::format(
        "the mesh has {} devices along {}, and each process has all weights: {}", devices.extent(),
        axis, is_small ? "they are few" : "their gradients are read in each process"));
  }
}

bool DefaultTrainer::shares_updates() const {
  return training_ && training_->learner->can_share();
}

bool DefaultTrainer::shares_weights() const {
  return training_ && shares_weights_;
}

void DefaultTrainer::note_whole_weights() {
  const std::int64_t devices = mesh_.axis("mdl").extent();
  const auto& all = store_.parameters();
  if (devices == 1 || std::ranges::any_of(all, [](const auto& p) { return p->blocks() > 1; })) {
    return;
  }
  observer_.note(
      fmt::format("the mesh has {} devices along mdl, over which this model splits no "
                  "weights: each step computes with whole ones",
                  devices));
}

}  // namespace trivet
