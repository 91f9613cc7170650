// SPDX-License-Identifier: Apache-2.0
#include "trivet/layer/extend_step.h"

#include <algorithm>
#include <string>

#include "ops/op_support.h"

namespace trivet {
namespace {

ExtendStep* stepping(const Layer& layer) {
  // The extension is the layer itself, which is const here for its `extension` only.
  return const_cast<ExtendStep*>(static_cast<const ExtendStep*>(layer.extension(kLayerExtendStep)));
}

}  // namespace

LayerCache::~LayerCache() = default;

bool LayerCache::can_append_rows() const {
  return false;
}

void LayerCache::align(std::int64_t) {
  throw Error("[extend_step] the cache of a layer cannot take further rows");
}

void LayerCache::append_rows(const LayerCache&) {
  throw Error("[extend_step] the cache of a layer cannot take further rows");
}

bool LayerCache::can_remove_last() const {
  return false;
}

void LayerCache::remove_last(std::int64_t) {
  throw Error("[extend_step] the cache of a layer cannot give back positions");
}

const void* DecodingLayer::extension(std::string_view id) const noexcept {
  return id == kLayerExtendStep ? static_cast<const ExtendStep*>(this) : nullptr;
}

const void* LocalLayer::extension(std::string_view id) const noexcept {
  return id == kLayerLocalInTime ? this : nullptr;
}

std::unique_ptr<LayerCache> make_cache(const Layer& layer, std::string_view name,
                                       std::int64_t batch, std::int64_t max_length) {
  if (const ExtendStep* step = stepping(layer)) return step->make_cache(batch, max_length);
  if (layer.extension(kLayerLocalInTime) != nullptr) return nullptr;
  throw Error("[extend_step] '" + std::string(name) + "' cannot decode with a cache",
              {.hint = "its layer is neither local in time nor has an extend_step "
                       "(trivet/layer/extend_step.h)"});
}

Tensor extend_step(Layer& layer, const Tensor& x, LayerCache* cache, FpropContext& context) {
  NoGrad no_grad;
  return cache != nullptr ? stepping(layer)->extend_step(x, *cache, context)
                          : layer.fprop(x, context);
}

void LayerCaches::add(const Layer* layer, std::string_view name, std::int64_t batch,
                      std::int64_t max_length) {
  caches_.push_back(layer != nullptr ? make_cache(*layer, name, batch, max_length) : nullptr);
}

void LayerCaches::reorder(std::span<const std::int32_t> rows) {
  for (const auto& cache : caches_) {
    if (cache) cache->reorder(rows);
  }
}

bool LayerCaches::can_append_rows() const {
  return std::all_of(caches_.begin(), caches_.end(),
                     [](const auto& cache) { return !cache || cache->can_append_rows(); });
}

void LayerCaches::align(std::int64_t length) {
  for (const auto& cache : caches_) {
    if (cache) cache->align(length);
  }
}

void LayerCaches::append_rows(const LayerCache& other) {
  const auto& others = static_cast<const LayerCaches&>(other).caches_;
  if (others.size() != caches_.size()) {
    throw Error("[extend_step] expected rows of a cache of " + std::to_string(caches_.size()) +
                " layers, got " + std::to_string(others.size()));
  }
  for (std::size_t i = 0; i < caches_.size(); ++i) {
    if (caches_[i]) caches_[i]->append_rows(*others[i]);
  }
}

bool LayerCaches::can_remove_last() const {
  return std::all_of(caches_.begin(), caches_.end(),
                     [](const auto& cache) { return !cache || cache->can_remove_last(); });
}

void LayerCaches::remove_last(std::int64_t n) {
  for (const auto& cache : caches_) {
    if (cache) cache->remove_last(n);
  }
}

namespace {

Shape extended(std::int64_t rows, std::int64_t length, std::span<const std::int64_t> extents) {
  std::vector<std::int64_t> all{rows, length};
  all.insert(all.end(), extents.begin(), extents.end());
  return Shape(all);
}

std::span<const std::int64_t> per_position(const Shape& shape) {
  return {shape.begin() + 2, shape.end()};
}

}  // namespace

SequenceBuffer::SequenceBuffer(Device& device, std::int64_t rows, std::int64_t max_length,
                               std::span<const std::int64_t> extents, DType dtype)
    : values_(Tensor::zeros(device, extended(rows, max_length, extents), dtype)) {}

void SequenceBuffer::expect_room(std::int64_t n) const {
  if (n <= values_.dim(1) - length_) return;
  throw Error("[extend_step] " + std::to_string(n) + " positions after " + std::to_string(length_) +
                  " are more than the cache has room for, which is " +
                  std::to_string(values_.dim(1)),
              {.hint = "make the cache with a larger max_length"});
}

void SequenceBuffer::append_zeros(std::int64_t n) {
  expect_room(n);
  length_ += n;
}

void SequenceBuffer::append(const Tensor& values) {
  const Shape& room = values_.shape();
  const std::int64_t n = values.rank() > 1 ? values.dim(1) : 0;
  if (values.dtype() != values_.dtype() ||
      values.shape() != extended(room[0], n, per_position(room))) {
    detail::wrong(
        "extend_step",
        "positions of " + std::to_string(room[0]) + " rows for a cache " + room.to_string(),
        values.to_string());
  }
  expect_room(n);
  NoGrad no_grad;
  detail::copy_into(ops::slice(values_, 1, length_, length_ + n).view(), values);
  length_ += n;
}

Tensor SequenceBuffer::values() const {
  return ops::slice(values_, 1, 0, length_);
}

void SequenceBuffer::reorder(std::span<const std::int32_t> rows) {
  NoGrad no_grad;
  const Shape& room = values_.shape();
  const auto count = static_cast<std::int64_t>(rows.size());
  Tensor next = Tensor::zeros(values_.device(), extended(count, room[1], per_position(room)),
                              values_.dtype());
  const Tensor from = values(), to = ops::slice(next, 1, 0, length_);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = rows[static_cast<std::size_t>(i)];
    if (row < 0 || row >= room[0]) {
      detail::wrong("extend_step", "rows of a cache of " + std::to_string(room[0]),
                    "row " + std::to_string(row));
    }
    detail::copy_into(ops::slice(to, 0, i, i + 1).view(), ops::slice(from, 0, row, row + 1));
  }
  values_ = next;
}

