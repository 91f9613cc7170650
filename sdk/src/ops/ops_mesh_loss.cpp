// SPDX-License-Identifier: Apache-2.0
// Cross entropy with its classifier, whose classes are split over the devices along an axis.
#include <algorithm>
#include <string>
#include <utility>

#include "ops/op_support.h"
#include "trivet/ops/ops_mesh.h"

namespace trivet {
namespace {

constexpr const char* kName = "linear_cross_entropy";

void share_vjp(Vjp& v) {
  v.add(0, detail::binary("mul", TV_MUL, v.saved(0), v.grad_output()));
}
// A scalar whose gradient for its input is known.
constexpr OpDef kShare{"linear_cross_entropy", share_vjp};

Tensor sum_of_processes(const Tensor& own, const MeshAxis& axis) {
  return ops::sum_blocks(std::span(&own, 1), axis.of_processes());
}

// Adds in the tree of an axis, as far as its blocks are of this process.
class TensorSum {
 public:
  explicit TensorSum(const MeshAxis& axis) : fold_(axis.own_tree()) {}

  void add(Tensor block) {
    auto total = fold_.add(std::move(block),
                           [](Tensor& sum, const Tensor& part) { sum = ops::add(sum, part); });
    if (total) total_ = *std::move(total);
  }
  const Tensor& total() const { return total_; }

 private:
  TreeFold<Tensor> fold_;
  Tensor total_;
};

// x = x op y, where y broadcasts. Nothing else may use x, which is contiguous.
void in_place(tv_binary_op op, Tensor& x, const Tensor& y) {
  const Tensor wide = detail::expanded(y, x.shape());
  const tv_view to = x.view(), from = wide.view();
  x.device().call(kName, &tv_backend::binary, op, &to, &to, &from);
}

// sum = sum of exp(x - top) over some classes, [rows, 1] each.
struct Exponentials {
  Tensor top, sum;
};

void merge(Exponentials& a, const Exponentials& b) {
  const Tensor top = ops::max(a.top, b.top);
  a.sum = ops::add(ops::mul(a.sum, ops::exp(ops::sub(a.top, top))),
                   ops::mul(b.sum, ops::exp(ops::sub(b.top, top))));
  a.top = top;
}

// Of the classes of all processes, from those of this one.
Exponentials merge_processes(const Exponentials& own, const MeshAxis& axis) {
  const MeshAxis processes = axis.of_processes();
  if (!processes.is_split()) return own;
  const std::int64_t rows = own.top.dim(0);
  const Tensor pair = ops::concat(std::vector{own.top, own.sum}, 1);
  const Tensor pairs = ops::gather_blocks(std::span(&pair, 1), 0, processes);
  TreeFold<Exponentials> fold(processes.tree());
  Exponentials all;
  for (std::int64_t begin = 0; begin < pairs.dim(0); begin += rows) {
    const Tensor theirs = ops::slice(pairs, 0, begin, begin + rows);
    Exponentials next{ops::slice(theirs, 1, 0, 1), ops::slice(theirs, 1, 1, 2)};
    if (auto merged = fold.add(std::move(next), merge)) all = *std::move(merged);
  }
  return all;
}

// Where the target of each row is in a block [rows]; the first class for that of another block.
struct Hits {
  Tensor index;   // i32, into the elements of [rows, n]
  Tensor inside;  // 1 for a target of the block, else 0
};

Hits hits_of(const Tensor& targets, std::int64_t begin, std::int64_t n) {
  Device& device = targets.device();
  const auto number = [&](std::int64_t value) {
    return Tensor::full(device, {1}, static_cast<double>(value), DType::i32);
  };
  const std::int64_t rows = targets.size();
  const Tensor local = detail::binary(kName, TV_SUB, targets, number(begin));
  const Tensor zeros = detail::expanded(number(0), {rows});
  const Tensor before = ops::less(local, number(0)), within = ops::less(local, number(n));
  const Tensor column = ops::where(before, zeros, ops::where(within, local, zeros));
  const Tensor first = detail::binary(kName, TV_MUL, device.impl().iota(rows), number(n));
  const Tensor none = Tensor::zeros(device, {rows});
  const Tensor one = Tensor::full(device, {rows}, 1);
  return {.index = detail::binary(kName, TV_ADD, first, column),
          .inside = ops::where(before, none, ops::where(within, one, none))};
}

// A block's part of the logits x of a chunk.
struct BlockLogits {
  Exponentials exponentials;
  Tensor exps;   // exp(x - top) [rows, n], where gradients follow
  Tensor slope;  // of the cap, likewise
  Tensor total;  // sum of x - top [rows, 1], where labels are smoothed
  Hits hits;
};

class BlockLoss {
 public:
  BlockLoss(std::span<const Tensor> w, const ops::LinearCrossEntropyOptions& options,
            const MeshAxis& axis)
      : w_(w),
        options_(options),
        axis_(axis),
        class_dim_(options.transpose_w ? 0 : 1),
        n_(w.front().dim(class_dim_)),
        dw_(w.size()) {}

