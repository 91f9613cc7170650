// SPDX-License-Identifier: Apache-2.0
// SequenceModel: an encoder reads a source, a decoder writes a target (Vaswani et al. 2017; Praxis'
// TransformerEncoderDecoder).
//
//   s = encoder of the source (encoder.h): a position sees all positions of its segment
//   h = decoder of the target: a position sees itself and those before it, and all of s that
//       is in its segment, by cross-attention;   then the softmax
//
// Reads batches of data/SequenceToSequence: "src/ids", "tgt/ids" i32 and, if the batch has them,
// "segment_ids", "segment_pos" and "paddings" of both. With "tgt/labels" and "tgt/weights" it
// returns the outputs of token_losses.h, else "logits" [B, T, vocab_size].
//
// Children: "encoder_embedding" and "decoder_embedding" if they have templates, "encoder/..",
// "decoder/.." and "softmax".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "lm/models/decoder.h"
#include "lm/models/encoder.h"
#include "trivet/extensions/target_decoding.h"

namespace trivet::lm {

struct SequenceModelConfig : TransformerConfig {
  std::int64_t source_vocab_size = 0;
  std::int64_t num_encoder_layers = 0;
  std::int64_t max_source_len = 0;
  ConfigOf<Layer> encoder_embedding_tpl;
  ConfigOf<Layer> decoder_embedding_tpl;
  ConfigOf<Layer> position_emb_tpl = "nn/TrainablePositionalEmbedding";
  ConfigOf<Layer> softmax_tpl = "nn/SharedEmbeddingSoftmax";

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    SequenceModelConfig, TransformerConfig,
    (source_vocab_size, "Tokens of the source; 0: vocab_size, which is the target's.", at_least(0)),
    (num_encoder_layers, "Blocks of the encoder; 0: num_layers.", at_least(0)),
    (max_source_len, "Maximum length of a source; 0: max_seq_len, which is the target's.",
     at_least(0)),
    (encoder_embedding_tpl, "Embedding of the source's ids; none: the table of the softmax."),
    (decoder_embedding_tpl, "Embedding of the target's ids; none: the table of the softmax."),
    (position_emb_tpl,
     "Layer that adds positions to both embeddings, with separate weights. none: the blocks handle "
     "positions."),
    (softmax_tpl,
     "Logits and loss: nn/SharedEmbeddingSoftmax, nn/FullSoftmax or "
     "nn/GShardSharedEmbeddingSoftmax."))

class SequenceModel final : public Model, public TargetDecoding {
 public:
  using Config = SequenceModelConfig;
  SequenceModel(const Config& config, Scope& scope);

  NestedMap fprop(const Batch& batch, FpropContext& context) override;
  const void* extension(std::string_view id) const noexcept override;
  std::shared_ptr<const NextToken> with_sources(std::span<const Tensor> ids) const override;

 private:
  class Targets;
  // The decoder's hidden states. The context holds the encoder's output.
  Tensor hidden(const Tensor& ids, LayerCache* cache, FpropContext& context) const;

  std::optional<TokenEmbedding> encoder_embedding_, decoder_embedding_;
  std::optional<Encoder> encoder_;
  std::optional<Decoder> decoder_;
  std::shared_ptr<Layer> softmax_;
  SoftmaxHead* head_;
};

}  // namespace trivet::lm
