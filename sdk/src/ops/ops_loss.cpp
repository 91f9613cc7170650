// SPDX-License-Identifier: Apache-2.0
// Softmax cross entropy, alone and together with the classifier in front of it.
#include <algorithm>

#include "ops/op_support.h"

namespace trivet {
namespace {

using ops::CrossEntropyOptions;

struct Rows {
  std::int64_t rows, classes;
};

Rows rows_of(const Tensor& logits) {
  const std::int64_t classes = logits.dim(-1);
  return {classes > 0 ? logits.size() / classes : 0, classes};
}

tv_softmax_xent arguments(const Tensor& logits, const Tensor& targets,
                          const CrossEntropyOptions& options) {
  const Rows shape = rows_of(logits);
  tv_softmax_xent args{};
  args.struct_size = sizeof args;
  args.dtype = TV_F32;
  args.rows = shape.rows;
  args.classes = shape.classes;
  args.logits = detail::memory(logits);
  args.targets = static_cast<const std::int32_t*>(detail::memory(targets));
  args.smoothing = options.label_smoothing;
  args.z_loss = options.z_loss;
  return args;
}

// Loss per row out of elementwise ops, for autograd to follow. The largest logit of a row is taken
// off before anything is added up, so that large logits cost no digits.
Tensor composed(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options) {
  const Rows shape = rows_of(logits);
  Device& device = logits.device();
  const Tensor x = ops::reshape(logits, {shape.rows, shape.classes});
  Tensor hit, counts;
  {
    NoGrad no_grad;
    const Tensor wanted = ops::reshape(targets, {shape.rows, 1});
    hit = ops::equal(ops::expand(device.impl().iota(shape.classes), x.shape()),
                     ops::expand(wanted, x.shape()));
    counts = detail::counting_rows(device, targets, shape.classes);
  }
  const Tensor top = ops::stop_gradient(ops::max(ops::stop_gradient(x), 1, {.keep_dims = true}));
  const Tensor shifted = ops::sub(x, top);
  const Tensor log_sum = ops::log(ops::sum(ops::exp(shifted), 1));
  const Tensor zeros = Tensor::zeros(device, x.shape());
  Tensor picked = ops::sum(ops::where(hit, shifted, zeros), 1);
  if (options.label_smoothing > 0) {
    picked = ops::add(ops::mul(picked, 1 - options.label_smoothing),
                      ops::mul(ops::mean(shifted, 1), options.label_smoothing));
  }
  Tensor loss = ops::sub(log_sum, picked);
  if (options.z_loss > 0) {
    const Tensor lse = ops::add(log_sum, ops::reshape(top, {shape.rows}));
    loss = ops::add(loss, ops::mul(ops::square(lse), options.z_loss));
  }
  return ops::reshape(ops::mul(loss, counts), targets.shape());
}

void xent_vjp(Vjp& v) {
  const auto& options = v.attributes<CrossEntropyOptions>();
  const Tensor &logits = v.saved(0), &targets = v.saved(1);
  Device& device = logits.device();
  const Tensor row_grad = detail::packed(v.grad_output());
  const Tensor dlogits = Tensor::empty(device, logits.shape());
  tv_softmax_xent args = arguments(logits, targets, options);
  args.row_grad = static_cast<const float*>(detail::memory(row_grad));
  args.lse = static_cast<float*>(detail::memory(v.saved(2)));
  args.dlogits = detail::memory(dlogits);
  if (device.try_kernel("softmax_xent", &tv_backend::softmax_xent, &args)) {
    v.add(0, dlogits);
    return;
  }
  detail::gradient_by_composition(
      v, std::span(&logits, 1), [&](auto inputs) { return composed(inputs[0], targets, options); });
}
constexpr OpDef kCrossEntropy{"softmax_cross_entropy", xent_vjp};

// On host-visible devices a class that does not exist is found here, with a better text; elsewhere
// the backend finds it.
void expect_classes(const char* op, const Tensor& targets, std::int64_t classes) {
  if (!targets.device().host_visible()) return;
  const std::span<const std::int32_t> values = targets.span<std::int32_t>();
  for (std::size_t row = 0; row < values.size(); ++row) {
    if (values[row] < classes) continue;
    detail::wrong(op, "targets below " + std::to_string(classes),
                  std::to_string(values[row]) + " in row " + std::to_string(row));
  }
}

// ---- with the classifier

struct Head {
  bool w_transposed;
  CrossEntropyOptions options;
  float softcap;
};

// Which gradients are asked for: weights may be frozen, or what is below them.
struct Wanted {
  bool dh, dw;
};

struct HeadGradients {
  Tensor per_row, dh, dw;  // the gradients undefined where they are not wanted
};

// Loss and gradients chunk by chunk: the logits of one chunk exist at a time.
HeadGradients chunked(const Tensor& h, const Tensor& w, const Head& head, const Tensor& targets,
                      const Tensor& row_weight, Wanted gradients) {
  NoGrad no_grad;
  Device& device = h.device();
  const FlopCount flops = device.flop_count();
  const std::int64_t rows = h.dim(0), in = h.dim(1);
  HeadGradients out;
  out.per_row = Tensor::zeros(device, {rows});
  if (gradients.dh) out.dh = Tensor::zeros(device, h.shape());
  if (gradients.dw) out.dw = Tensor::zeros(device, w.shape());
  for (std::int64_t begin = 0; begin < rows; begin += detail::kLossChunkRows) {
    const std::int64_t end = std::min(rows, begin + detail::kLossChunkRows);
    const Tensor part = ops::slice(h, 0, begin, end);
    const Tensor target = ops::slice(targets, 0, begin, end);
    const Tensor weight = ops::slice(row_weight, 0, begin, end);
    GradientSlot slot;
    const Tensor raw = make_leaf(ops::matmul(part, w, {.transpose_b = head.w_transposed}), slot);
    Tape tape;
    Tensor loss;
    {
      Tape::Recording recording(tape);
      Tensor logits = raw;
      if (head.softcap > 0) {
        logits = ops::mul(ops::tanh(ops::mul(raw, 1 / head.softcap)), head.softcap);
      }
      loss = ops::softmax_cross_entropy(logits, target, head.options);
    }
    detail::copy_into(ops::slice(out.per_row, 0, begin, end).view(), loss);
    if (!gradients.dh && !gradients.dw) continue;
    tape.backward(loss, weight);
    const Tensor& dlogits = slot.gradient;
    if (gradients.dh) {
      detail::copy_into(ops::slice(out.dh, 0, begin, end).view(),
                        ops::matmul(dlogits, w, {.transpose_b = !head.w_transposed}));
    }
    if (!gradients.dw) continue;
    const std::int64_t n = end - begin, classes = dlogits.dim(1);
    if (head.w_transposed) {
      detail::product(dlogits, part, {.a = true}, out.dw, classes, in, n, 1);
    } else {
      detail::product(part, dlogits, {.a = true}, out.dw, in, classes, n, 1);
    }
  }
  device.set_flop_count(flops);  // the products above are the caller's to count
  return out;
}

void head_vjp(Vjp& v) {
  const Tensor& scale = v.grad_output();
  if (v.wants(0)) v.add(0, detail::binary("mul", TV_MUL, v.saved(0), scale));
  if (v.wants(1)) v.add(1, detail::binary("mul", TV_MUL, v.saved(1), scale));
}
constexpr OpDef kHead{"linear_cross_entropy", head_vjp};

HeadGradients run_head(const Tensor& h, const Tensor& w, const Head& head, const Tensor& targets,
                       const Tensor& row_weight, Wanted gradients) {
  Device& device = h.device();
  HeadGradients out;
  out.per_row = Tensor::empty(device, {h.dim(0)});
  const Tensor lse = Tensor::empty(device, {h.dim(0)});
  if (gradients.dh) out.dh = Tensor::empty(device, h.shape());
  if (gradients.dw) out.dw = Tensor::empty(device, w.shape());
  tv_linear_xent args{};
  args.struct_size = sizeof args;
  args.dtype = TV_F32;
  args.w_transposed = head.w_transposed;
  args.rows = h.dim(0);
  args.in = h.dim(1);
  args.classes = w.dim(head.w_transposed ? 0 : 1);
  args.h = detail::memory(h);
  args.w = detail::memory(w);
  args.targets = static_cast<const std::int32_t*>(detail::memory(targets));
  args.row_weight = static_cast<const float*>(detail::memory(row_weight));
  args.loss = static_cast<float*>(detail::memory(out.per_row));
  args.lse = static_cast<float*>(detail::memory(lse));
  args.dh = detail::memory_or_null(out.dh);
  args.dw = detail::memory_or_null(out.dw);
  args.smoothing = head.options.label_smoothing;
  args.z_loss = head.options.z_loss;
  args.softcap = head.softcap;
  if (device.try_kernel("linear_xent", &tv_backend::linear_xent, &args)) return out;
  return chunked(h, w, head, targets, row_weight, gradients);
}

}  // namespace

Shape detail::without_last(const Shape& shape) {
  return Shape(std::span(shape.begin(), static_cast<std::size_t>(shape.rank() - 1)));
}

Tensor detail::class_targets(const char* op, const Tensor& targets, const Tensor& x,
                             std::int64_t classes) {
  detail::expect_defined(op, "targets", targets);
  const Shape rows = without_last(x.shape());
  if (targets.dtype() != DType::i32 || targets.shape() != rows) {
    detail::wrong(op, "targets i32 " + rows.to_string(), targets.to_string());
  }
  const Tensor packed = detail::operand_beside(op, "targets", targets, x, DType::i32);
  expect_classes(op, packed, classes);
  return packed;
}

// The 1 comes from a table with a row for each class, because gather_rows refuses an index outside
// its table on every device, also where the host cannot look at the targets.
Tensor detail::counting_rows(Device& device, const Tensor& targets, std::int64_t classes) {
  const std::int64_t rows = targets.size();
  const Tensor wanted = ops::reshape(targets, {rows});
  const Tensor zero = ops::cast(Tensor::zeros(device, {rows}), DType::i32);
  const Tensor left_out = ops::less(wanted, zero);
  const Tensor ones =
      ops::gather_rows(Tensor::full(device, {classes, 1}, 1), ops::where(left_out, zero, wanted));
  return ops::where(left_out, Tensor::zeros(device, {rows}), ops::reshape(ones, {rows}));
}

Tensor ops::softmax_cross_entropy(const Tensor& input, const Tensor& targets,
                                  const CrossEntropyOptions& options) {
  const char* name = "softmax_cross_entropy";
  const Tensor logits = detail::operand(name, "logits", input);
  if (logits.rank() < 1) detail::wrong(name, "logits [.., classes]", "a scalar");
  const Tensor wanted = detail::class_targets(name, targets, logits, logits.dim(-1));
  Device& device = logits.device();
  Tensor loss = Tensor::empty(device, targets.shape());
  Tensor lse = Tensor::empty(device, targets.shape());
  tv_softmax_xent args = arguments(logits, wanted, options);
  args.loss = static_cast<float*>(detail::memory(loss));
  args.lse = static_cast<float*>(detail::memory(lse));
  if (!device.try_kernel("softmax_xent", &tv_backend::softmax_xent, &args)) {
    loss = lse = {};
    return composed(logits, wanted, options);
  }
  record(kCrossEntropy, {logits}, loss, {logits, wanted, lse}, options);
  return loss;
}

ops::LinearCrossEntropy ops::linear_cross_entropy(const Tensor& h, const Tensor& w,
                                                  const Tensor& targets, const Tensor& row_weight,
                                                  const LinearCrossEntropyOptions& options) {
  const auto& [w_transposed, loss_options, softcap] = options;
  const char* name = "linear_cross_entropy";
  detail::expect(name, "h", h);
  const Tensor weights = detail::operand_beside(name, "w", w, h);
  detail::expect_beside(name, "row_weight", row_weight, h);
  if (h.rank() < 1 || w.rank() != 2 || h.dim(-1) != w.dim(w_transposed ? 1 : 0)) {
    detail::wrong(
        name, w_transposed ? "h [.., in] and w [classes, in]" : "h [.., in] and w [in, classes]",
        detail::shapes({&h, &w}));
  }
  const Shape rows = detail::without_last(h.shape());
  const Tensor classes = detail::class_targets(name, targets, h, w.dim(w_transposed ? 0 : 1));
  if (row_weight.shape() != rows) {
    detail::wrong(name, "row weights " + rows.to_string(), row_weight.to_string());
  }
  const Tensor flat = reshape(h, {rows.size(), h.dim(-1)});
  const Wanted gradients{detail::recording_any({&flat}), detail::recording_any({&weights})};
  HeadGradients out;
  Tensor loss;
  {
    NoGrad no_grad;
    const Tensor line = contiguous(reshape(row_weight, {rows.size()}));
    const Tensor wanted = reshape(classes, {rows.size()});
    out = run_head(flat, weights, {w_transposed, loss_options, softcap}, wanted, line, gradients);
    loss = sum(mul(out.per_row, line));
  }
  const int products = 1 + (gradients.dh ? 1 : 0) + (gradients.dw ? 1 : 0);
  h.device().count_flops(2.0 * products * static_cast<double>(rows.size()) *
                         static_cast<double>(w.size()));
  if (products > 1) record(kHead, {flat, weights}, loss, {out.dh, out.dw});
  return {loss, detail::reshaped(out.per_row, rows)};
}

}  // namespace trivet
