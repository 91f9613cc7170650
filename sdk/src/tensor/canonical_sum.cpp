// SPDX-License-Identifier: Apache-2.0
#include "trivet/tensor/canonical_sum.h"

#include <utility>

#include "trivet/error.h"
#include "trivet/tensor/device.h"

namespace trivet {
namespace {

// sum += value, on one device and of one shape.
void add_to(Tensor& sum, const Tensor& value) {
  const tv_view addend = value.view(), out = sum.mutable_view();
  sum.device().call("binary", &tv_backend::binary, TV_ADD, &out, &out, &addend);
}

}  // namespace

CanonicalSum::CanonicalSum(Device& device, const Shape& shape, const SumTree& tree)
    : tree_(tree), fold_(tree) {
  for (std::size_t i = 0; i <= tree.arities().size(); ++i) {
    blocks_.push_back(Tensor::empty(device, shape));
  }
  restart();
}

Tensor& CanonicalSum::next() {
  if (total_) throw Error("this sum has had its " + std::to_string(tree_.size()) + " values");
  if (!next_.defined()) {
    next_ = std::move(spare_.back());
    spare_.pop_back();
  }
  return next_;
}

void CanonicalSum::add() {
  if (!next_.defined()) throw Error("a sum got no next value to add");
  total_ = fold_.add(std::exchange(next_, {}), [this](Tensor& sum, Tensor& value) {
    add_to(sum, value);
    spare_.push_back(std::move(value));
  });
}

Tensor& CanonicalSum::total() {
  if (!total_) throw Error("a sum of " + std::to_string(tree_.size()) + " values has too few");
  return *total_;
}

void CanonicalSum::restart() {
  fold_ = TreeFold<Tensor>(tree_);
  next_ = {};
  total_.reset();
  spare_ = blocks_;
}

}  // namespace trivet
