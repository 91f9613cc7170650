// SPDX-License-Identifier: Apache-2.0
// The configs of inputs of texts for encoders (Devlin et al. 2018), with labels and without. One
// example is a row of T = seq_len positions:
//
//   "ids"           i32 [B, T]  [CLS] the text [SEP]; a missing special token is omitted
//   "paddings"      f32 [B, T]  1 for padding
//   "segment_ids"   i32 [B, T]  1; 0 is padding
//   "segment_pos"   i32 [B, T]  the position in the row, from 0
//   "weight"        f32 [B]     0: a row that only fills the last batch
//
// Examples without tokens are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trivet/data_source.h"
#include "trivet/input.h"
#include "trivet/tokenizer.h"

namespace trivet::data {

struct EncoderRowsConfig : InputConfig {
  ConfigOf<DataSource> source;
  ConfigOf<Tokenizer> tokenizer;
  std::int64_t seq_len = 0;
  std::optional<std::int32_t> cls_id;
  std::optional<std::int32_t> sep_id;
  Bytes limit = std::int64_t{1} << 30;
};
TRIVET_CONFIG(EncoderRowsConfig, trivet::InputConfig,
              (source, "Where examples come from.", required),
              (tokenizer, "Tokenizer of the texts. Default: that of the task."),
              (seq_len, "Positions in a row; longer texts are cut.", required, at_least(1)),
              (cls_id, "Id that a row starts with; unset: the tokenizer's \"[CLS]\", else its BOS.",
               at_least(0)),
              (sep_id, "Id that ends a text; unset: the tokenizer's \"[SEP]\", else its EOS.",
               at_least(0)),
              (limit, "Most bytes of text.", at_least(1)))

struct LabeledConfig : EncoderRowsConfig {
  std::vector<std::string> class_names;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(LabeledConfig, EncoderRowsConfig,
              (class_names, "Texts of the labels: that of class 0, of class 1 and so on."))

enum class LabelType {
  category,  // i32 [B]: a class
  number,    // f32 [B]: the target of a regression
};
TRIVET_ENUM(LabelType, category, number)

// data/SentencePairs: a sentence or two with one label for both, for classification and regression.
// With text_b a row is [CLS] text_a [SEP] text_b [SEP]. If two sentences are too long together,
// tokens are removed from the longer one until they fit; from the second if both are equally long.
// Batches also have
//
//   "token_type_ids"  i32 [B, T]  0 up to the first [SEP], then 1
//   "label"           i32 or f32 [B]
//
// The label is the index of its name in class_names; without class_names it is the number in the
// data.
struct SentencePairsConfig : LabeledConfig {
  std::string text_a = "{text_a}";
  std::string text_b;
  std::string label = "{label}";
  LabelType label_type = LabelType::category;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(SentencePairsConfig, LabeledConfig,
              (text_a, "First sentence, with names of the source's features in braces."),
              (text_b, "Second sentence, such as \"{text_b}\". Empty: the input has one sentence."),
              (label, "Label of the pair: a class or a number."),
              (label_type, "Type of the labels."))

// data/TextPairs: two texts that belong together, such as a question and its answer, as rows of
// their own. Batches have the fields above below "left/" and "right/", and "weight". Pairs with an
// empty side are left out.
struct TextPairsConfig : EncoderRowsConfig {
  std::string left = "{left}";
  std::string right = "{right}";

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(TextPairsConfig, EncoderRowsConfig,
              (left, "First text, with names of the source's features in braces."),
              (right, "The text that belongs to it."))

// data/TaggedSequences: words with a tag each. `words` and `tags` are texts with equal numbers of
// parts, separated by blanks. Each word is tokenized separately, with `separator` in front of all
// but the first. The word's first token has the tag; its other tokens and the special tokens have
// none (Devlin et al. 2018, 5.3). If the tokenizer makes tokens of blanks, as tokenizers/Bytes
// does, the first token is the separator's. A word without tokens is dropped with its tag. A
// sentence with more tokens than a row continues in the next row, split between words; a word
// longer than a row is cut. Batches also have
//
//   "tags"     i32 [B, T]  the index of the tag in class_names; -1: none
//   "weights"  f32 [B, T]  1 if there is a tag
struct TaggedSequencesConfig : LabeledConfig {
  std::string words = "{words}";
  std::string tags = "{tags}";
  std::string separator = " ";

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(TaggedSequencesConfig, LabeledConfig,
              (words, "The words, with names of the source's features in braces."),
              (tags, "Tags of the words."),
              (separator, "Separator in front of each word but the first."))

}  // namespace trivet::data
