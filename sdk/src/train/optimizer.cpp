// SPDX-License-Identifier: Apache-2.0
#include "trivet/optimizer.h"

#include "trivet/layer/parameter_store.h"

namespace trivet {

Optimizer::~Optimizer() = default;
double Optimizer::slot_start(std::string_view) const {
  return 0;
}
Shape Optimizer::slot_shape(std::string_view, const Parameter& parameter) const {
  return parameter.shape();
}
std::int64_t Optimizer::group_of(const Parameter&) const {
  return 0;
}
DType Optimizer::slot_dtype(std::string_view, const Parameter&) const {
  return DType::f32;
}
void Optimizer::check_variables(std::span<const Parameter* const>) const {}

bool Optimizer::per_variable() const {
  return false;
}

}  // namespace trivet
