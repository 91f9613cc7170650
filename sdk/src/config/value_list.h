// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "trivet/config/value.h"

namespace trivet::detail {

template <class T>
Value list_of(const std::vector<T>& items) {
  Value list = Value::array();
  for (const T& item : items) list.push_back(item);
  return list;
}

}  // namespace trivet::detail
