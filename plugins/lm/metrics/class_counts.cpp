// SPDX-License-Identifier: Apache-2.0
#include "lm/metrics/class_counts.h"

#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>

#include "trivet/error.h"

namespace trivet::lm {
namespace {

double total(const std::vector<double>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0.0);
}

double inner(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double ratio(double a, double b) {
  return b == 0 ? 0 : a / b;
}

Value array_of(const std::vector<double>& counts) {
  Value array = Value::array_of(counts);
  return array;
}

}  // namespace

ClassCounts::ClassCounts(std::int64_t classes)
    : right_(static_cast<std::size_t>(classes)), told_(right_), true_(right_) {}

void ClassCounts::add(std::int64_t truth, std::int64_t told) {
  if (truth < 0 || truth >= std::ssize(true_)) return;
  true_[static_cast<std::size_t>(truth)] += 1;
  told_[static_cast<std::size_t>(told)] += 1;
  if (truth == told) right_[static_cast<std::size_t>(truth)] += 1;
}

double ClassCounts::accuracy() const {
  return ratio(total(right_), total(true_));
}

double ClassCounts::f1(std::int64_t c) const {
  const auto at = static_cast<std::size_t>(c);
  return ratio(2 * right_[at], told_[at] + true_[at]);
}

double ClassCounts::macro_f1() const {
  double sum = 0, seen = 0;
  for (std::int64_t c = 0; c < std::ssize(right_); ++c) {
    const auto at = static_cast<std::size_t>(c);
    if (told_[at] + true_[at] == 0) continue;
    sum += f1(c);
    seen += 1;
  }
  return ratio(sum, seen);
}

double ClassCounts::matthews_corrcoef() const {
  const double s = total(true_);
  const double spread = (s * s - inner(told_, told_)) * (s * s - inner(true_, true_));
  return ratio(total(right_) * s - inner(told_, true_), std::sqrt(spread));
}

Value ClassCounts::save_state() const {
  return Value::table(
      {{"right", array_of(right_)}, {"told", array_of(told_)}, {"true", array_of(true_)}});
}

void ClassCounts::restore_state(const Value& state) {
  const auto restore = [&](const char* name, std::vector<double>& counts) {
    const Value* saved = state.find(name);
    if (saved == nullptr || !saved->is_array() || saved->items().size() != counts.size()) {
      throw Error("class metrics: the saved state does not have " + std::to_string(counts.size()) +
                  " classes");
    }
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = saved->items()[i].as_float();
  };
  restore("right", right_);
  restore("told", told_);
  restore("true", true_);
}

void ClassCounts::merge(const Value& state) {
  ClassCounts other(classes());
  other.restore_state(state);
  for (std::size_t i = 0; i < true_.size(); ++i) {
    right_[i] += other.right_[i];
    told_[i] += other.told_[i];
    true_[i] += other.true_[i];
  }
}

}  // namespace trivet::lm
