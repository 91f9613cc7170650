// SPDX-License-Identifier: Apache-2.0
// What recurrent layers have in common: x [B, T, input_dims] is read position by position, each
// changes the state, and the output at a position is the state's first tensor there, [B, T,
// output_dims].
//
// The state starts at 0. Padding (the context's paddings) leaves it as it is. Where the context has
// segment_ids, it starts again at 0 in front of each segment. With `reverse` the positions are read
// from the last to the first. Those that are not reversed decode with a cache
// (trivet/layer/extend_step.h), which holds the state.
//
// With `zoneout` (Krueger et al. 2016) each element of each tensor of the state stays as it was
// before a position with that probability in training, and elsewhere becomes what it is then on
// average: zoneout * old + (1 - zoneout) * new. What stays is drawn as in dropout.h, and for every
// position anew.
#pragma once

#include <string>
#include <vector>

#include "trivet/layer.h"
#include "trivet/layer/extend_step.h"

namespace trivet::nn {

struct RecurrentConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t output_dims = 0;
  bool reverse = false;
  double zoneout = 0;
  InitConfig init;
};
TRIVET_CONFIG(RecurrentConfig, trivet::LayerConfig,
              (input_dims, "Depth of the input.", required, at_least(1)),
              (output_dims, "Depth of the state and of the output.", required, at_least(1)),
              (reverse, "Reads the positions from the last to the first."),
              (zoneout,
               "Zoneout rate in training: the share of the state that a position leaves unchanged.",
               at_least(0), less_than(1), adjustable),
              (init, "Initializer of the weights. Default: that of nn/Linear."))

class Recurrent : public DecodingLayer {
 public:
  Tensor fprop(const Tensor& x, FpropContext& context) final;
  std::unique_ptr<LayerCache> make_cache(std::int64_t batch, std::int64_t max_length) const final;
  Tensor extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) final;

 protected:
  using State = std::vector<Tensor>;  // each [B, output_dims]; the first is the output
  // `states`: how many tensors a state has.
  Recurrent(std::string_view type, const RecurrentConfig& config, std::size_t states,
            const Scope& scope);
  // What does not depend on the state, for all positions: x [B, T, input_dims] -> [B, T, ..].
  virtual Tensor project(const Tensor& x) const = 0;
  // The next state, of what was projected for one position, [B, ..].
  virtual State next(const Tensor& projected, const State& state) const = 0;
  std::int64_t output_dims() const { return output_dims_; }

 private:
  struct Cache;
  // Reads all positions of x, which follow those of `past`.
  Tensor run(const Tensor& x, const FpropContext& context, Cache& past) const;
  // The state behind a position, of that before it and of the next one.
  State zoned_out(const State& before, const State& after, const FpropContext& context,
                  std::int64_t position) const;

  std::string_view type_;
  std::string path_;
  std::int64_t input_dims_, output_dims_;
  std::size_t states_;
  bool reverse_;
  float zoneout_;
};

}  // namespace trivet::nn
