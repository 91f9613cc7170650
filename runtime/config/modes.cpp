// SPDX-License-Identifier: Apache-2.0
#include "config/modes.h"

#include <iterator>

#include "trivet/config/enums.h"

namespace trivet {
namespace {

constexpr ModeTraits kModes[] = {
    {.mode = Mode::train, .trains = true},
    {.mode = Mode::eval, .trains = false, .evaluates = Evaluates::checkpoints},
    {.mode = Mode::train_and_eval, .trains = true, .evaluates = Evaluates::intervals},
    {.mode = Mode::train_and_post_eval, .trains = true, .evaluates = Evaluates::last},
    {.mode = Mode::continuous_eval,
     .trains = false,
     .evaluates = Evaluates::checkpoints,
     .target = ModeTarget::followed,
     .directory = "continuous_eval"},
    {.mode = Mode::continuous_train_and_eval,
     .trains = true,
     .evaluates = Evaluates::intervals,
     .target = ModeTarget::restarts},
};

constexpr bool is_complete() {
  if (std::size(kModes) != enum_names<Mode>().size()) return false;
  for (std::size_t i = 0; i < std::size(kModes); ++i) {
    if (static_cast<std::size_t>(kModes[i].mode) != i) return false;
  }
  return true;
}
static_assert(is_complete(), "every mode has its row, in the order of Mode");

}  // namespace

const ModeTraits& traits_of(Mode mode) {
  return kModes[static_cast<std::size_t>(mode)];
}

}  // namespace trivet
