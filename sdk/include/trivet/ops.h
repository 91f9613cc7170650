// SPDX-License-Identifier: Apache-2.0
// Differentiable operations on tensors.
//
// All run on the device of their first operand, which is that of the others too, check shapes and
// types before computing (Error: "[matmul] expected ..., got ..."; an operand that is no tensor is
// one too), take views everywhere, and join the current tape (tape.h) where an input requires a
// gradient. Elementwise binary ops broadcast as NumPy does. Axes may be negative. Unless said
// otherwise tensors are f32. [run-thread]
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "trivet/tensor.h"
#include "trivet/tensor/random.h"

namespace trivet {

// As tv_activation in backend.h; the gated forms halve the last axis.
enum class Activation : std::uint8_t {
  none = TV_ACT_NONE,
  relu = TV_ACT_RELU,
  tanh = TV_ACT_TANH,
  sigmoid = TV_ACT_SIGMOID,
  gelu = TV_ACT_GELU,            // x/2 (1 + erf(x / sqrt 2)), Hendrycks and Gimpel 2016
  gelu_tanh = TV_ACT_GELU_TANH,  // its tanh approximation
  silu = TV_ACT_SILU,            // x sigmoid(x)
  geglu = TV_ACT_GEGLU,          // Shazeer 2020
  geglu_tanh = TV_ACT_GEGLU_TANH,
  swiglu = TV_ACT_SWIGLU,
};

// Where ops::pad takes the new elements from: a b c d is continued to the right by the value, by
// d d d (edge), or by c b a (reflect; less than the extent).
enum class PadMode : std::uint8_t { constant, edge, reflect };

struct TopK {
  Tensor values;   // [.., k], gradient to the elements that were taken
  Tensor indices;  // i32 [.., k]
};

#pragma GCC visibility push(default)  // TRIVET_API for all of them
namespace ops {

// Elementwise
Tensor neg(const Tensor& x);
Tensor abs(const Tensor& x);  // gradient 0 at 0
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor floor(const Tensor& x);  // no gradient
Tensor square(const Tensor& x);
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor max(const Tensor& a, const Tensor& b);  // the gradient goes to a where equal
Tensor min(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& a, const Tensor& b);
Tensor add(const Tensor& a, float b);
Tensor mul(const Tensor& a, float b);
Tensor less(const Tensor& a, const Tensor& b);   // bool, no gradient
Tensor equal(const Tensor& a, const Tensor& b);  // bool, no gradient; i32 and u8 too
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor cast(const Tensor& x, DType dtype);            // gradient between floating types
Tensor activation(const Tensor& x, Activation kind);  // the slope of relu at 0 is 0
Tensor softplus(const Tensor& x);                     // log(1 + exp(x)); the gradient is sigmoid(x)
// Inverted dropout (Srivastava 2014): kept elements are divided by 1 - rate. The bits are a
// function of the key and of the index, which counts from `offset`.
Tensor dropout(const Tensor& x, float rate, RngKey key, std::uint64_t offset = 0);

// Shape. reshape, transpose, slice, expand and split share memory; the others copy.
Tensor reshape(const Tensor& x, const Shape& shape);  // one extent may be -1
Tensor transpose(const Tensor& x, std::initializer_list<int> axes);
Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end);
std::vector<Tensor> split(const Tensor& x, int axis, int parts);
Tensor expand(const Tensor& x,
              const Shape& shape);  // axes of extent 1 (or missing in front) repeated
Tensor concat(std::span<const Tensor> parts, int axis);
// `before` and `after` more elements along an axis: `value`, or what the mode says.
Tensor pad(const Tensor& x, int axis, std::int64_t before, std::int64_t after,
           PadMode mode = PadMode::constant, float value = 0);
Tensor contiguous(const Tensor& x);  // itself when it is

// Sums of the elements up to each one along the axis, that one included.
Tensor cumsum(const Tensor& x, int axis);

// The k largest along the last axis, largest first; of equals the first comes first, NaN before all
// numbers. Error unless 0 <= k <= the extent. The order is found on the host.
TopK top_k(const Tensor& x, std::int64_t k);

// Reductions over one axis, or over all elements (a scalar). `mean` of nothing is 0.
struct ReduceOptions {
  bool keep_dims = false;  // the axis stays, with extent 1
};
Tensor sum(const Tensor& x);
Tensor sum(const Tensor& x, int axis, const ReduceOptions& options = {});
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, int axis, const ReduceOptions& options = {});
// The gradient goes to the first largest.
Tensor max(const Tensor& x, int axis, const ReduceOptions& options = {});
Tensor argmax(const Tensor& x, int axis);  // i32, no gradient
// The product of nothing is 1; the gradient is right at zeros, too.
Tensor prod(const Tensor& x, int axis, const ReduceOptions& options = {});
Tensor softmax(const Tensor& x);      // over the last axis
Tensor log_softmax(const Tensor& x);  // its logarithm, also where that underflows