void SequenceBuffer::align(std::int64_t length) {
  if (length == length_) return;
  NoGrad no_grad;
  const Shape& room = values_.shape();
  if (length < 0 || length > room[1]) {
    detail::wrong("extend_step", "at most " + std::to_string(room[1]) + " positions in a cache",
                  std::to_string(length));
  }
  Tensor next = Tensor::zeros(values_.device(), room, values_.dtype());
  const std::int64_t kept = std::min(length, length_);
  if (kept > 0) {
    detail::copy_into(ops::slice(next, 1, length - kept, length).view(),
                      ops::slice(values_, 1, length_ - kept, length_));
  }
  values_ = next;
  length_ = length;
}

void SequenceBuffer::remove_last(std::int64_t n) {
  if (n < 0 || n > length_) {
    detail::wrong("extend_step", "at most " + std::to_string(length_) + " positions to remove",
                  std::to_string(n));
  }
  if (n == 0) return;
  Tensor removed = ops::slice(values_, 1, length_ - n, length_);
  detail::copy_into(removed.view(),
                    Tensor::zeros(removed.device(), removed.shape(), removed.dtype()));
  length_ -= n;
}

void SequenceBuffer::append_rows(const SequenceBuffer& other) {
  NoGrad no_grad;
  const Shape &room = values_.shape(), &more = other.values_.shape();
  const std::int64_t rows = room[0] + more[0];
  if (other.length_ != length_ || other.values_.dtype() != values_.dtype() ||
      extended(rows, room[1], per_position(room)) != extended(rows, room[1], per_position(more))) {
    detail::wrong(
        "extend_step",
        "rows of " + std::to_string(length_) + " positions for a cache " + room.to_string(),
        std::to_string(other.length_) + " of " + more.to_string());
  }
  Tensor next =
      Tensor::zeros(values_.device(), extended(rows, room[1], per_position(room)), values_.dtype());
  if (length_ > 0) {
    const Tensor to = ops::slice(next, 1, 0, length_);
    detail::copy_into(ops::slice(to, 0, 0, room[0]).view(), values());
    detail::copy_into(ops::slice(to, 0, room[0], rows).view(), other.values());
  }
  values_ = next;
}

}  // namespace trivet
