// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/steps/pre_tokenizer.h"

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "tokenizers/steps/cuts.h"
#include "tokenizers/steps/metaspace.h"
#include "tokenizers/steps/replacement.h"
#include "tokenizers/text/byte_characters.h"
#include "tokenizers/text/gpt2_pre_tokenizer.h"
#include "tokenizers/text/unicode.h"

namespace trivet::tokenizers {
namespace {

constexpr const char* kKnownPreTokenizers =
    "ByteLevel, Split, BertPreTokenizer, Whitespace, WhitespaceSplit, Punctuation, Digits, "
    "CharDelimiterSplit, Metaspace, Sequence";

// A pre-tokenizer that treats each piece of text alone.
class PieceSplitter : public PreTokenizer {
 public:
  void apply(Piece piece, const EmitPiece& emit) const final {
    if (!piece.is_utf8) return emit(std::move(piece));
    split(piece, emit);
  }

 private:
  virtual void split(const Piece& piece, const EmitPiece& emit) const = 0;
};

// Whether the text between matches counts as a match, and matches do not.
enum class Invert { no, yes };

class SplitPattern final : public PieceSplitter {
 public:
  SplitPattern(Pattern pattern, Behavior behavior, Invert invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert == Invert::yes) {}

 private:
  void split(const Piece& piece, const EmitPiece& emit) const override {
    std::vector<Cut> cuts;
    std::size_t from = 0;
    pattern_.for_each(piece.text, [&](Regex::Match match) {
      if (from < match.begin) cuts.push_back({from, match.begin, invert_});
      cuts.push_back({match.begin, match.end, !invert_});
      from = match.end;
    });
    if (from < piece.text.size()) cuts.push_back({from, piece.text.size(), invert_});
    emit_cuts(piece, std::move(cuts), behavior_, emit);
  }

  Pattern pattern_;
  Behavior behavior_;
  bool invert_;
};

class SplitAtCharacters final : public PieceSplitter {
 public:
  SplitAtCharacters(std::function<bool(char32_t)> matches, Behavior behavior)
      : matches_(std::move(matches)), behavior_(behavior) {}

 private:
  void split(const Piece& piece, const EmitPiece& emit) const override {
    emit_cuts(piece, cuts_at(piece.text, matches_), behavior_, emit);
  }

  std::function<bool(char32_t)> matches_;
  Behavior behavior_;
};

class PreTokenizerSequence final : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<std::unique_ptr<PreTokenizer>> steps)
      : steps_(std::move(steps)) {}
  void apply(Piece piece, const EmitPiece& emit) const override {
    apply_from(0, std::move(piece), emit);
  }

 private:
  void apply_from(std::size_t step, Piece piece, const EmitPiece& emit) const {
    if (step == steps_.size()) return emit(std::move(piece));
    steps_[step]->apply(std::move(piece),
                        [&](Piece part) { apply_from(step + 1, std::move(part), emit); });
  }

  std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

// Writes the bytes of pieces as characters (byte_characters.h), those of no character, too.
class ByteLevelPreTokenizer final : public PreTokenizer {
 public:
  explicit ByteLevelPreTokenizer(const JsonPart& part)
      : add_prefix_space_(part.flag("add_prefix_space", true)),
        use_regex_(part.flag("use_regex", true)) {
    part.check_fields({"add_prefix_space", "use_regex", "trim_offsets"});
  }
  void apply(Piece piece, const EmitPiece& emit) const override {
    if (add_prefix_space_ && piece.is_utf8 && !piece.text.starts_with(' ')) {
      piece.text.insert(0, 1, ' ');
    }
    bool at_start = piece.at_start;
    for (std::string_view rest = piece.text; !rest.empty();) {
      const std::size_t length = use_regex_ ? gpt2_word_length(rest) : rest.size();
      emit({.text = characters_of_bytes(rest.substr(0, length)),
            .at_start = std::exchange(at_start, false)});
      rest.remove_prefix(length);
    }
  }

