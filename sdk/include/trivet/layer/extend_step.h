// SPDX-License-Identifier: Apache-2.0
// Decoding with a cache: a layer is given a sequence a few positions at a time and does not compute
// again what it knows of the earlier ones.
//
// Example (sdk/examples/snippets/decoding.cpp#decoding):
//
//   auto cache = make_cache(*layer, "decoder", batch, max_length);
//   Tensor y = extend_step(*layer, prompt, cache.get(), context);  // [B, n, ..]
//   y = extend_step(*layer, next, cache.get(), context);           // [B, 1, ..]
//
// Cut into chunks of any sizes, a sequence gives what fprop gives for the whole of it. A layer
// whose output at a position depends on its input at other positions is a DecodingLayer; one that
// is local in time (norms, activations, embeddings) is a LocalLayer, and its fprop is called. A
// layer that is one of these in some configs only answers the ids itself (Layer::extension). Any
// other layer cannot decode with a cache, which make_cache says.
//
// What an FpropContext holds for [B, T] is here that of the new positions, [B, n]:
//   positions     the positions within the rows' sequences; undefined: in all rows, those
//                 that follow the positions in the cache.
//   paddings      1 = the position is put in the cache, and no other position ever sees it. So rows
//                 whose prompts have different lengths are padded to one length, at the left, with
//                 positions that count each row's own positions. (Sliding windows count padding,
//                 too. At the left it is in nobody's way.)
//   segment_ids   a cache that started with them needs them in every call.
//   inputs_indicator   a prefix that sees itself (prefix language models) comes in one chunk.
//   cross_inputs, cross_paddings, cross_segment_ids   are read with the first chunk and not again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/layer.h"
#include "trivet/tensor.h"

namespace trivet {

// What a layer knows of the positions it was given. It is made and used outside training steps,
// whose memory ends with them (device.h). [run-thread]
class TRIVET_API LayerCache {
 public:
  virtual ~LayerCache();
  LayerCache(const LayerCache&) = delete;
  LayerCache& operator=(const LayerCache&) = delete;

  // Moves row rows[i] to row i, for beam search. The number of rows may change. Throws Error for a
  // row that does not exist. [run-thread]
  virtual void reorder(std::span<const std::int32_t> rows) = 0;

  // For rows that join a batch while others continue (continuous batching, Yu et al. 2022): whether
  // the next two are there. Default: false, and they throw Error. [run-thread]
  virtual bool can_append_rows() const;
  // Brings all rows to `length` positions, aligned at the right: removes the first ones, which the
  // rows must not need any more, or adds some at the left that no other position ever sees. Throws
  // Error where there is no room. [run-thread]
  virtual void align(std::int64_t length);
  // Appends the rows of another cache of the layer, which has as many positions. From then on
  // FpropContext::positions must be given. [run-thread]
  virtual void append_rows(const LayerCache& other);

  // For positions that were only a guess (speculative decoding, Leviathan et al. 2023): whether the
  // next one is there. Default: false, and it throws Error. [run-thread]
  virtual bool can_remove_last() const;
  // Removes the last n positions of all rows, of those that the cache holds. [run-thread]
  virtual void remove_last(std::int64_t n);

 protected:
  LayerCache() = default;
};

// Id for Layer::extension; what it returns points to an ExtendStep.
inline constexpr std::string_view kLayerExtendStep = "trivet.layer.extend_step/3";
// Id for Layer::extension; not null: outside training, fprop computes each position of [B, T, ..]
// (or of ids [B, T]) from that position alone. Also in training, unless the layer has states: then
// a device along seq may compute some positions alone (trivet/layer/sequence_blocks.h).
inline constexpr std::string_view kLayerLocalInTime = "trivet.layer.local_in_time/1";

class ExtendStep {
 public:
  // Room for max_length positions in each of `batch` rows. Throws Error where the layer, as it is
  // configured, sees positions that are still to come. [run-thread]
  virtual std::unique_ptr<LayerCache> make_cache(std::int64_t batch,
                                                 std::int64_t max_length) const = 0;
  // x holds the positions after those in the cache, which is one of this layer's make_cache, and
  // then also holds these. Returns [B, n, ..], as fprop. Throws Error when they are more than it
  // has room for. [run-thread]
  virtual Tensor extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) = 0;

 protected:
  ~ExtendStep() = default;
};

// A layer that is an ExtendStep, however it is configured.
class TRIVET_API DecodingLayer : public Layer, public ExtendStep {
 public:
  const void* extension(std::string_view id) const noexcept override;
};

// A layer that is local in time, however it is configured.
class TRIVET_API LocalLayer : public Layer {
 public:
  const void* extension(std::string_view id) const noexcept override;
};

// Null where the layer needs none. Throws Error, naming the layer by `name`, where it can do
// without neither: a layer is neither an ExtendStep nor local in time.
TRIVET_API std::unique_ptr<LayerCache> make_cache(const Layer& layer, std::string_view name,
                                                  std::int64_t batch, std::int64_t max_length);

// `cache` is what make_cache returned for this layer. The call records nothing on a tape.
TRIVET_API Tensor extend_step(Layer& layer, const Tensor& x, LayerCache* cache,
                              FpropContext& context);

// For layers made of layers: one cache for each that is there, null ones included.
class TRIVET_API LayerCaches final : public LayerCache {
 public:
  // A null layer has a null cache.
  void add(const Layer* layer, std::string_view name, std::int64_t batch, std::int64_t max_length);
  LayerCache* at(std::size_t i) const { return caches_[i].get(); }
  void reorder(std::span<const std::int32_t> rows) override;
  bool can_append_rows() const override;
  void align(std::int64_t length) override;
  void append_rows(const LayerCache& other) override;
  bool can_remove_last() const override;
  void remove_last(std::int64_t n) override;

 private:
  std::vector<std::unique_ptr<LayerCache>> caches_;
};

// For caches: the values of the positions so far, in memory for all that may come.
class TRIVET_API SequenceBuffer {
 public:
  // [rows, max_length, extents..] of `dtype`.
  SequenceBuffer(Device& device, std::int64_t rows, std::int64_t max_length,
                 std::span<const std::int64_t> extents, DType dtype = DType::f32);

  std::int64_t rows() const { return values_.dim(0); }
  std::int64_t length() const { return length_; }
  // values [rows, n, extents..]. Throws Error when they do not fit.
  void append(const Tensor& values);
  void append_zeros(std::int64_t n);  // the same for n positions of zeros
  Tensor values() const;              // [rows, length, extents..], a view
  void reorder(std::span<const std::int32_t> rows);
  // As LayerCache has them. Added positions are zeros.
  void align(std::int64_t length);
  void append_rows(const SequenceBuffer& other);
  // Throws Error for more positions than there are.
  void remove_last(std::int64_t n);

 private:
  void expect_room(std::int64_t n) const;
  Tensor values_;
  std::int64_t length_ = 0;  // the rest is zero
};

}  // namespace trivet
