// SPDX-License-Identifier: Apache-2.0
#include "data/labeled/tagged_sequences_input.h"

#include <algorithm>
#include <utility>

#include "data/labeled/labeled_rows.h"
#include "data/sources/given_lines.h"
#include "data/sources/text_template.h"
#include "data/tokens/special_tokens.h"
#include "data/tokens/tokenize.h"
#include "trivet/config/digest.h"
#include "trivet/error.h"

namespace trivet::data {
namespace {

using Ids = std::vector<std::int32_t>;

constexpr const char* kBlanks = " \t\r\n";

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0, end = 0;
       (begin = text.find_first_not_of(kBlanks, end)) != std::string_view::npos;) {
    end = std::min(text.find_first_of(kBlanks, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
  }
  return parts;
}

// The tokens of a row and each one's tag, or -1.
struct TaggedRow {
  Ids ids, tags;
  void add(std::int32_t id, std::int32_t tag) {
    ids.push_back(id);
    tags.push_back(tag);
  }
};

// `tags` has, at each token's position, tag + 1, or 0 for no tag.
class TaggedRows final : public LabeledRows {
 public:
  TaggedRows(std::shared_ptr<const TokenStore> tokens, std::shared_ptr<const TokenStore> tags,
             std::int64_t seq_len)
      : LabeledRows(std::move(tokens), seq_len), tags_(std::move(tags)) {}

  Batch batch(std::span<const Row> rows) override {
    Batch batch = LabeledRows::batch(rows);
    const Shape shape{std::ssize(rows), seq_len()};
    Tensor tags = Tensor::host(shape, DType::i32), weights = Tensor::host(shape);
    const auto tag = filled<std::int32_t>(tags, 0);
    const auto weight = filled<float>(weights, 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!rows[i].real) continue;
      const auto length = static_cast<std::size_t>(tags_->length(rows[i].row));
      tags_->read(rows[i].row, 0, tag.subspan(i * static_cast<std::size_t>(seq_len()), length));
    }
    for (std::size_t i = 0; i < tag.size(); ++i) {
      weight[i] = tag[i] > 0 ? 1 : 0;
      --tag[i];
    }
    batch.set("tags", std::move(tags));
    batch.set("weights", std::move(weights));
    return batch;
  }

  std::string fingerprint() const override {
    return digest(tokens().fingerprint() + tags_->fingerprint() + std::to_string(seq_len()));
  }

 private:
  std::shared_ptr<const TokenStore> tags_;
};

}  // namespace

void TaggedSequencesConfig::validate(Diagnostics& diagnostics) const {
  LabeledConfig::validate(diagnostics);
  check_template(diagnostics, "words", words);
  check_template(diagnostics, "tags", tags);
  if (class_names.empty()) diagnostics.add("class_names", "is empty; list the names of all tags");
}

// What load() needs.
struct TaggedSequencesInput::Parts {
  Parts(const Config& from, const InputContext& context)
      : config(from),
        data(own_source(from.source, context)),
        tokenizer(required_tokenizer(from.tokenizer, context)),
        vocabulary(checked_vocabulary(*tokenizer, context.name)),
        special(text_special_tokens(from, *tokenizer, context.name)),
        words(from.words),
        tags(from.tags) {
    check_room(from, (special.cls ? 1 : 0) + (special.sep ? 1 : 0), context.name);
  }

  // Words to predict have the first tag: it marks their first tokens.
  enum class Tags { given, none };
  std::unique_ptr<SequenceDataset> load(DataSource& source, Tags given) const {
    auto tokens = std::make_shared<MemoryTokens>(vocabulary);
    auto tagged = std::make_shared<MemoryTokens>(std::ssize(config.class_names) + 1);
    read_limited(source, config.limit.count, [&](const SourceExample& example) {
      for (TaggedRow& row : rows_of(example, given)) {
        tokens->add(row.ids);
        for (std::int32_t& tag : row.tags) ++tag;
        tagged->add(row.tags);
      }
    });
    return std::make_unique<TaggedRows>(std::move(tokens), std::move(tagged), config.seq_len);
  }

  std::vector<TaggedRow> rows_of(const SourceExample& example, Tags given) const {
    const std::string all_words = words.fill(example);
    const std::string all_tags = given == Tags::given ? tags.fill(example) : "";
    const auto each_word = parts_of(all_words), each_tag = parts_of(all_tags);
    if (given == Tags::given && each_word.size() != each_tag.size()) {
      throw InputError(example.location + ": there are " + std::to_string(each_word.size()) +
                           " words and " + std::to_string(each_tag.size()) + " tags",
                       {.hint = "both need the same number of parts, separated by blanks"});
    }
    const auto room = static_cast<std::size_t>(config.seq_len) - (special.sep ? 1 : 0);
    std::vector<TaggedRow> rows;
    for (std::size_t i = 0; i < each_word.size(); ++i) {
      const std::string text = (i > 0 ? config.separator : "") + std::string(each_word[i]);
      Ids ids = encode_checked(*tokenizer, text, example.location);
      const std::int32_t tag =
          given == Tags::given ? class_named(each_tag[i], config.class_names, example.location) : 0;
      if (ids.empty() && given == Tags::none) {
        throw InputError(example.location + ": the word '" + std::string(each_word[i]) +
                         "' has no token, so it gets no tag");
      }
      if (ids.empty()) continue;
      if (rows.empty() || rows.back().ids.size() + ids.size() > room) {
        rows.emplace_back();
        if (special.cls) rows.back().add(*special.cls, -1);
      }
      TaggedRow& row = rows.back();
      ids.resize(std::min(ids.size(), room - row.ids.size()));
      for (std::size_t at = 0; at < ids.size(); ++at) row.add(ids[at], at == 0 ? tag : -1);
    }
    for (TaggedRow& row : rows) {
      if (special.sep) row.add(*special.sep, -1);
    }
    return rows;
  }

  Config config;
  std::shared_ptr<DataSource> data;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::int64_t vocabulary;
  TextSpecialTokens special;
  TextTemplate words, tags;
};

TaggedSequencesInput::TaggedSequencesInput(const Config& config, InputContext& context)
    : TaggedSequencesInput(config, context, Parts(config, context)) {}

TaggedSequencesInput::TaggedSequencesInput(const Config& config, InputContext& context,
                                           const Parts& parts)
    : RowsInput(
          config, context, name_of(parts.data.get()),
          encoder_sides(parts.tokenizer, parts.vocabulary),
          [parts] { return parts.load(*parts.data, Parts::Tags::given); },
          [parts](DataSource& examples) { return parts.load(examples, Parts::Tags::none); }) {}

}  // namespace trivet::data
