// SPDX-License-Identifier: Apache-2.0
// Attention with a cache of keys and values.
#include <algorithm>
#include <optional>
#include <vector>

#include "nn/attention/multi_head_attention.h"
#include "nn/basic/checks.h"
#include "nn/basic/sequence_context.h"

namespace trivet::nn {
namespace {

struct SelfCache final : LayerCache {
  SelfCache(Device& device, std::int64_t batch, std::int64_t room,
            std::span<const std::int64_t> head)
      : keys(device, batch, room, head),
        values(device, batch, room, head),
        segments(device, batch, room, {}, DType::i32),
        positions(device, batch, room, {}, DType::i32),
        prefix(device, batch, room, {}) {}

  void reorder(std::span<const std::int32_t> rows) override {
    for (SequenceBuffer* buffer : {&keys, &values, &segments, &positions, &prefix}) {
      buffer->reorder(rows);
    }
    convolutions.reorder(rows);
  }

  // The positions of Transformer-XL are known for all distances so far, so none may be removed.
  bool can_append_rows() const override { return !relative && convolutions.can_append_rows(); }

  void align(std::int64_t length) override {
    if (relative) return LayerCache::align(length);
    const std::int64_t added = length - keys.length();
    for (SequenceBuffer* buffer : {&keys, &values, &segments, &positions, &prefix}) {
      buffer->align(length);
    }
    convolutions.align(length);
    if (added > 0) hide_first(added);
  }

  void append_rows(const LayerCache& other) override {
    if (relative) return LayerCache::append_rows(other);
    const auto& more = static_cast<const SelfCache&>(other);
    keys.append_rows(more.keys);
    values.append_rows(more.values);
    segments.append_rows(more.segments);
    positions.append_rows(more.positions);
    prefix.append_rows(more.prefix);
    convolutions.append_rows(more.convolutions);
    segmented = segmented || more.segmented;
    prefixed = prefixed || more.prefixed;
    placed = true;
  }

  bool can_remove_last() const override { return !relative && convolutions.can_remove_last(); }

  void remove_last(std::int64_t n) override {
    if (relative) return LayerCache::remove_last(n);
    for (SequenceBuffer* buffer : {&keys, &values, &segments, &positions, &prefix}) {
      buffer->remove_last(n);
    }
    convolutions.remove_last(n);
  }

  // Puts the first positions into the segment of padding (segments_of), which no other sees.
  void hide_first(std::int64_t count) {
    const Tensor all = segments.values();
    std::vector<std::int32_t> ids = all.to_host<std::int32_t>();
    for (std::int64_t row = 0; row < all.dim(0); ++row) {
      std::fill_n(ids.begin() + row * all.dim(1), count, -1);
    }
    segments.align(0);
    segments.append(Tensor::from<std::int32_t>(all.device(), ids, all.shape()));
    segmented = true;
  }

  SequenceBuffer keys, values, segments, positions, prefix;
  LayerCaches convolutions;
  std::optional<SequenceBuffer> relative;  // equal for all rows
  // Whether any position so far had segment ids, a prefix, positions.
  bool segmented = false, prefixed = false, placed = false;
};

// Filled from the encoder's output at the first positions.
struct CrossCache final : LayerCache {
  explicit CrossCache(std::int64_t rows) : batch(rows) {}

  void reorder(std::span<const std::int32_t> rows) override {
    batch = static_cast<std::int64_t>(rows.size());
    for (auto* buffer : {&keys, &values, &segments}) {
      if (*buffer) (*buffer)->reorder(rows);
    }
  }

  bool can_remove_last() const override { return true; }
  void remove_last(std::int64_t) override {}  // has no positions of the rows

  std::int64_t batch;
  std::optional<SequenceBuffer> keys, values, segments;  // segments: only if there are any
  bool segmented = false;
};

void append_or_zeros(SequenceBuffer& buffer, const Tensor& values, std::int64_t n) {
  if (values.defined()) {
    buffer.append(values);
  } else {
    buffer.append_zeros(n);
  }
}

}  // namespace

std::unique_ptr<LayerCache> MultiHeadAttention::make_cache(std::int64_t batch,
                                                           std::int64_t max_length) const {
  if (cross_) return std::make_unique<CrossCache>(batch);
  if (!causal_) {
    throw Error("[nn/MultiHeadAttention] '" + path_ +
                    "': attention that sees later positions cannot decode with a cache",
                {.hint = "set causal = true"});
  }
  for (const auto* product : {&products_[kQuery], &products_[kKey], &products_[kValue], &output_}) {
    trivet::make_cache(**product, path_, batch, max_length);  // throws if it is not local in time
  }
  const std::int64_t head[] = {kv_heads_, head_dims_};
  auto cache = std::make_unique<SelfCache>(device_, batch, max_length, head);
  for (const auto& convolution : convolutions_) {
    cache->convolutions.add(convolution.get(), path_ + "/dconv", batch, max_length);
  }
  if (relative_) cache->relative = relative_->make_buffer(max_length);
  return cache;
}

Tensor MultiHeadAttention::extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) {
  check_input(x);
  if (cross_) return cross_extend_step(x, cache, context);
  auto& past = static_cast<SelfCache&>(cache);
  const std::int64_t n = x.dim(1), first = past.keys.length();
  const Tensor positions = positioned() ? positions_of(x, context, first) : Tensor();
  const Tensor q = queries(x, positions, &past.convolutions, context);
  const KeysAndValues fresh = keys_and_values(x, positions, &past.convolutions, context);
  past.keys.append(fresh.keys);
  past.values.append(fresh.values);
  const Tensor segments =
      segments_of(fitting(context.segment_ids, x), fitting(context.paddings, x));
  append_or_zeros(past.segments, segments, n);
  past.segmented = past.segmented || segments.defined();
  const Tensor prefix = fitting(context.inputs_indicator, x);
  append_or_zeros(past.prefix, prefix, n);
  past.prefixed = past.prefixed || prefix.defined();
  append_or_zeros(past.positions, positions, n);
  past.placed = past.placed || fitting(context.positions, x).defined();

  const KeysAndValues all{past.keys.values(), past.values.values()};
  ops::AttentionOptions how = options(context, first);
  if (past.segmented) set_segments(how, x, segments, all.keys, past.segments.values());
  if (past.prefixed) how.kv_prefix = past.prefix.values();
  if (relative_bias_) {
    how.bias = bias(positions, past.positions.values(), !past.placed, context);
  }
  SequenceBuffer* known = past.relative ? &*past.relative : nullptr;
  return attend(q, all, how, known, context);
}

Tensor MultiHeadAttention::cross_extend_step(const Tensor& x, LayerCache& cache,
                                             FpropContext& context) {
  auto& past = static_cast<CrossCache&>(cache);
  if (!past.keys) {
    const Source source = cross_source(x, context);
    const std::int64_t head[] = {kv_heads_, head_dims_}, positions = source.kv.keys.dim(1);
    past.keys.emplace(device_, past.batch, positions, head);
    past.values.emplace(device_, past.batch, positions, head);
    past.keys->append(source.kv.keys);
    past.values->append(source.kv.values);
    past.segmented = source.segmented;
    if (source.segments.defined()) {
      past.segments.emplace(device_, past.batch, positions, std::span<const std::int64_t>(),
                            DType::i32);
      past.segments->append(source.segments);
    }
  }
  const Source source{{past.keys->values(), past.values->values()},
                      past.segments ? past.segments->values() : Tensor(),
                      past.segmented};
  return cross_attend(x, source, context);
}

}  // namespace trivet::nn