// Products
struct MatmulOptions {
  bool transpose_a = false, transpose_b = false;  // the last two axes
};
// a [.., m, k], b [.., k, n] -> [.., m, n]; leading axes equal, or b (or a) of rank 2 used for all.
Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options = {});

// y = act(x w + b): x [.., in], w [in, out], b [out] or undefined. No gated activations.
Tensor linear(const Tensor& x, const Tensor& w, const Tensor& b = {},
              Activation act = Activation::none);

// Normalization over the last axis; gamma and beta [n] may be undefined. Layer: Ba 2016; RMS: Zhang
// and Sennrich 2019.
Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float epsilon);
Tensor rms_norm(const Tensor& x, const Tensor& gamma, float epsilon);

// Rows of a table: table [n, d], indices i32 of any shape -> [.., d]. The gradient adds rows in
// index order.
Tensor gather_rows(const Tensor& table, const Tensor& indices);

struct AttentionOptions {
  float scale = 0;  // 0: 1 / sqrt(head dimension)
  bool causal = false;
  std::int64_t window = 0;  // 0: none; else keys at distance < window
  float softcap = 0;        // 0: none
  std::int64_t q_offset = 0;
  Tensor q_segments{}, kv_segments{};  // i32 [B, Tq], [B, Tkv]; both or neither
  // The following are composed of products and a softmax on every backend: the scores of all pairs
  // exist at once.
  Tensor bias{};       // f32 [1 or B, 1 or H, 1 or Tq, Tkv], added to the scores before the softcap
  Tensor kv_prefix{};  // f32 [B, Tkv], 1 = a key that causality does not hide
  // One more term exp(extra_logit) in the denominator of the softmax, outside the softcap, so that
  // the weights of a query add up to less than 1.
  std::optional<float> extra_logit{};
  float dropout = 0;  // of the weights after the softmax
  RngKey dropout_key{0};
};
// q [B, Tq, H, D], k and v [B, Tkv, Hkv, D] -> [B, Tq, H, D]; see tv_attention.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options = {});

// Su 2021. x [B, T, H, D], positions i32 [B, T]; turns the first `rotary` features (0: all), see
// tv_rope.
Tensor rope(const Tensor& x, const Tensor& positions, float theta = 10000, std::int64_t rotary = 0);

struct CrossEntropyOptions {
  float label_smoothing = 0;
  float z_loss = 0;
};
// Loss per row [..]: logits [.., classes], targets i32 [..]; a negative target gives loss 0 and no
// gradient, one of `classes` or more is an Error.
Tensor softmax_cross_entropy(const Tensor& logits, const Tensor& targets,
                             const CrossEntropyOptions& options = {});

struct LinearCrossEntropy {
  Tensor loss;  // scalar: sum(row_weight * loss of the row)
  Tensor per_row;
};
struct LinearCrossEntropyOptions {
  bool transpose_w = false;  // w is [classes, in], as an embedding that is shared with the input
  CrossEntropyOptions loss{};
  float softcap = 0;
};
// Classifier and loss in row chunks, so the logits never exist at once. h [.., in]; w [in,
// classes]; targets i32 and row_weight [..]. per_row carries no gradient. See tv_linear_xent.
LinearCrossEntropy linear_cross_entropy(const Tensor& h, const Tensor& w, const Tensor& targets,
                                        const Tensor& row_weight,
                                        const LinearCrossEntropyOptions& options = {});

// sum(weight * value) / sum(weight), 0 when all weights are 0; weights carry no gradient. Undefined
// weights: the mean.
Tensor weighted_mean(const Tensor& values, const Tensor& weights);

// Stops gradients: the same value, off the tape.
Tensor stop_gradient(const Tensor& x);

}  // namespace ops
#pragma GCC visibility pop
}  // namespace trivet
