// SPDX-License-Identifier: Apache-2.0
// The configs of inputs for language models. A batch holds rows of T = seq_len positions:
//
//   "ids"          i32 [B, T]   the model's input
//   "labels"       i32 [B, T]   the target at each position: the next token
//   "weights"      f32 [B, T]   1 if the label counts in the loss
//   "paddings"     f32 [B, T]   1 for padding
//   "segment_ids"  i32 [B, T]   the pieces of documents in a row, from 1; 0 is padding
//   "segment_pos"  i32 [B, T]   the position within its segment, from 0
//   "label_bytes"  i32 [B, T]   bytes of text of the label, 0 for special tokens and padding: the
//                               loss per byte is comparable between tokenizers
//   "weight"       f32 [B]      0: a row that only fills the last batch; its weights are 0, too
//
// A document is BOS, its tokens and EOS; BOS and EOS are optional. A document of n tokens takes n -
// 1 positions, since only n - 1 tokens have one before them: labels are all its tokens but the
// first, ids all but the last (Praxis, seqio_input.LanguageModelFeatures: "ids" are BOS and the
// shifted labels of each segment). Without BOS the first token of a document is never predicted.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/formats/token_file.h"
#include "data/sources/source_config.h"
#include "data/tokens/span_choice.h"
#include "trivet/data_source.h"
#include "trivet/input.h"
#include "trivet/tokenizer.h"

