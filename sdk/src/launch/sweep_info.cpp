// SPDX-License-Identifier: Apache-2.0
#include "trivet/launch/sweep_info.h"

namespace trivet::launch {

SweepInfo::~SweepInfo() = default;
std::vector<std::string> SweepInfo::tags() const {
  return {};
}
bool SweepInfo::needs_names() const {
  return false;
}

}  // namespace trivet::launch
