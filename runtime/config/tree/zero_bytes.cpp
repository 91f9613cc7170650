// SPDX-License-Identifier: Apache-2.0
#include "config/tree/zero_bytes.h"

namespace trivet {
namespace {

void check(const std::string& text, const Origin& where, const std::string& path,
           Problems& problems) {
  if (text.find('\0') == std::string::npos) return;
  problems.add({where, path, "this text has a zero byte, at which a program would end it",
                "leave \\u0000 out"});
}

}  // namespace

void refuse_zero_bytes(const Value& value, const std::string& path, Problems& problems) {
  if (value.is_text()) check(value.as_text(), value.origin(), path, problems);
  if (value.is_array()) {
    std::size_t index = 0;
    for (const Value& item : value.items()) {
      refuse_zero_bytes(item, joined_path(path, index++), problems);
    }
  }
  if (!value.is_table()) return;
  for (const Value::Member& member : value.members()) {
    check(member.key, member.key_origin, path, problems);
    refuse_zero_bytes(member.value, joined_path(path, member.key), problems);
  }
}

}  // namespace trivet
