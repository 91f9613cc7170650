// SPDX-License-Identifier: Apache-2.0
#include "data/augmentation/operation_reach.h"

#include <algorithm>

namespace trivet::data {
namespace {

constexpr double kDefaultTranslate = 100, kDefaultCutout = 40, kDefaultSide = 224;

}  // namespace

OperationReach::OperationReach(const std::optional<double>& translate_const,
                               const std::optional<double>& cutout_const, std::int64_t height,
                               std::int64_t width)
    : translate_x(
          translate_const.value_or(kDefaultTranslate * static_cast<double>(width) / kDefaultSide)),
      translate_y(
          translate_const.value_or(kDefaultTranslate * static_cast<double>(height) / kDefaultSide)),
      cutout(cutout_const.value_or(kDefaultCutout * static_cast<double>(std::min(height, width)) /
                                   kDefaultSide)) {}

}  // namespace trivet::data
