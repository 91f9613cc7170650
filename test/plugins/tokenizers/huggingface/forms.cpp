// SPDX-License-Identifier: Apache-2.0
#include "forms.h"

#include <algorithm>
#include <map>
#include <utility>

#include "plugins/tokenizers/files.h"
#include "plugins/tokenizers/odd_texts.h"
#include "tokenizers/bpe/bpe_trainer.h"
#include "tokenizers/bpe/tokenizer_json.h"
#include "tokenizers/bpe/word_counts.h"
#include "trivet/text/utf8.h"

namespace trivet::test {

using Json = nlohmann::json;

const char* const kLlama3Regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
const char* const kGpt4Regex =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|)"
    R"(\s*[\r\n]|\s+(?!\S)|\s+)";
const char* const kGpt4oRegex =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const char* const kQwen2Regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

// The characters of the learned texts with their counts.
std::map<std::string, std::int64_t> characters_of(const std::vector<std::string>& texts) {
  std::map<std::string, std::int64_t> counts;
  for (const std::string& text : texts) {
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t length = first_code_point(rest).length;
      ++counts[std::string(rest.substr(0, length))];
      rest.remove_prefix(length);
    }
  }
  return counts;
}

// Runs of up to `longest` characters that occur most often.
std::vector<std::pair<std::string, std::int64_t>> frequent_runs(std::size_t longest,
                                                                std::size_t count) {
  std::map<std::string, std::int64_t> counts;
  for (const std::string& text : learned_texts()) {
    std::vector<std::size_t> ends = {0};
    while (ends.back() < text.size()) {
      ends.push_back(ends.back() +
                     first_code_point(std::string_view(text).substr(ends.back())).length);
    }
    for (std::size_t i = 0; i + 2 < ends.size(); ++i) {
      for (std::size_t n = 2; n <= longest && i + n < ends.size(); ++n) {
        ++counts[text.substr(ends[i], ends[i + n] - ends[i])];
      }
    }
  }
  std::vector<std::pair<std::string, std::int64_t>> runs(counts.begin(), counts.end());
  std::stable_sort(runs.begin(), runs.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  runs.resize(std::min(runs.size(), count));
  return runs;
}

std::string with_metaspace(std::string text) {
  std::string made;
  for (const char c : text) c == ' ' ? made += "\u2581" : made += c;
  return made;
}

std::string byte_name(int byte) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  return std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">";
}

}  // namespace

const std::vector<std::string>& learned_texts() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> made = odd_texts(1000, 2);
    for (const auto& [name, text] : licenses()) made.push_back(text.substr(0, 3000));
    return made;
  }();
  return texts;
}

