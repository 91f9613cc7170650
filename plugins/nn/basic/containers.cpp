// SPDX-License-Identifier: Apache-2.0
#include "nn/basic/containers.h"

#include <algorithm>

#include "nn/basic/checks.h"
#include "trivet/error.h"
#include "trivet/layer/remat.h"
#include "trivet/ops.h"

namespace trivet::nn {

InTurn::InTurn(CheckpointPolicy policy, std::string_view output_name)
    : remat_(policy != CheckpointPolicy::save_everything),
      keeps_(kept_by(policy)),
      output_name_(output_name) {}

void InTurn::add(const Scope& scope, const std::string& name, const ConfigOf<Layer>& config) {
  auto layer = scope.layer(name, config);
  if (!layer) return;
  const std::string path = scope.path() + "/" + name;
  expect_sequence_blocks(scope, layer.get(), path);
  layers_.push_back({path, std::move(layer)});
}

Tensor InTurn::fprop(const Tensor& x, FpropContext& context) {
  return fprop_range(x, context, 0, size());
}

Tensor InTurn::fprop_range(const Tensor& x, FpropContext& context, std::size_t first,
                           std::size_t end) {
  Tensor y = x;
  for (std::size_t i = first; i < end; ++i) {
    if (remat_) {
      const CheckpointName name(output_name_);
      y = remat(*layers_[i].layer, y, context, keeps_);
    } else {
      y = layers_[i].layer->fprop(y, context);
    }
  }
  return y;
}

std::unique_ptr<LayerCache> InTurn::make_cache(std::int64_t batch, std::int64_t max_length) const {
  auto caches = std::make_unique<LayerCaches>();
  for (const Named& each : layers_) caches->add(each.layer.get(), each.path, batch, max_length);
  return caches;
}

Tensor InTurn::extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) {
  auto& caches = static_cast<LayerCaches&>(cache);
  Tensor y = x;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    y = trivet::extend_step(*layers_[i].layer, y, caches.at(i), context);
  }
  return y;
}

std::vector<Tensor> InTurn::fprop_blocks(std::span<const Tensor> x, SequenceCut& cut) {
  return fprop_blocks_range(x, cut, 0, size());
}

std::vector<Tensor> InTurn::fprop_blocks_range(std::span<const Tensor> x, SequenceCut& cut,
                                               std::size_t first, std::size_t end) {
  std::vector<Tensor> y(x.begin(), x.end());
  for (std::size_t i = first; i < end; ++i) {
    if (remat_) {
      const CheckpointName name(output_name_);
      y = remat_blocks(*layers_[i].layer, y, cut, keeps_);
    } else {
      y = trivet::fprop_blocks(*layers_[i].layer, y, cut);
    }
  }
  return y;
}

const void* InTurn::extension(std::string_view id) const noexcept {
  if (id != kLayerSequenceBlocks) return DecodingLayer::extension(id);
  const auto can = [](const Named& each) { return can_compute_blocks(*each.layer); };
  return std::ranges::all_of(layers_, can) ? static_cast<const SequenceBlocks*>(this) : nullptr;
}

Sequential::Sequential(const Config& config, Scope& scope) {
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    add(scope, "layer_" + std::to_string(i), config.layers[i]);
  }
}

// A repetition's output is the next one's input.
Repeat::Repeat(const Config& config, Scope& scope)
    : InTurn(config.checkpoint_policy, "iteration_input") {
  for (std::int64_t i = 0; i < config.x_times; ++i) {
    add(scope, "sub_" + std::to_string(i), config.sub);
  }
}

Residual::Residual(const Config& config, Scope& scope)
    : path_(scope.path()),
      residual_weight_(static_cast<float>(config.residual_weight)),
      sub_(scope.layer("sub", config.sub)),
      shortcut_(scope.layer("shortcut", config.shortcut)) {
  if (!sub_) throw Error("[nn/Residual] '" + path_ + "': sub is \"none\"");
}

Tensor Residual::joined(const Tensor& straight, Tensor y) const {
  if (!(y.shape() == straight.shape())) {
    wrong_input("nn/Residual", path_, straight.shape().to_string() + " from sub", y,
                shortcut_ ? "" : "set a shortcut that changes the shape in the same way");
  }
  if (residual_weight_ != 1) y = ops::mul(y, residual_weight_);
  return ops::add(straight, y);
}

Tensor Residual::fprop(const Tensor& x, FpropContext& context) {
  const Tensor straight = shortcut_ ? shortcut_->fprop(x, context) : x;
  return joined(straight, sub_->fprop(x, context));
}

std::unique_ptr<LayerCache> Residual::make_cache(std::int64_t batch,
                                                 std::int64_t max_length) const {
  auto caches = std::make_unique<LayerCaches>();
  caches->add(shortcut_.get(), path_ + "/shortcut", batch, max_length);
  caches->add(sub_.get(), path_ + "/sub", batch, max_length);
  return caches;
}

Tensor Residual::extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) {
  auto& caches = static_cast<LayerCaches&>(cache);
  const Tensor straight = shortcut_ ? trivet::extend_step(*shortcut_, x, caches.at(0), context) : x;
  return joined(straight, trivet::extend_step(*sub_, x, caches.at(1), context));
}

}  // namespace trivet::nn