  std::int64_t classes() const { return n_ * axis_.extent(); }
  std::int64_t own_classes() const { return n_ * axis_.count(); }
  Tensor& dw(std::size_t block) { return dw_[block]; }

  // Loss of the rows [rows] of a chunk. Where asked for, writes the gradient of the sum of weight *
  // loss by the classes of this process into dh and adds it to those of dw that are tensors.
  Tensor chunk(const Tensor& h, const Tensor& targets, const Tensor& weight, const Tensor& dh) {
    const bool backward =
        dh.defined() || std::ranges::any_of(dw_, [](const Tensor& t) { return t.defined(); });
    const Shape column{h.dim(0), 1};
    std::vector<BlockLogits> blocks;
    TreeFold<Exponentials> fold(axis_.own_tree());
    Exponentials all;
    TensorSum target(axis_);
    for (std::size_t i = 0; i < w_.size(); ++i) {
      BlockLogits& block = blocks.emplace_back();
      Tensor x = logits(h, i, backward ? &block.slope : nullptr);
      block.hits = hits_of(targets, (axis_.first() + static_cast<std::int64_t>(i)) * n_, n_);
      target.add(ops::mul(element(x, block.hits), block.hits.inside));
      const Tensor top = ops::max(x, 1, {.keep_dims = true});
      in_place(TV_SUB, x, top);
      if (smoothing() > 0) block.total = ops::sum(x, 1, {.keep_dims = true});
      const Tensor exps = ops::exp(x);
      block.exponentials = {top, ops::sum(exps, 1, {.keep_dims = true})};
      if (backward) block.exps = exps;
      if (auto merged = fold.add(block.exponentials, merge)) all = *std::move(merged);
    }
    all = merge_processes(all, axis_);
    const Tensor log_sum = ops::log(all.sum);
    const Tensor wanted = sum_of_processes(target.total(), axis_);
    Tensor picked = ops::sub(ops::reshape(wanted, column), all.top);
    if (smoothing() > 0) {
      picked = ops::add(ops::mul(picked, 1 - smoothing()),
                        ops::mul(mean_of(blocks, all.top), smoothing()));
    }
    Tensor loss = ops::sub(log_sum, picked);
    const Tensor counts =
        ops::reshape(detail::counting_rows(h.device(), targets, classes()), column);
    const Tensor gradient = ops::mul(ops::reshape(weight, column), counts);
    Tensor scale = ops::div(gradient, all.sum);
    if (z_loss() > 0) {
      const Tensor lse = ops::add(log_sum, all.top);
      loss = ops::add(loss, ops::mul(ops::square(lse), z_loss()));
      scale = ops::mul(scale, ops::add(ops::mul(lse, 2 * z_loss()), 1));
    }
    if (backward) add_gradients(blocks, h, gradient, scale, all.top, dh);
    return ops::reshape(ops::mul(loss, counts), targets.shape());
  }

 private:
  float smoothing() const { return options_.loss.label_smoothing; }
  float z_loss() const { return options_.loss.z_loss; }
  float softcap() const { return options_.softcap; }

