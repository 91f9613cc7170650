// SPDX-License-Identifier: Apache-2.0
#include "trivet/ops/remat_keeps.h"

#include <utility>

namespace trivet {
namespace {

thread_local std::string_view current_name;

}  // namespace

CheckpointName::CheckpointName(std::string_view name) : outer_(std::exchange(current_name, name)) {}

CheckpointName::~CheckpointName() {
  current_name = outer_;
}

std::string_view CheckpointName::current() noexcept {
  return current_name;
}

}  // namespace trivet
