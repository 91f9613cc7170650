// SPDX-License-Identifier: Apache-2.0
#include "trivet/layer/layer_template.h"

#include <string>
#include <utility>

namespace trivet {
namespace {

bool numeric(const Value& value) {
  return value.is_integer() || value.is_float();
}

bool same(const Value& a, const Value& b) {
  return numeric(a) && numeric(b) ? a.as_float() == b.as_float() : a == b;
}

}  // namespace

void complete(ConfigOf<Layer>& layer, std::string_view field, Value value, const Value& unset) {
  const Value* given = layer.fields().find(field);
  const bool none = given != nullptr && given->is_string() && given->as_string() == "none";
  const bool open = given == nullptr || given->is_null() || none || same(*given, unset);
  if (!open || same(value, unset)) return;
  Value fields = layer.fields();
  fields.set(field, std::move(value));
  layer = {std::string(layer.key()), std::move(fields)};
}

}  // namespace trivet
