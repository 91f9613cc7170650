// SPDX-License-Identifier: Apache-2.0
// How the scores of several classes become one number, in scikit-learn's terms.
#pragma once

#include "trivet/config.h"

namespace trivet::metrics {

enum class Average {
  binary,  // the score of positive_class
  macro,
  micro,
  weighted,
};
TRIVET_ENUM(Average, binary, macro, micro, weighted)

// Reports positive_class where it is set without effect.
inline void check_positive_class(Average average, bool is_set, Diagnostics& diagnostics) {
  if (average == Average::binary || !is_set) return;
  diagnostics.add("positive_class", "is set, but average scores all classes",
                  "remove it, or set average = \"binary\"");
}

}  // namespace trivet::metrics