  Tensor logits(const Tensor& h, std::size_t block, Tensor* slope) const {
    Tensor x = ops::matmul(h, w_[block], {.transpose_b = options_.transpose_w});
    if (softcap() == 0) return x;
    in_place(TV_MUL, x, Tensor::scalar(x.device(), 1 / softcap()));
    x = ops::tanh(x);
    if (slope != nullptr) *slope = ops::add(ops::neg(ops::square(x)), 1);
    in_place(TV_MUL, x, Tensor::scalar(x.device(), softcap()));
    return x;
  }

  // The logit of the target.
  static Tensor element(const Tensor& x, const Hits& hits) {
    return ops::reshape(ops::gather_rows(ops::reshape(x, {x.size(), 1}), hits.index), {x.dim(0)});
  }

  // The mean of x - top over all classes, for the largest logit of all.
  Tensor mean_of(std::span<const BlockLogits> blocks, const Tensor& top) const {
    TensorSum sum(axis_);
    for (const BlockLogits& block : blocks) {
      const Tensor below = ops::sub(block.exponentials.top, top);
      sum.add(ops::add(block.total, ops::mul(below, static_cast<float>(n_))));
    }
    return ops::mul(sum_of_processes(sum.total(), axis_), 1 / static_cast<float>(classes()));
  }

  // `gradient` is that of the rows' losses and `scale` that of the sum of exp(x - top), [rows, 1].
  // Spends what the blocks hold.
  void add_gradients(std::vector<BlockLogits>& blocks, const Tensor& h, const Tensor& gradient,
                     const Tensor& scale, const Tensor& top, const Tensor& dh) {
    TensorSum sum(axis_);
    for (std::size_t i = 0; i < w_.size(); ++i) {
      BlockLogits& block = blocks[i];
      const Tensor to_all = ops::exp(ops::sub(block.exponentials.top, top));
      Tensor dx = std::exchange(block.exps, {});
      in_place(TV_MUL, dx, ops::mul(scale, to_all));
      subtract_wanted(dx, gradient, block.hits);
      if (softcap() > 0) in_place(TV_MUL, dx, std::exchange(block.slope, {}));
      if (dw_[i].defined()) add_weight_gradient(dw_[i], h, dx);
      if (dh.defined()) {
        sum.add(ops::matmul(dx, w_[i], {.transpose_b = !options_.transpose_w}));
      }
    }
    if (dh.defined()) detail::copy_into(dh.view(), sum.total());
  }

  // Takes the wanted distribution, times the gradient [rows, 1] of the rows, off dx.
  void subtract_wanted(Tensor& dx, const Tensor& gradient, const Hits& hits) const {
    if (smoothing() > 0) {
      in_place(TV_SUB, dx, ops::mul(gradient, smoothing() / static_cast<float>(classes())));
    }
    const Tensor inside = ops::reshape(hits.inside, gradient.shape());
    const Tensor less = ops::mul(ops::mul(gradient, smoothing() - 1), inside);
    const Tensor elements = detail::reshaped(dx, {dx.size(), 1});
    const tv_view to = elements.view(), index = hits.index.view(), from = less.view();
    dx.device().call("scatter_add_rows", &tv_backend::scatter_add_rows, &to, &index, &from);
  }

  void add_weight_gradient(const Tensor& dw, const Tensor& h, const Tensor& dx) const {
    const std::int64_t rows = h.dim(0), in = h.dim(1);
    if (options_.transpose_w) {
      detail::product(dx, h, {.a = true}, dw, n_, in, rows, 1);
    } else {
      detail::product(h, dx, {.a = true}, dw, in, n_, rows, 1);
    }
  }

