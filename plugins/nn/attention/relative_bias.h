// SPDX-License-Identifier: Apache-2.0
// RelativeBias: T5's bias of attention scores (Raffel et al. 2020), a learned number for each head
// and bucket of distances. In: distances key - query, i32 [B or 1, Tq, Tkv]; out: f32 [B or 1,
// num_heads, Tq, Tkv].
//
// With n = query - key and m = nb / 2, where nb = num_buckets, the bucket is
//   n                                                            for 0 <= n < m
//   min(nb - 1, m + floor((nb - m) ln(n / m) / ln(max_distance / m)))     for n >= m.
// Keys after the query are in bucket 0; or, bidirectional, nb is num_buckets / 2, n is |query -
// key| and keys after the query have the second half of the buckets.
//
// Parameter "table" [num_buckets, num_heads], xavier_uniform unless set. T5 uses one table for all
// blocks of a stack; a template with a `shared` name does the same. Otherwise each block has its
// own table, as in Praxis.
#pragma once

#include <string>
#include <vector>

#include "trivet/layer.h"

namespace trivet::nn {

struct RelativeBiasConfig : LayerConfig {
  std::int64_t num_heads = 0;
  std::int64_t relative_attention_num_buckets = 32;
  std::int64_t relative_attention_max_distance = 128;
  bool bidirectional = false;
  InitConfig init;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(RelativeBiasConfig, trivet::LayerConfig,
              (num_heads, "Heads; 0 in a template: those of the attention around it.", at_least(0)),
              (relative_attention_num_buckets, "Rows of the table.", between(2, 1000000)),
              (relative_attention_max_distance,
               "Distance from which all larger distances share one bucket.", between(2, 1000000)),
              (bidirectional, "Distinguishes keys after the query from those before it."),
              (init, "Initializer of the table. Default: xavier_uniform."))

class RelativeBias final : public Layer {
 public:
  using Config = RelativeBiasConfig;
  RelativeBias(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& distances, FpropContext& context) override;

 private:
  std::string path_;
  Device& device_;
  std::int64_t max_distance_;
  // The bucket of each distance -max_distance .. max_distance; larger distances use the last ones.
  std::vector<std::int32_t> buckets_;
  Parameter& table_;
};

}  // namespace trivet::nn
