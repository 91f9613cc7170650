// SPDX-License-Identifier: Apache-2.0
#include "nn/encoders/bigbird_attention.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "nn/basic/sequence_context.h"
#include "trivet/tape.h"

namespace trivet::nn {
namespace {

constexpr const char* kBigBird = "nn/BigBirdAttention";
// Segments of positions that fill the last block, and of blocks that fill a list of blocks. Others
// are -1 or more.
constexpr float kFilling = -2;
constexpr float kNoBlock = -3;

// Blocks that every block sees, at most.
constexpr std::int64_t kFixed = 5;

Tensor filled(Device& device, const Shape& shape, float value) {
  return ops::add(Tensor::zeros(device, shape), value);
}

}  // namespace

BigBirdAttention::BigBirdAttention(const Config& config, Scope& scope)
    : path_(scope.path()),
      products_(kBigBird, config, scope),
      block_size_(config.block_size),
      random_(config.num_rand_blocks),
      key_(RngKey(static_cast<std::uint64_t>(config.seed)).fold(path_)),
      dropout_(static_cast<float>(config.atten_dropout)) {}

std::vector<std::int32_t> BigBirdAttention::seen(std::int64_t blocks, std::int64_t head,
                                                 std::int64_t block) const {
  std::vector<std::int32_t> list;
  const auto add = [&](std::int64_t other) {
    const auto number = static_cast<std::int32_t>(other);
    if (std::ranges::find(list, number) != list.end()) return false;
    list.push_back(number);
    return true;
  };
  const bool is_global = block == 0 || block == blocks - 1;
  add(0);
  add(blocks - 1);
  for (std::int64_t near = std::max<std::int64_t>(block - 1, 0);
       near <= std::min(block + 1, blocks - 1); ++near) {
    add(near);
  }
  if (is_global || blocks - std::ssize(list) <= random_) {
    for (std::int64_t other = 0; other < blocks; ++other) add(other);
    return list;
  }
  const RngKey key =
      key_.fold(static_cast<std::uint64_t>(head)).fold(static_cast<std::uint64_t>(block));
  std::uint32_t bits[1];
  const std::int64_t wanted = std::ssize(list) + random_;
  for (std::int64_t draw = 0; std::ssize(list) < wanted; ++draw) {
    random_bits(key, static_cast<std::uint64_t>(draw), bits);
    add(static_cast<std::int64_t>(bits[0] % static_cast<std::uint64_t>(blocks)));
  }
  return list;
}

BigBirdAttention::Blocks BigBirdAttention::in_blocks(const Tensor& x, FpropContext& context) const {
  const std::int64_t length = x.dim(1);
  const std::int64_t blocks = (length + block_size_ - 1) / block_size_;
  const std::int64_t more = blocks * block_size_ - length;
  const auto whole = [&](const Tensor& y) { return more == 0 ? y : ops::pad(y, 1, 0, more); };
  Blocks all{.q = whole(products_.queries(x, context)),
             .k = whole(products_.keys(x, context)),
             .v = whole(products_.values(x, context)),
             .segments = segments_of(fitting(context.segment_ids, x), fitting(context.paddings, x)),
             .blocks = blocks};
  const NoGrad no_grad;
  if (!all.segments.defined()) {
    all.segments = Tensor::zeros(x.device(), {x.dim(0), length}, DType::i32);
  }
  if (more == 0) return all;
  const Tensor parts[] = {ops::cast(all.segments, DType::f32),
                          filled(x.device(), {x.dim(0), more}, kFilling)};
  all.segments = ops::cast(ops::concat(parts, 1), DType::i32);
  return all;
}

void BigBirdAttention::set_dropout(ops::AttentionOptions& options, const std::string& part,
                                   const FpropContext& context) const {
  if (!context.train || dropout_ == 0) return;
  options.dropout = dropout_;
  options.dropout_key = context.key_for(path_, part);
}

Tensor BigBirdAttention::global(const Blocks& all, std::int64_t begin, std::int64_t end,
                                FpropContext& context) const {
  ops::AttentionOptions options;
  options.q_segments = ops::slice(all.segments, 1, begin, end);
  options.kv_segments = all.segments;
  set_dropout(options, begin == 0 ? "first_dropout" : "last_dropout", context);
  return ops::attention(ops::slice(all.q, 1, begin, end), all.k, all.v, options);
}

Tensor BigBirdAttention::between(const Blocks& all, FpropContext& context) const {
  const std::int64_t batch = all.q.dim(0), heads = products_.heads(), dims = products_.head_dims();
  const std::int64_t middle = all.blocks - 2, most = std::min(kFixed + random_, all.blocks);
  // Row (b, h, n) of keys and values is block n of head h; row (b, n) of segments is block n.
  std::vector<std::int32_t> of_keys, of_segments;
  const auto no_block = static_cast<std::int32_t>(batch * all.blocks);
  std::vector<std::vector<std::int32_t>> lists;
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t block = 1; block <= middle; ++block) {
      lists.push_back(seen(all.blocks, head, block));
    }
  }
  for (std::int64_t row = 0; row < batch; ++row) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const std::int64_t head = static_cast<std::int64_t>(i) / middle;
      const auto first = static_cast<std::int32_t>((row * heads + head) * all.blocks);
      for (std::size_t j = 0; std::cmp_less(j, most); ++j) {
        const bool is_block = j < lists[i].size();
        of_keys.push_back(first + (is_block ? lists[i][j] : 0));
        of_segments.push_back(is_block ? static_cast<std::int32_t>(row * all.blocks) + lists[i][j]
                                       : no_block);
      }
    }
  }
  Device& device = all.q.device();
  const std::int64_t queries = batch * heads * middle;
  const Tensor keys_at = Tensor::from<std::int32_t>(device, of_keys, {queries, most});
  const auto by_block = [&](const Tensor& x) {  // [B, T, H, D] -> [B * H * blocks, w * D]
    return ops::reshape(ops::contiguous(ops::transpose(x, {0, 2, 1, 3})),
                        {batch * heads * all.blocks, block_size_ * dims});
  };
  const auto gathered = [&](const Tensor& x) {
    return ops::reshape(ops::gather_rows(by_block(x), keys_at),
                        {queries, most * block_size_, 1, dims});
  };
  ops::AttentionOptions options;
  {
    const NoGrad no_grad;
    const Tensor of_blocks =
        ops::cast(ops::reshape(all.segments, {batch * all.blocks, block_size_}), DType::f32);
    const Tensor rows[] = {of_blocks, filled(device, {1, block_size_}, kNoBlock)};
    const Tensor at = Tensor::from<std::int32_t>(device, of_segments, {queries, most});
    options.kv_segments = ops::cast(
        ops::reshape(ops::gather_rows(ops::concat(rows, 0), at), {queries, most * block_size_}),
        DType::i32);
    const Tensor inner = ops::slice(ops::reshape(all.segments, {batch, 1, all.blocks, block_size_}),
                                    2, 1, middle + 1);
    options.q_segments =
        ops::reshape(ops::contiguous(ops::expand(inner, {batch, heads, middle, block_size_})),
                     {queries, block_size_});
  }
  set_dropout(options, "atten_dropout", context);
  const Tensor q =
      ops::slice(ops::reshape(by_block(all.q), {batch, heads, all.blocks, block_size_ * dims}), 2,
                 1, middle + 1);
  const Tensor mixed =
      ops::attention(ops::reshape(ops::contiguous(q), {queries, block_size_, 1, dims}),
                     gathered(all.k), gathered(all.v), options);
  return ops::transpose(ops::reshape(mixed, {batch, heads, middle * block_size_, dims}),
                        {0, 2, 1, 3});
}

Tensor BigBirdAttention::fprop(const Tensor& x, FpropContext& context) {
  products_.check(x);
  if (x.dim(1) == 0) return x;
  const Blocks all = in_blocks(x, context);
  const std::int64_t length = x.dim(1), whole = all.blocks * block_size_;
  if (all.blocks < 3) {
    const Tensor mixed = global(all, 0, whole, context);
    return products_.output(ops::contiguous(ops::slice(mixed, 1, 0, length)), context);
  }
  const Tensor parts[] = {global(all, 0, block_size_, context),
                          ops::contiguous(between(all, context)),
                          global(all, whole - block_size_, whole, context)};
  const Tensor mixed = ops::concat(parts, 1);
  return products_.output(ops::contiguous(ops::slice(mixed, 1, 0, length)), context);
}

}  // namespace trivet::nn
