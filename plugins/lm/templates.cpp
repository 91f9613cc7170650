// SPDX-License-Identifier: Apache-2.0
#include "templates.h"

#include <string>
#include <utility>

namespace trivet::lm {
namespace {

bool says_nothing(const Value& value) {
  return value.is_null() || value == Value(0) || value == Value(0.0) || value == Value(false);
}

}  // namespace

void complete(ConfigOf<Layer>& layer, std::string_view field, Value value, const Value& unset) {
  const Value* given = layer.fields().find(field);
  const bool open = given == nullptr || says_nothing(*given) || *given == unset;
  if (says_nothing(value) || !open) return;
  Value fields = layer.fields();
  fields.set(field, std::move(value));
  layer = {std::string(layer.key()), std::move(fields)};
}

}  // namespace trivet::lm
