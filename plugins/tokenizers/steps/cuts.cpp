// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/steps/cuts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tokenizers/text/unicode.h"

namespace trivet::tokenizers {
namespace {

// Neighbors of one kind become one part.
std::vector<Cut> merged_runs(const std::vector<Cut>& cuts) {
  std::vector<Cut> runs;
  for (const Cut& cut : cuts) {
    if (!runs.empty() && runs.back().is_match == cut.is_match) {
      runs.back().end = cut.end;
    } else {
      runs.push_back(cut);
    }
  }
  return runs;
}

// The first match after another text is joined with it; matches after it are on their own.
std::vector<Cut> merged_with_previous(const std::vector<Cut>& cuts) {
  std::vector<Cut> merged;
  bool after_match = false;
  for (const Cut& cut : cuts) {
    if (cut.is_match && !after_match && !merged.empty()) {
      merged.back().end = cut.end;
    } else {
      merged.push_back(cut);
    }
    after_match = cut.is_match;
  }
  return merged;
}

std::vector<Cut> merged_with_next(const std::vector<Cut>& cuts) {
  std::vector<Cut> merged;
  bool before_match = false;
  for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) {
    if (cut->is_match && !before_match && !merged.empty()) {
      merged.back().begin = cut->begin;
    } else {
      merged.push_back(*cut);
    }
    before_match = cut->is_match;
  }
  std::reverse(merged.begin(), merged.end());
  return merged;
}

}  // namespace

Behavior read_behavior(const JsonPart& part, const char* field, const char* otherwise) {
  constexpr std::pair<const char*, Behavior> kNames[] = {
      {"Removed", Behavior::removed},
      {"Isolated", Behavior::isolated},
      {"MergedWithPrevious", Behavior::merged_with_previous},
      {"MergedWithNext", Behavior::merged_with_next},
      {"Contiguous", Behavior::contiguous}};
  const std::string name = part.text(field, otherwise);
  for (const auto& known : kNames) {
    if (name == known.first) return known.second;
  }
  part.field(field).fail("is \"" + name + "\", which is not supported",
                         "supported: Removed, Isolated, MergedWithPrevious, MergedWithNext, "
                         "Contiguous");
}

void emit_cuts(const Piece& piece, std::vector<Cut> cuts, Behavior behavior,
               const EmitPiece& emit) {
  switch (behavior) {
    case Behavior::removed:
      std::erase_if(cuts, [](const Cut& cut) { return cut.is_match; });
      break;
    case Behavior::isolated:
      break;
    case Behavior::merged_with_previous:
      cuts = merged_with_previous(cuts);
      break;
    case Behavior::merged_with_next:
      cuts = merged_with_next(cuts);
      break;
    case Behavior::contiguous:
      cuts = merged_runs(cuts);
      break;
  }
  for (const Cut& cut : cuts) {
    if (cut.begin == cut.end) continue;
    emit({.text = piece.text.substr(cut.begin, cut.end - cut.begin),
          .at_start = piece.at_start && cut.begin == 0});
  }
}

std::vector<Cut> cuts_at(std::string_view text, const std::function<bool(char32_t)>& matches) {
  std::vector<Cut> cuts;
  std::size_t at = 0;
  for_each_character(text, [&](char32_t c, std::string_view bytes) {
    const bool match = matches(c);
    if (!match && !cuts.empty() && !cuts.back().is_match) {
      cuts.back().end += bytes.size();
    } else {
      cuts.push_back({at, at + bytes.size(), match});
    }
    at += bytes.size();
  });
  return cuts;
}

}  // namespace trivet::tokenizers
