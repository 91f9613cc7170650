// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/steps/metaspace.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace trivet::tokenizers {
namespace {

Prepend read_prepend(const JsonPart& part) {
  const std::string name = part.text("prepend_scheme", "always");
  // Files from before version 0.15 of the library have the flag alone.
  const bool add = part.flag("add_prefix_space", true);
  const JsonPart scheme = part.field("prepend_scheme");
  if (!add && name != "never" && !scheme.is_null()) {
    scheme.fail("is \"" + name + "\", but add_prefix_space is false", "remove one of the two");
  }
  if (!add || name == "never") return Prepend::never;
  if (name == "always") return Prepend::always;
  if (name == "first") return Prepend::first;
  scheme.fail("is \"" + name + "\", which is not supported", "supported: always, first, never");
}

}  // namespace

Metaspace::Metaspace(const JsonPart& part)
    : replacement(part.character("replacement", "\u2581")),
      prepend(read_prepend(part)),
      split(part.flag("split", true)) {
  part.check_fields({"replacement", "prepend_scheme", "add_prefix_space", "split", "str_rep"});
  if (part.text("str_rep", replacement) != replacement) {
    part.field("str_rep").fail("is not the same as replacement");
  }
}

std::string with_replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string made;
  std::size_t from = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, from)) {
    made.append(text, from, at - from).append(by);
    from = at + what.size();
  }
  return made.append(text, from);
}

void MetaspacePreTokenizer::apply(Piece piece, const EmitPiece& emit) const {
  if (!piece.is_utf8) return emit(std::move(piece));
  piece.text = with_replaced(piece.text, " ", fields_.replacement);
  const bool prepends =
      fields_.prepend == Prepend::always || (fields_.prepend == Prepend::first && piece.at_start);
  if (prepends && !piece.text.starts_with(fields_.replacement)) {
    piece.text.insert(0, fields_.replacement);
  }
  if (!fields_.split) return emit(std::move(piece));
  // Each piece but the first begins with the character.
  for (std::size_t from = 0; from < piece.text.size();) {
    const std::size_t next =
        std::min(piece.text.find(fields_.replacement, from + 1), piece.text.size());
    emit({.text = piece.text.substr(from, next - from), .at_start = piece.at_start && from == 0});
    from = next;
  }
}

}  // namespace trivet::tokenizers