Json added_token(std::int64_t id, const std::string& content, bool special) {
  return {{"id", id},        {"content", content},     {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", !special}, {"special", special}};
}

Json byte_level_file(const Json& pre_tokenizer, const Json& normalizer) {
  static const std::string trained = [] {
    tokenizers::WordCounts words({"<s>", "</s>"});
    for (const std::string& text : learned_texts()) words.add(text);
    return tokenizers::tokenizer_json_text(tokenizers::train_bpe(
        words.sorted(), {.vocabulary_size = 3000, .special_tokens = {"<s>", "</s>"}}));
  }();
  Json file = Json::parse(trained);
  file["pre_tokenizer"] = pre_tokenizer;
  file["normalizer"] = normalizer;
  return file;
}

Json split_then_bytes(const std::string& regex, const std::string& behavior, bool invert) {
  const Json bytes = {{"type", "ByteLevel"},
                      {"add_prefix_space", false},
                      {"trim_offsets", true},
                      {"use_regex", false}};
  const Json split = {{"type", "Split"},
                      {"pattern", {{"Regex", regex}}},
                      {"behavior", behavior},
                      {"invert", invert}};
  return {{"type", "Sequence"}, {"pretokenizers", {split, bytes}}};
}

Json word_piece_file(bool lowercase) {
  Json vocab = Json::object();
  for (const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    vocab.emplace(special, vocab.size());
  }
  std::size_t n = 0;
  for (const auto& [c, count] : characters_of(learned_texts())) {
    // A few characters are unknown at the beginning of words, others in them.
    if (++n % 7 != 0) vocab.emplace(c, vocab.size());
    if (n % 11 != 0) vocab.emplace("##" + c, vocab.size());
  }
  for (const auto& [run, count] : frequent_runs(6, 3000)) {
    if (run.find(' ') != std::string::npos) continue;
    vocab.emplace(run, vocab.size());
    if (count % 2 == 0) vocab.emplace("##" + run, vocab.size());
  }
  Json added = Json::array();
  for (const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    added.push_back(added_token(vocab.at(special).get<std::int64_t>(), special));
  }
  const auto special = [](const char* name) {
    return Json{{"SpecialToken", {{"id", name}, {"type_id", 0}}}};
  };
  const auto text = [](const char* name, int type) {
    return Json{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added},
          {"normalizer",
           {{"type", "BertNormalizer"},
            {"clean_text", true},
            {"handle_chinese_chars", true},
            {"strip_accents", nullptr},
            {"lowercase", lowercase}}},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"post_processor",
           {{"type", "TemplateProcessing"},
            {"single", {special("[CLS]"), text("A", 0), special("[SEP]")}},
            {"pair",
             {special("[CLS]"), text("A", 0), special("[SEP]"), text("B", 1), special("[SEP]")}},
            {"special_tokens",
             {{"[CLS]", {{"id", "[CLS]"}, {"ids", {2}}, {"tokens", {"[CLS]"}}}},
              {"[SEP]", {{"id", "[SEP]"}, {"ids", {3}}, {"tokens", {"[SEP]"}}}}}}}},
          {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
          {"model",
           {{"type", "WordPiece"},
            {"unk_token", "[UNK]"},
            {"continuing_subword_prefix", "##"},
            {"max_input_chars_per_word", 12},
            {"vocab", vocab}}}};
}

Json unigram_file(bool byte_fallback) {
  Json vocab = Json::array();
  std::map<std::string, bool> seen;
  const auto add = [&](const std::string& token, double score) {
    if (seen.emplace(token, true).second) vocab.push_back(Json::array({token, score}));
  };
  for (const char* special : {"<unk>", "<s>", "</s>"}) add(special, 0.0);
  if (byte_fallback) {
    for (int byte = 0; byte < 256; ++byte) add(byte_name(byte), 0.0);
  }
  // The scores are fractions of powers of two, so that equal sums are equal: the library reads
  // other ones with an error in the last place.
  std::size_t n = 0;
  for (const auto& [c, count] : characters_of(learned_texts())) {
    if (++n % 5 != 0 || c < "\x7f") add(with_metaspace(c), -9.5 - static_cast<double>(n % 97) / 32);
  }
  for (const auto& [run, count] : frequent_runs(6, 3000)) {
    add(with_metaspace(run), -4.25 - static_cast<double>(++n % 1013) / 128);
  }
  const Json metaspace = {{"type", "Metaspace"},
                          {"replacement", "\u2581"},
                          {"prepend_scheme", "always"},
                          {"split", true}};
  Json decoder = metaspace;
  if (byte_fallback) {
    decoder = {{"type", "Sequence"},
               {"decoders",
                {{{"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}},
                 {{"type", "ByteFallback"}},
                 {{"type", "Fuse"}},
                 {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}};
  }
  return {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", {added_token(0, "<unk>"), added_token(1, "<s>"), added_token(2, "</s>")}},
      {"normalizer", nullptr},
      {"pre_tokenizer", metaspace},
      {"post_processor", nullptr},
      {"decoder", decoder},
      {"model",
       {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocab}, {"byte_fallback", byte_fallback}}}};
}

Json character_bpe_file() {
  Json vocab = Json::object(), merges = Json::array();
  for (const char* special : {"<unk>", "<s>", "</s>"}) vocab.emplace(special, vocab.size());
  for (int byte = 0; byte < 256; ++byte) vocab.emplace(byte_name(byte), vocab.size());
  std::size_t n = 0;
  for (const auto& [c, count] : characters_of(learned_texts())) {
    if (++n % 5 != 0 || c < "\x7f") vocab.emplace(with_metaspace(c), vocab.size());
  }
  // Each frequent run is merged of its beginning, which is one, too, and its last character.
  for (const auto& [run, count] : frequent_runs(6, 4000)) {
    std::size_t last = run.size() - 1;
    while ((static_cast<unsigned char>(run[last]) & 0xC0) == 0x80) --last;
    const std::string left = with_metaspace(run.substr(0, last));
    const std::string right = with_metaspace(run.substr(last));
    if (!vocab.contains(left) || !vocab.contains(right) || vocab.contains(left + right)) continue;
    vocab.emplace(left + right, vocab.size());
    merges.push_back(Json::array({left, right}));
  }
  const Json blanks = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
  Json file = unigram_file(true);
  file["normalizer"] = {{"type", "Sequence"},
                        {"normalizers", {{{"type", "Prepend"}, {"prepend", "\u2581"}}, blanks}}};
  file["pre_tokenizer"] = nullptr;
  file["model"] = {{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", "<unk>"},
                   {"continuing_subword_prefix", nullptr},
                   {"end_of_word_suffix", nullptr},
                   {"fuse_unk", true},
                   {"byte_fallback", true},
                   {"ignore_merges", false},
                   {"vocab", vocab},
                   {"merges", merges}};
  return file;
}

std::unique_ptr<Tokenizer> hugging_face(const Json& file) {
  const TempDir dir;
  return make_tokenizer(
      "tokenizers/HuggingFace",
      Value::table({{"file", dir.write("tokenizer.json", file.dump()).string()}}));
}

}  // namespace trivet::test
