// SPDX-License-Identifier: Apache-2.0
#include "config/tree/zero_bytes.h"

namespace trivet {
namespace {

void check(const std::string& text, const Origin& where, const std::string& path,
           Diagnostics& diagnostics) {
  if (text.find('\0') == std::string::npos) return;
  diagnostics.add({where, path, "this string contains a zero byte", "remove \\u0000"});
}

}  // namespace

void refuse_zero_bytes(const Value& value, const std::string& path, Diagnostics& diagnostics) {
  if (value.is_string()) check(value.as_string(), value.origin(), path, diagnostics);
  if (value.is_array()) {
    std::size_t index = 0;
    for (const Value& item : value.items()) {
      refuse_zero_bytes(item, joined_path(path, index++), diagnostics);
    }
  }
  if (!value.is_table()) return;
  for (const Value::Member& member : value.members()) {
    check(member.key, member.key_origin, path, diagnostics);
    refuse_zero_bytes(member.value, joined_path(path, member.key), diagnostics);
  }
}

}  // namespace trivet
