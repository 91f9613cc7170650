// SPDX-License-Identifier: Apache-2.0
// Quantizer: numbers x as integers q of few bits, with a scale for each group of them. With
// c = clipping_coeff and the integers lo .. hi = -2^(bits - 1) .. 2^(bits - 1) - 1, or
// 0 .. 2^bits - 1 with unsigned_int_bounds:
//
//   symmetric     scale = c max |x| / hi,                z = 0
//   asymmetric    scale = c (max x - min x) / (hi - lo), z = lo - c min x / scale
//
//   q = clip(floor(x / scale + z + 1/2), lo, hi),  x' = scale q - scale z
//
// The formulas are those of Praxis' TensorQuantizer (Jacob et al. 2018). In a group of zeros q is
// 0; an asymmetric group of equal numbers has the scale 1, and x' = x.
//
// Gradients: that of the rounding is 1 where x is inside the range, and 0 where it was clipped (the
// straight-through estimator, Bengio et al. 2013). Those of scale and z are left out with
// stop_scale_gradient, so that x' has the gradient of x.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trivet/layer.h"

namespace trivet::nn {

struct QuantizationConfig : LayerConfig {
  std::int64_t bits = 8;
  bool use_symmetric = true;
  bool unsigned_int_bounds = false;
  double clipping_coeff = 1;
  bool stop_scale_gradient = true;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    QuantizationConfig, trivet::LayerConfig, (bits, "Bits of the integers.", between(2, 16)),
    (use_symmetric,
     "Integers are symmetric around 0; false: from the smallest to the largest number, with a zero "
     "point."),
    (unsigned_int_bounds,
     "Integers without sign, for numbers that are at least 0. Negative numbers become 0."),
    (clipping_coeff, "Share of the range that is kept. Numbers beyond it are clipped.",
     more_than(0), at_most(1)),
    (stop_scale_gradient, "Leaves the gradient of the scale out."))

// x' = scale * integers - offset, by broadcasting. The integers are whole numbers in f32.
struct Quantized {
  Tensor integers, scale;
  Tensor offset;  // scale times zero point; undefined where it is 0

  Tensor values() const;  // x'
};

class Quantizer {
 public:
  explicit Quantizer(const QuantizationConfig& config);

  // x [A, N, B], with a scale [A, 1, B]: the groups are along the second axis. `clipping`, [1, 1,
  // 1] or [A, 1, B], replaces clipping_coeff if it is defined.
  Quantized quantize(const Tensor& x, const Tensor& clipping = {}) const;
  // x', with the gradient of x for stop_scale_gradient.
  Tensor nearest(const Tensor& x, const Tensor& clipping = {}) const;

  bool symmetric() const { return symmetric_; }

 private:
  struct Grid {
    Tensor scale, zero;  // zero is undefined if it is 0
  };
  Grid grid(const Tensor& x, const Tensor& clipping) const;
  struct Rounded {
    Tensor scaled, integers{};
    Grid grid;
    Tensor inside{};  // undefined if nothing can be clipped
  };
  Tensor clipped(const Tensor& bound, const Tensor& clipping) const;
  Rounded rounded(const Tensor& x, const Tensor& clipping) const;

  bool symmetric_, stop_gradient_, clips_;
  float low_, high_, clipping_;
};

// Id for Layer::extension; what it returns points to a QuantizingLayer.
inline constexpr std::string_view kQuantizingLayer = "trivet.nn.quantizing_layer/1";

// A layer of a product's weights or inputs that quantizes them.
class QuantizingLayer {
 public:
  // Integers of x, of its shape, and a scale that can be taken out of the sums of a product;
  // nothing if there is none, for example with a zero point.
  virtual std::optional<Quantized> factored(const Tensor& x, FpropContext& context) = 0;

 protected:
  ~QuantizingLayer() = default;
};

}  // namespace trivet::nn
