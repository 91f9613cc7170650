// SPDX-License-Identifier: Apache-2.0
#include "trivet/text_metric.h"

namespace trivet {

// Out of line, so that the class has one vtable and one type information in the process.
TextMetric::~TextMetric() = default;

}  // namespace trivet