 private:
  bool add_prefix_space_, use_regex_;
};

std::unique_ptr<PreTokenizer> sequence_of(std::unique_ptr<PreTokenizer> first,
                                          std::unique_ptr<PreTokenizer> second) {
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  steps.push_back(std::move(first));
  steps.push_back(std::move(second));
  return std::make_unique<PreTokenizerSequence>(std::move(steps));
}

std::unique_ptr<PreTokenizer> read_sequence(const JsonPart& part) {
  part.check_fields({"pretokenizers"});
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  for (const JsonPart& step : part.list("pretokenizers")) {
    if (step.is_null()) step.fail("must be a pre-tokenizer, not null");
    steps.push_back(read_pre_tokenizer(step));
  }
  return std::make_unique<PreTokenizerSequence>(std::move(steps));
}

std::unique_ptr<PreTokenizer> read_split(const JsonPart& part) {
  part.check_fields({"pattern", "behavior", "invert"});
  part.text("behavior");  // it has no default
  return std::make_unique<SplitPattern>(Pattern(part.field("pattern")),
                                        read_behavior(part, "behavior", ""),
                                        part.flag("invert", false) ? Invert::yes : Invert::no);
}

std::unique_ptr<PreTokenizer> read_digits(const JsonPart& part) {
  part.check_fields({"individual_digits"});
  return std::make_unique<SplitAtCharacters>(&is_number, part.flag("individual_digits", false)
                                                             ? Behavior::isolated
                                                             : Behavior::contiguous);
}

std::unique_ptr<PreTokenizer> read_delimiter(const JsonPart& part) {
  part.check_fields({"delimiter"});
  part.text("delimiter");  // it has no default
  const char32_t delimiter = first_code_point(part.character("delimiter", " ")).value;
  return std::make_unique<SplitAtCharacters>([delimiter](char32_t c) { return c == delimiter; },
                                             Behavior::removed);
}

std::unique_ptr<PreTokenizer> white_space_split() {
  return std::make_unique<SplitAtCharacters>(&is_white_space, Behavior::removed);
}

// Runs of letters, numbers and marks, and runs of other characters that are no blanks.
std::unique_ptr<PreTokenizer> read_words(const JsonPart& part) {
  part.check_fields({});
  static const nlohmann::json pattern = {
      {"Regex", R"([\w\x{200C}\x{200D}]+|[^\s\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}]+)"}};
  return std::make_unique<SplitPattern>(Pattern(JsonPart(pattern, part.place())), Behavior::removed,
                                        Invert::yes);
}

}  // namespace

std::unique_ptr<PreTokenizer> read_pre_tokenizer(const JsonPart& part) {
  if (part.is_null()) return nullptr;
  const std::string type = part.type();
  if (type == "ByteLevel") return std::make_unique<ByteLevelPreTokenizer>(part);
  if (type == "Split") return read_split(part);
  if (type == "Metaspace") return std::make_unique<MetaspacePreTokenizer>(part);
  if (type == "Digits") return read_digits(part);
  if (type == "CharDelimiterSplit") return read_delimiter(part);
  if (type == "Whitespace") return read_words(part);
  if (type == "Sequence") return read_sequence(part);
  if (type == "Punctuation") {
    part.check_fields({"behavior"});
    return std::make_unique<SplitAtCharacters>(&is_punctuation,
                                               read_behavior(part, "behavior", "Isolated"));
  }
  if (type == "WhitespaceSplit" || type == "BertPreTokenizer") {
    part.check_fields({});
    if (type == "WhitespaceSplit") return white_space_split();
    return sequence_of(white_space_split(),
                       std::make_unique<SplitAtCharacters>(&is_punctuation, Behavior::isolated));
  }
  part.fail_type("pre-tokenizer", kKnownPreTokenizers);
}

}  // namespace trivet::tokenizers
