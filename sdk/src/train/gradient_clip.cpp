// SPDX-License-Identifier: Apache-2.0
#include "train/gradient_clip.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "layer/block_units.h"
#include "ops/op_support.h"
#include "trivet/ops.h"
#include "trivet/train/optim_update.h"

namespace trivet::detail {

GradientClip::GradientClip(ParameterStore& store, const GradientClipConfig& config,
                           const SharedBlock& block)
    : store_(store), block_(block), config_(config) {
  for (const auto& parameter : store.parameters()) {
    if (parameter->trainable()) variables_.push_back({parameter.get(), {}, {}, {}});
  }
  squares_ = Tensor::zeros(store.device(), {static_cast<std::int64_t>(variables_.size())});
  std::int64_t index = 0;
  for (Variable& variable : variables_) {
    const std::int64_t begin = store.offset_of(*variable.parameter);
    const std::int64_t end = begin + variable.parameter->shape().size();
    const OwnParts::Overlap own = block.own_part_of(*variable.parameter);
    if (store.gradient_parts() == nullptr) {
      variable.gradient = part_of(store.trainable_gradients(), begin, end);
    }
    variable.own = part_of(block.gradients(), own.position, own.end());
    variable.square = part_of(squares_, index, index + 1);
    ++index;
  }
  total_square_ = Tensor::zeros(store.device(), {1});
  if (config_.value <= 0) return;
  const auto bound = static_cast<float>(config_.value);
  lower_ = Tensor::scalar(store.device(), -bound);
  upper_ = Tensor::scalar(store.device(), bound);
}

Tensor& GradientClip::gradient_of(Variable& variable, Of of) {
  return of == Of::part ? variable.gradient : variable.own;
}

std::vector<double> GradientClip::variable_norms(Of of) {
  for (Variable& variable : variables_) {
    const Tensor& gradient = gradient_of(variable, of);
    if (gradient.size() > 0) sum_of_squares(variable.square, gradient);
  }
  const std::vector<float> squares = squares_.to_host<float>();
  std::vector<double> norms;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const bool has_any = gradient_of(variables_[i], of).size() > 0;
    norms.push_back(has_any ? std::sqrt(static_cast<double>(squares[i])) : 0);
  }
  return norms;
}

bool GradientClip::has_owners(Of of) const {
  return of == Of::update && block_.unit_parts().has_whole_variables();
}

// Scales variables whose norm is too large; the common norm afterwards follows without a look at
// the gradients. Squares are added for each device, and then in the order of devices.
GradientClip::Norms GradientClip::clip_variables(Of of) {
  const MeshShards& shards = block_.shards();
  const std::vector<double> norms = variable_norms(of);
  std::vector<double> before(has_owners(of) ? static_cast<std::size_t>(shards.pieces()) : 1);
  std::vector<double> after(before.size());
  for (std::size_t i = 0; i < norms.size(); ++i) {
    Tensor& gradient = gradient_of(variables_[i], of);
    if (gradient.size() == 0) continue;
    const std::int64_t offset = store_.offset_of(*variables_[i].parameter);
    const std::size_t device =
        has_owners(of) ? static_cast<std::size_t>(block_.unit_parts().owner_of(offset)) : 0;
    double norm = norms[i];
    before[device] += norm * norm;
    if (norm > config_.per_variable_norm) {
      const auto factor = static_cast<float>(config_.per_variable_norm / norm);
      apply_scalar(TV_MUL, gradient, Tensor::scalar(store_.device(), factor));
      norm = config_.per_variable_norm;
    }
    after[device] += norm * norm;
  }
  if (has_owners(of) && block_.is_shared()) {
    std::vector<double> own;
    for (const std::vector<double>& squares : {before, after}) {
      const auto first = squares.begin() + shards.first_piece();
      own.insert(own.end(), first, first + shards.piece_count());
    }
    const std::vector<double> all = shards.gather_pieces(own);
    before.assign(all.begin(), all.begin() + shards.pieces());
    after.assign(all.begin() + shards.pieces(), all.end());
  }
  return {std::sqrt(std::accumulate(before.begin(), before.end(), 0.0)),
          std::sqrt(std::accumulate(after.begin(), after.end(), 0.0))};
}

double GradientClip::norm_of_all(Of of) {
  const bool has_pieces = block_.shards().pieces() > 1 || store_.parts() != nullptr;
  if (of == Of::update && has_pieces) return norm_of_pieces();
  sum_of_squares(total_square_, store_.trainable_gradients());
  return std::sqrt(static_cast<double>(total_square_.to_host<float>().front()));
}

// In the order of units, and of a unit's pieces.
double GradientClip::norm_of_pieces() {
  const MeshShards& shards = block_.shards();
  const std::int64_t first = block_.is_shared() ? shards.first_piece() : 0;
  const std::int64_t count = block_.is_shared() ? shards.piece_count() : shards.pieces();
  const std::size_t units = block_.units().count();
  if (!piece_squares_.defined()) {
    piece_squares_ = Tensor::zeros(store_.device(), {static_cast<std::int64_t>(units) * count});
  }
  std::int64_t index = 0;
  for (std::size_t unit = 0; unit < units; ++unit) {
    const auto& [own, position] = block_.parts().part(unit);
    for (std::int64_t i = 0; i < count; ++i, ++index) {
      const MeshShards::Range piece = block_.unit_parts().of_device(unit, first + i);
      if (piece.size() == 0) continue;
      Tensor square = part_of(piece_squares_, index, index + 1);
      const std::int64_t begin = position + piece.begin - own.begin;
      sum_of_squares(square, part_of(block_.gradients(), begin, begin + piece.size()));
    }
  }
  std::vector<double> squares;
  for (const float square : piece_squares_.to_host<float>()) squares.push_back(square);
  if (block_.is_shared()) squares = shards.gather_pieces(squares);
  return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
}

GradientClip::Result GradientClip::norm_alone() {
  return {.norm = norm_of_all(Of::update), .scale = 1};
}

GradientClip::Result GradientClip::apply(Of of, bool wants_norm) {
  if (config_.value > 0) {
    Tensor gradients = of == Of::part ? store_.trainable_gradients() : block_.gradients();
    apply_scalar(TV_MAX, gradients, lower_);
    apply_scalar(TV_MIN, gradients, upper_);
  }
  if (!wants_norm && config_.per_variable_norm <= 0 && config_.global_norm <= 0) return {};
  Norms norms;
  if (config_.per_variable_norm > 0) {
    norms = clip_variables(of);
  } else {
    norms.before = norm_of_all(of);
    norms.after = norms.before;
  }
  Result result{.norm = norms.before, .scale = 1};
  if (config_.global_norm > 0 && norms.after > config_.global_norm) {
    result.scale = static_cast<float>(config_.global_norm / norms.after);
  }
  return result;
}

std::string GradientClip::first_not_finite(Of of) {
  const std::vector<double> norms = variable_norms(of);
  std::size_t first = 0;
  while (first < norms.size() && std::isfinite(norms[first])) ++first;
  if (of == Of::update && block_.is_shared()) {
    const std::vector<double> own(static_cast<std::size_t>(block_.shards().piece_count()),
                                  static_cast<double>(first));
    first = static_cast<std::size_t>(std::ranges::min(block_.shards().gather_pieces(own)));
  }
  return first < variables_.size() ? variables_[first].parameter->path() : "";
}

}  // namespace trivet::detail