  std::span<const Tensor> w_;
  const ops::LinearCrossEntropyOptions& options_;
  const MeshAxis& axis_;
  int class_dim_;
  std::int64_t n_;
  std::vector<Tensor> dw_;
};

void expect_operands(const Tensor& h, std::span<const Tensor> w, const Tensor& row_weight,
                     const ops::LinearCrossEntropyOptions& options, const MeshAxis& axis) {
  detail::expect(kName, "h", h);
  detail::expect_beside(kName, "row_weight", row_weight, h);
  if (std::ssize(w) != axis.count()) {
    detail::wrong(kName, std::to_string(axis.count()) + " blocks", std::to_string(w.size()));
  }
  for (const Tensor& block : w) {
    detail::expect_beside(kName, "w", block, h);
    if (block.shape() != w.front().shape()) {
      detail::wrong(kName, "blocks of shape " + w.front().shape().to_string(),
                    block.shape().to_string());
    }
  }
  const int in_dim = options.transpose_w ? 1 : 0;
  if (h.rank() < 1 || w.front().rank() != 2 || h.dim(-1) != w.front().dim(in_dim)) {
    detail::wrong(kName,
                  options.transpose_w ? "h [.., in] and blocks [n, in] of w"
                                      : "h [.., in] and blocks [in, n] of w",
                  detail::shapes({&h, &w.front()}));
  }
}

}  // namespace

ops::LinearCrossEntropy ops::linear_cross_entropy(const Tensor& h, std::span<const Tensor> w,
                                                  const Tensor& targets, const Tensor& row_weight,
                                                  const LinearCrossEntropyOptions& options,
                                                  const MeshAxis& axis) {
  expect_operands(h, w, row_weight, options, axis);
  if (!axis.is_split()) {
    return linear_cross_entropy(h, w.front(), targets, row_weight, options);
  }
  std::vector<Tensor> weights;
  for (const Tensor& block : w) weights.push_back(contiguous(block));
  BlockLoss blocks(weights, options, axis);
  const Tensor wanted = detail::class_targets(kName, targets, h, blocks.classes());
  const Shape rows = detail::without_last(h.shape());
  if (row_weight.shape() != rows) {
    detail::wrong(kName, "row weights " + rows.to_string(), row_weight.to_string());
  }
  Device& device = h.device();
  const Tensor flat = contiguous(reshape(h, {rows.size(), h.dim(-1)}));
  const FlopCount flops = device.flop_count();
  int products = 1;
  Tensor loss, per_row, dh;
  {
    const bool wants_dh = detail::recording_any({&flat});
    bool wants_dw = false;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (!detail::recording_any({&weights[i]})) continue;
      blocks.dw(i) = Tensor::zeros(device, weights[i].shape());
      wants_dw = true;
    }
    const NoGrad no_grad;
    products += (wants_dh ? 1 : 0) + (wants_dw ? 1 : 0);
    if (wants_dh) dh = Tensor::empty(device, flat.shape());
    per_row = Tensor::empty(device, {rows.size()});
    const Tensor line = contiguous(reshape(row_weight, {rows.size()}));
    const Tensor labels = reshape(wanted, {rows.size()});
    for (std::int64_t begin = 0; begin < rows.size(); begin += detail::kLossChunkRows) {
      const std::int64_t end = std::min(rows.size(), begin + detail::kLossChunkRows);
      const Tensor part =
          blocks.chunk(slice(flat, 0, begin, end), slice(labels, 0, begin, end),
                       slice(line, 0, begin, end), wants_dh ? slice(dh, 0, begin, end) : Tensor());
      detail::copy_into(slice(per_row, 0, begin, end).view(), part);
    }
    loss = sum(mul(per_row, line));
    if (wants_dh) dh = sum_of_processes(dh, axis);
  }
  device.set_flop_count(flops);
  device.count_flops(2.0 * products * static_cast<double>(rows.size()) *
                     static_cast<double>(h.dim(-1) * blocks.own_classes()));
  // The first share is the loss, the others are 0; all have gradients of their own.
  if (dh.defined()) record(kShare, {flat}, loss, {dh});
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!blocks.dw(i).defined()) continue;
    Tensor share = Tensor::zeros(device, {});
    record(kShare, {weights[i]}, share, {blocks.dw(i)});
    loss = add(loss, share);
  }
  return {loss, detail::reshaped(per_row, rows)};
}

}  // namespace trivet
