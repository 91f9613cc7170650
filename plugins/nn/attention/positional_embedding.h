// SPDX-License-Identifier: Apache-2.0
// Positions added to a sequence, x [B, T, D] -> x + p(position) of the same shape. Positions are
// the context's, else 0, 1, .. in each row; with a cache (trivet/layer/extend_step.h) they continue
// from its end. (Praxis' layers of these names return p, which its models add.)
//
// PositionalEmbedding, Vaswani et al. 2017 in Praxis' layout: p is the sines of all angles, then
// the cosines, and a 0 for an odd D:
//   n = D / 2;  angle i = position * min_timescale * exp(-i ln(max_timescale / min_timescale) /
//   max(n - 1, 1)).
// (Praxis multiplies by min_timescale, too, where the usual formula divides.) In f32, so an angle
// is off by up to position * 6e-8.
//
// TrainablePositionalEmbedding: p is a row of the parameter "table" [max_seq_length, input_dims],
// normal with standard deviation 1 / sqrt(input_dims) unless set. A position of max_seq_length or
// more is an Error.
#pragma once

#include <string>

#include "trivet/layer.h"
#include "trivet/layer/extend_step.h"

namespace trivet::nn {

struct PositionalEmbeddingConfig : LayerConfig {
  std::int64_t input_dims = 0;
  double min_timescale = 1;
  double max_timescale = 10000;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(PositionalEmbeddingConfig, trivet::LayerConfig,
              (input_dims, "Depth of the input; 0 in a template: as the layer around it.",
               at_least(0)),
              (min_timescale, "Factor of all angles.", more_than(0)),
              (max_timescale, "The slowest sine has a period of 2 pi times this.", more_than(0)))

struct TrainablePositionalEmbeddingConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t max_seq_length = 10240;
  InitConfig init;
};
TRIVET_CONFIG(
    TrainablePositionalEmbeddingConfig, trivet::LayerConfig,
    (input_dims, "Depth of the input; 0 in a template: as the layer around it.", at_least(0)),
    (max_seq_length, "Rows of the table.", at_least(1)),
    (init,
     "Initializer of the table. Default: normal with standard deviation 1 / sqrt(input_dims)."))

// The sines and cosines of positions i32 [B, T], which may be negative: f32 [B, T, dims].
Tensor sinusoids(const Tensor& positions, std::int64_t dims, double min_timescale = 1,
                 double max_timescale = 10000);

// x + at(positions i32 [B, T]).
class AddedPositions : public DecodingLayer {
 public:
  Tensor fprop(const Tensor& x, FpropContext& context) final;
  std::unique_ptr<LayerCache> make_cache(std::int64_t batch, std::int64_t max_length) const final;
  Tensor extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) final;

 protected:
  AddedPositions(std::string_view type, const Scope& scope, std::int64_t input_dims)
      : type_(type), path_(scope.path()), input_dims_(input_dims) {}
  virtual Tensor at(const Tensor& positions) const = 0;
  // Throws Error if positions that are counted here exceed the limit.
  virtual void check_length(std::int64_t) const {}
  const std::string& path() const { return path_; }
  std::int64_t input_dims() const { return input_dims_; }

 private:
  Tensor added(const Tensor& x, const FpropContext& context, std::int64_t first) const;
  std::string_view type_;
  std::string path_;
  std::int64_t input_dims_;
};

class PositionalEmbedding final : public AddedPositions {
 public:
  using Config = PositionalEmbeddingConfig;
  PositionalEmbedding(const Config& config, Scope& scope);

 private:
  Tensor at(const Tensor& positions) const override;
  double min_timescale_, max_timescale_;
};

class TrainablePositionalEmbedding final : public AddedPositions {
 public:
  using Config = TrainablePositionalEmbeddingConfig;
  TrainablePositionalEmbedding(const Config& config, Scope& scope);

 private:
  Tensor at(const Tensor& positions) const override;
  void check_length(std::int64_t length) const override;
  Parameter& table_;
};

}  // namespace trivet::nn
