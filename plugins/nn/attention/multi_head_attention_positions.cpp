// SPDX-License-Identifier: Apache-2.0
// Attention whose positions are in blocks on the devices along seq.
#include <algorithm>

#include "nn/attention/multi_head_attention.h"
#include "nn/basic/sequence_context.h"
#include "trivet/ops/ops_mesh.h"
#include "trivet/tape.h"

namespace trivet::nn {

// What combines positions itself takes the whole.
const void* MultiHeadAttention::extension(std::string_view id) const noexcept {
  if (id != kLayerSequenceBlocks) return DecodingLayer::extension(id);
  const auto is_local = [](const std::shared_ptr<Layer>& product) {
    return product->extension(kLayerLocalInTime) != nullptr;
  };
  const bool can = !relative_ && convolutions_[kQuery] == nullptr &&
                   std::ranges::all_of(products_, is_local) && is_local(output_);
  return can ? static_cast<const SequenceBlocks*>(this) : nullptr;
}

MultiHeadAttention::HeadBlocks MultiHeadAttention::projected(const Tensor& x,
                                                             FpropContext& context) const {
  check_input(x);
  const Tensor positions = rotary_ ? positions_of(x, context) : Tensor();
  if (makes_blocks()) return make_blocks(x, positions, context);
  const Tensor q = queries(x, positions, nullptr, context);
  return blocks_of(q, keys_and_values(x, positions, nullptr, context));
}

ops::AttentionOptions MultiHeadAttention::run_options(const Tensor& x, std::int64_t begin,
                                                      const SequenceCut::Run& run,
                                                      const Tensor& keys, const SequenceCut& cut,
                                                      FpropContext& context) const {
  const auto of_run = [&](const Tensor& of_block) {
    const NoGrad no_grad;
    return of_block.defined() ? ops::slice(of_block, 1, begin, begin + run.count) : of_block;
  };
  const FpropContext& all = cut.whole();
  const Tensor segments =
      segments_of(fitting(context.segment_ids, x), fitting(context.paddings, x));
  ops::AttentionOptions how = options(context, run.first);
  set_segments(how, of_run(x), of_run(segments), keys,
               segments_of(fitting(all.segment_ids, keys), fitting(all.paddings, keys)));
  if (causal_) how.kv_prefix = fitting(all.inputs_indicator, keys);
  if (relative_bias_) {
    how.bias = bias(of_run(positions_of(x, context)), positions_of(keys, all),
                    !fitting(all.positions, keys).defined(), context);
  }
  if (begin > 0) how.dropout_key = how.dropout_key.fold(static_cast<std::uint64_t>(begin));
  return how;
}

Tensor MultiHeadAttention::attend_runs(const Tensor& x, const HeadBlocks& blocks, std::size_t i,
                                       const SequenceCut& cut, FpropContext& context) const {
  std::vector<std::vector<Tensor>> mixed(blocks.q.size());  // of each block of heads, by run
  std::int64_t begin = 0;
  for (const SequenceCut::Run& run : cut.runs(i)) {
    HeadBlocks asking = blocks;
    for (Tensor& q : asking.q) q = ops::slice(q, 1, begin, begin + run.count);
    const std::vector<Tensor> y =
        mixed_blocks(asking, run_options(x, begin, run, blocks.keys.front(), cut, context));
    for (std::size_t heads = 0; heads < y.size(); ++heads) mixed[heads].push_back(y[heads]);
    begin += run.count;
  }
  std::vector<Tensor> joined;
  for (const std::vector<Tensor>& runs : mixed) {
    joined.push_back(runs.size() == 1 ? runs.front() : ops::concat(runs, 1));
  }
  return output_of(joined, context);
}

// Every device has all of the other sequence.
std::vector<Tensor> MultiHeadAttention::cross_blocks(std::span<const Tensor> x,
                                                     SequenceCut& cut) const {
  FpropContext all = cut.context(0);
  all.key = cut.whole().key;
  const Source source = cross_source(x.front(), all);
  const std::vector<Tensor> keys = ops::fan_out(source.kv.keys, cut.axis());
  const std::vector<Tensor> values = ops::fan_out(source.kv.values, cut.axis());
  std::vector<Tensor> y(x.size());
  cut.for_each([&](std::size_t i, FpropContext& own) {
    y[i] = cross_attend(x[i], {{keys[i], values[i]}, source.segments, source.segmented}, own);
  });
  return y;
}

std::vector<Tensor> MultiHeadAttention::fprop_blocks(std::span<const Tensor> x, SequenceCut& cut) {
  if (cross_) return cross_blocks(x, cut);
  std::vector<HeadBlocks> blocks(x.size());
  cut.for_each([&](std::size_t i, FpropContext& own) { blocks[i] = projected(x[i], own); });
  for (std::size_t heads = 0; heads < blocks.front().keys.size(); ++heads) {
    for (const auto member : {&HeadBlocks::keys, &HeadBlocks::values}) {
      std::vector<Tensor> parts;
      for (const HeadBlocks& block : blocks) parts.push_back((block.*member)[heads]);
      const std::vector<Tensor> wholes = ops::fan_out(cut.whole_of(parts), cut.axis());
      for (std::size_t i = 0; i < x.size(); ++i) (blocks[i].*member)[heads] = wholes[i];
    }
  }
  std::vector<Tensor> y(x.size());
  cut.for_each(
      [&](std::size_t i, FpropContext& own) { y[i] = attend_runs(x[i], blocks[i], i, cut, own); });
  return y;
}

}  // namespace trivet::nn