namespace trivet::data {

// The treatment of a document that has more positions than a row.
enum class LongDocuments {
  split,  // continues in the next row: no token is lost
  trim,   // drops its end, but keeps EOS
};
TRIVET_ENUM(LongDocuments, split, trim)

// How all these inputs make rows of documents.
//
//   pack   long_documents
//   true   split   Rows are cut from all documents concatenated; only the last is padded.
//   true   trim    As many whole documents per row as fit, in order; a longer one is cut to a row.
//   false  split   Each document is cut into its own windows; the last is padded. With `overlap`,
//                  every window but a document's first starts with the last positions of the
//                  previous one, whose weights are 0: every label counts once and is predicted from
//                  at least `overlap` tokens (a sliding window, the usual measure of perplexity).
//   false  trim    One row per document.
//
// With random_offsets, each epoch but the first starts to cut rows at a position drawn from (seed,
// epoch) and wraps around from the last document to the first, so every label still counts once per
// epoch.
//
// A document that continues in the next row is a segment of its own there: its segment_pos starts
// at 0, and its first id is the token before its first label, not BOS.
struct SequenceConfig : InputConfig {
  std::int64_t seq_len = 0;
  bool pack = true;
  LongDocuments long_documents = LongDocuments::split;
  std::optional<bool> add_bos;
  std::optional<bool> add_eos;
  std::optional<std::int32_t> bos_id;
  std::optional<std::int32_t> eos_id;
  std::int64_t overlap = 0;
  bool random_offsets = false;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(SequenceConfig, trivet::InputConfig,
              (seq_len, "Positions in a row.", required, at_least(1)),
              (pack,
               "Packs several documents into a row, separated by segment_ids. If false, a row "
               "holds one document."),
              (long_documents, "Treatment of documents with more positions than a row."),
              (add_bos, "Starts documents with BOS. Default: if the tokenizer has one."),
              (add_eos, "Ends documents with EOS. Default: if the tokenizer has one."),
              (bos_id, "Id of BOS; unset: that of the tokenizer.", at_least(0)),
              (eos_id, "Id of EOS; unset: that of the tokenizer.", at_least(0)),
              (overlap,
               "Number of positions that consecutive windows share. Shared positions count once. "
               "Needs pack = false.",
               at_least(0)),
              (random_offsets,
               "Each pass cuts its rows at other positions, from the seed; needs pack = true and "
               "long_documents = \"split\"."))

// The same for text that a tokenizer turns into ids when a run starts. The ids stay in memory: 2
// bytes per token, or 4 for vocabularies of more than 65536.
struct TextSequenceConfig : SequenceConfig {
  ConfigOf<Tokenizer> tokenizer;
  Bytes limit = std::int64_t{1} << 30;
};
TRIVET_CONFIG(TextSequenceConfig, SequenceConfig,
              (tokenizer, "Tokenizer of the text. Default: that of the task."),
              (limit, "Most bytes of text; more is for `trivet data prepare` and data/Tokens.",
               at_least(1)))

// data/Text is data/LanguageModel over data/TextFiles, in one table.
struct TextConfig : TextSequenceConfig {
  std::vector<Path> files;
  Documents documents = Documents::file;
  Encoding encoding = Encoding::utf8;
  double part_begin = 0;
  double part_end = 1;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(TextConfig, TextSequenceConfig,
              (files,
               "Text files (plain, gzip or zstd) and patterns (*, ?, [a-z]), read in the order of "
               "their names.",
               required),
              (documents, "Part of a file that is one document."),
              (encoding, "Whether files must be text, or may hold any bytes."),
              (part_begin, "Where reading starts in each file, as a share of its bytes.",
               between(0.0, 1.0)),
              (part_end,
               "Where reading ends in each file, as a share of its bytes. Example: 0 to 0.9 for "
               "training, 0.9 to 1 for evaluation.",
               between(0.0, 1.0)))

// data/LanguageModel: examples of any source, as SeqIO's LanguageModelFeatures makes them. `inputs`
// and `targets` are templates of an example's texts: "{name}" is replaced by a feature of the
// source, "{{" by a brace. The tokens of inputs and targets form one document, targets after
// inputs.
//
// With `inputs`, batches have "inputs_indicator" i32 [B, T], the prefix of a prefix language model:
// 1 where the id is BOS or a token of the inputs. weights_on_targets_only looks at labels: weights
// are 0 where the label is a token of the inputs, which is one position less.
//
// With `suffixes` a text follows the targets, and weights are 0 but for its labels (SeqIO's
// target_has_suffix): the model scores it after inputs and targets.
//
// passthrough_features names features of the source that evaluations write into their outputs
// (trivet/extensions/passthrough.h). Batches of training do not have them.
//
// With task_ids batches have "task_ids" i32 [B, T], the number of the task of each position's
// document, 0 for padding: layers with weights for each task read it (adapter_tasks of
// nn/TransformerBlock). The template is a number, or a feature that holds one. A data/Mixture gives
// each of its parts such a feature: features = { text = "{text}", task = "1" }.
//
// With inputs_eos the inputs end with EOS, as in SeqIO, also if inputs_len cuts them. Otherwise
// targets follow the last token of the inputs.
struct LanguageModelConfig : TextSequenceConfig {
  ConfigOf<DataSource> source;
  std::string inputs;
  std::string targets = "{text}";
  std::string suffixes;
  std::string task_ids;
  std::vector<std::string> passthrough_features;
  std::int64_t inputs_len = 0;
  bool inputs_eos = false;
  bool weights_on_targets_only = false;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    LanguageModelConfig, TextSequenceConfig, (source, "Where examples come from.", required),
    (inputs, "Text before the targets, such as \"{question} \"; empty: none."),
    (targets, "Text of the targets, such as \"{answer}\"."),
    (suffixes,
     "Text after the targets, such as \" {verdict}\"; the loss is of its tokens alone. Empty: "
     "none."),
    (task_ids,
     "Number of the task of an example, from 0, such as \"1\" or \"{task}\", for layers with "
     "weights for each task; empty: none."),
    (passthrough_features,
     "Features of the source that come back in the outputs of evaluations and of `trivet predict`, "
     "as texts. Needs pack = false."),
    (inputs_len, "Maximum number of tokens of the inputs; the rest is dropped. 0: no limit.",
     at_least(0)),
    (inputs_eos, "Ends inputs with EOS, which counts in inputs_len and stays when inputs are cut."),
    (weights_on_targets_only,
     "Computes the loss on target tokens only: input tokens have weight 0."))

// The order in which a masked input's tokens are predicted, and their choice.
struct PermutationConfig {
  bool enabled = false;
  std::int64_t size = 0;
  double leak_ratio = 0;
  SampleStrategy sample_strategy = SampleStrategy::single_token;
  std::optional<std::int64_t> max_predictions_per_seq;
  std::optional<std::int64_t> min_num_tokens;
  std::optional<std::int64_t> max_num_tokens;
  std::optional<std::int64_t> min_num_words;
  std::optional<std::int64_t> max_num_words;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(PermutationConfig, trivet::NoBase,
              (enabled,
               "Draws an order of the chosen tokens, which stay in ids. For "
               "nn/XlnetTransformer with two_stream."),
              (size,
               "Positions whose order is drawn together; those of earlier positions of the row "
               "come first. It divides seq_len. 0: the whole row.",
               at_least(0)),
              (leak_ratio, "Share of the chosen tokens that all positions know, their own too.",
               between(0.0, 1.0)),
              (sample_strategy,
               "Choice of the tokens to predict: single tokens, whole words, spans of tokens, or "
               "spans of words. All but single_token need max_predictions_per_seq."),
              (max_predictions_per_seq,
               "Most tokens of a row to predict, instead of mask_rate. Default: by mask_rate.",
               at_least(1)),
              (min_num_tokens, "token_span: least length of a span. Default: 1.", at_least(1)),
              (max_num_tokens, "token_span: greatest length of a span. Default: 5.", at_least(1),
               at_most(4096)),
              (min_num_words, "word_span: fewest words of a span. Default: 1.", at_least(1)),
              (max_num_words, "word_span: most words of a span. Default: 5.", at_least(1),
               at_most(4096)))

// data/MaskedLanguageModel: examples of any source for encoders (Devlin et al. 2018, "BERT").
// Labels are not shifted: a document of n tokens, BOS and EOS included, takes n positions. In every
// epoch a share mask_rate of the text tokens is chosen at random; only chosen tokens have weight 1.
// In "ids", mask_share of the chosen tokens become mask_id and random_share become another text
// token; the rest stay.
//
// With next_sentence, rows hold two spans of tokens, of which the second follows the first or not
// (next_sentence_rows.h). bos_id is then "[CLS]" and eos_id "[SEP]" unless they are set, where the
// tokenizer has these tokens, as in data/SentencePairs.
//
// With permutation.enabled, ids stay, and words and spans may be chosen (span_choice.h);
// batches have "permutation" i32 [B, T] (permuted_rows.h):
// the order in which a model with two streams predicts the chosen tokens (Yang et al. 2019).
struct MaskedLanguageModelConfig : TextSequenceConfig {
  ConfigOf<DataSource> source;
  std::string targets = "{text}";
  double mask_rate = 0.15;
  std::optional<double> mask_share;
  std::optional<double> random_share;
  std::optional<std::int32_t> mask_id;
  bool next_sentence = false;
  PermutationConfig permutation;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    MaskedLanguageModelConfig, TextSequenceConfig, (source, "Where examples come from.", required),
    (targets, "The text of an example, with names of features in braces."),
    (mask_rate, "Share of the tokens to predict.", more_than(0), at_most(1)),
    (mask_share, "Share of the chosen tokens that become the mask token. Default: 0.8.",
     between(0.0, 1.0)),
    (random_share, "Share of the chosen tokens that become another token. Default: 0.1.",
     between(0.0, 1.0)),
    (mask_id, "Id of the mask; unset: the tokenizer's \"[MASK]\" or \"<mask>\".", at_least(0)),
    (next_sentence,
     "Makes rows of two spans. The second one follows the first in its document, or, in half of "
     "the rows, is of another document. Needs pack = false."),
    (permutation, "Order in which tokens are predicted instead of masks, as in XLNet."))

// data/SequenceToSequence: pairs for models that read one text and write another, as SeqIO's
// SequenceModelFeatures makes them. Batches have, with S = inputs_len and T = targets_len,
//
//   "src/ids", "src/segment_ids", "src/segment_pos"  i32 [B, S], "src/paddings" f32 [B, S]
//   "tgt/ids", "tgt/labels", "tgt/segment_ids", "tgt/segment_pos", "tgt/label_bytes"  i32 [B, T],
//   "tgt/weights", "tgt/paddings"  f32 [B, T]
//   "weight"  f32 [B]
//
// "src/ids" are the tokens and EOS, not shifted; "tgt/ids" BOS and the shifted labels. Both sides
// are cut to their length, but keep EOS. With pack, a row holds as many pairs as fit on both sides,
// and segments with equal ids belong together. Examples with an empty side are dropped.
struct SequenceToSequenceConfig : InputConfig {
  ConfigOf<DataSource> source;
  ConfigOf<Tokenizer> tokenizer;
  ConfigOf<Tokenizer> target_tokenizer;
  std::string inputs = "{inputs}";
  std::string targets = "{targets}";
  std::int64_t inputs_len = 0;
  std::int64_t targets_len = 0;
  bool pack = true;
  std::optional<std::int32_t> bos_id;
  std::optional<bool> add_eos;
  std::optional<std::int32_t> eos_id;
  Bytes limit = std::int64_t{1} << 30;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    SequenceToSequenceConfig, trivet::InputConfig, (source, "Where examples come from.", required),
    (tokenizer, "Tokenizer of the inputs. Default: that of the task."),
    (target_tokenizer, "Tokenizer of the targets. Default: the tokenizer of the inputs."),
    (inputs, "Text of the source, with names of features in braces."),
    (targets, "Text of the target, with names of features in braces."),
    (inputs_len, "Positions of inputs.", required, at_least(1)),
    (targets_len, "Positions of targets.", required, at_least(1)),
    (pack,
     "Packs several pairs into a row, separated by segment_ids. If false, a row holds one pair."),
    (bos_id, "Id that targets start with; unset: the tokenizer's BOS.", at_least(0)),
    (add_eos, "Ends both texts with EOS. Default: if the tokenizer has one."),
    (eos_id, "Id of EOS; unset: that of the tokenizer.", at_least(0)),
    (limit, "Most bytes of text.", at_least(1)))

// data/Tokens reads token files (token_file.h has the formats). trivet's files record documents,
// vocabulary, BOS and EOS, so their rows equal those of the original text. Other files hold only
// ids: documents end at document_end, and BOS and EOS are added only if add_bos or add_eos is set.
struct TokensConfig : SequenceConfig {
  std::vector<Path> files;
  TokenLayout layout = TokenLayout::by_header;
  std::optional<std::int32_t> document_end;
  std::int64_t vocab_size = 0;
  ConfigOf<Tokenizer> tokenizer;
  bool verify = true;
  Bytes limit = std::int64_t{4} << 30;
};
TRIVET_CONFIG(
    TokensConfig, SequenceConfig,
    (files,
     "Token files and patterns (*, ?, [a-z]); read in the order of their names. A gzip or zstd "
     "file is decompressed into memory.",
     required),
    (layout, "Layout of the files: as their header says, or 16-bit ids as nanoGPT has them."),
    (document_end,
     "The id that ends a document, in files that do not say it; unset: a file is one.",
     at_least(0)),
    (vocab_size,
     "Size of the vocabulary: ids must be lower. 0: that of the files or the tokenizer.",
     at_least(0)),
    (tokenizer,
     "Tokenizer that turns the ids into text, for samples and \"label_bytes\". Default: that of "
     "the task."),
    (verify,
     "Checks at the start the checksum of each file and that all ids are in the vocabulary."),
    (limit, "Most bytes of compressed files together, when decompressed.", at_least(1)))

}  // namespace trivet::data
