// SPDX-License-Identifier: Apache-2.0
// The base of recurrent layers. x [B, T, input_dims] is read position by position; each position
// updates the state. The output at a position is the first tensor of the state, [B, T,
// output_dims].
//
// The state starts at 0. Padding (the context's paddings) does not change it. If the context has
// segment_ids, the state restarts at 0 before each segment. With `reverse` positions are read from
// last to first. Layers without `reverse` decode with a cache (trivet/layer/extend_step.h), which
// holds the state.
//
// With `zoneout` (Krueger et al. 2016), in training each element of the state keeps its old value
// at a position with that probability. Outside training it becomes the mean: zoneout * old + (1 -
// zoneout) * new. The choice is drawn as in dropout.h, independently for every position.
#pragma once

#include <string>
#include <vector>

#include "trivet/layer.h"
#include "trivet/layer/extend_step.h"
#include "trivet/recurrent/scan.h"

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
  using State = RecurrentState;  // each [B, output_dims]; the first is the output
  // `states`: the number of tensors in a state.
  Recurrent(std::string_view type, const RecurrentConfig& config, std::size_t states,
            const Scope& scope);
  // The part independent of the state, for all positions: x [B, T, input_dims] -> [B, T, ..].
  virtual Tensor project(const Tensor& x) const = 0;
  // The next state, from one position's projection [B, ..].
  virtual State next(const Tensor& projected, const State& state) const = 0;
  // All positions: the outputs [B, T, output_dims]. `state` is that before them, empty for zeros,
  // and becomes that after them. This one calls next().
  virtual Tensor scan(Tensor projected, State& state, const ScanOptions& positions) const;
  std::int64_t output_dims() const { return output_dims_; }

 private:
  struct Cache;
  // Reads all positions of x, which follow those of `past`.
  Tensor run(const Tensor& x, const FpropContext& context, Cache& past) const;
  Tensor step_through(const Tensor& projected, State& state, const ScanOptions& positions,
                      const ScanStep& step) const;
  // The state after a position, from the state before it and the candidate state.
  State zoned_out(const State& before, const State& after, const FpropContext& context,
                  std::int64_t position) const;

  std::string_view type_;
  std::string path_;
  std::int64_t input_dims_, output_dims_;
  std::size_t states_;
  bool reverse_;
  float zoneout_;
};

// The output after all positions, of y [B, T, n] -> [B, n].
Tensor last_output(const Tensor& y, bool reverse);

}  // namespace trivet::nn
