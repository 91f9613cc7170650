// SPDX-License-Identifier: Apache-2.0
#include "data/labeled/text_pairs_input.h"

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

class SideRows final : public LabeledRows {
 public:
  SideRows(std::shared_ptr<const TokenStore> tokens, std::int64_t seq_len)
      : LabeledRows(std::move(tokens), seq_len) {}
  std::string fingerprint() const override {
    return digest(tokens().fingerprint() + " " + std::to_string(seq_len()));
  }
};

// `right` is null for examples to embed.
class PairedTexts final : public SequenceDataset {
 public:
  PairedTexts(std::unique_ptr<SideRows> left, std::unique_ptr<SideRows> right)
      : left_(std::move(left)), right_(std::move(right)) {}

  std::int64_t rows() const override { return left_->rows(); }
  Batch batch(std::span<const Row> rows) override {
    Batch batch;
    add(batch, "left/", left_->batch(rows));
    if (right_) add(batch, "right/", right_->batch(rows));
    return batch;
  }
  std::string fingerprint() const override {
    return digest(left_->fingerprint() + (right_ ? right_->fingerprint() : ""));
  }

 private:
  static void add(Batch& batch, const std::string& prefix, const Batch& side) {
    for (const auto& [name, tensor] : side) batch.set(prefix + name, tensor);
  }

  std::unique_ptr<SideRows> left_, right_;
};

}  // namespace

void TextPairsConfig::validate(Diagnostics& diagnostics) const {
  InputConfig::validate(diagnostics);
  check_template(diagnostics, "left", left);
  check_template(diagnostics, "right", right);
}

struct TextPairsInput::Parts {
  Parts(const Config& from, const InputContext& context)
      : config(from),
        data(own_source(from.source, context)),
        tokenizer(required_tokenizer(from.tokenizer, context)),
        vocabulary(checked_vocabulary(*tokenizer, context.name)),
        special(text_special_tokens(from, *tokenizer, context.name)),
        left(from.left),
        right(from.right) {
    check_room(from, (special.cls ? 1 : 0) + (special.sep ? 1 : 0), context.name);
  }

  std::unique_ptr<SequenceDataset> load() const {
    auto of_left = std::make_shared<MemoryTokens>(vocabulary);
    auto of_right = std::make_shared<MemoryTokens>(vocabulary);
    read_limited(*data, config.limit.count, [&](const SourceExample& example) {
      const Ids a = row_of(left, example), b = row_of(right, example);
      if (a.empty() || b.empty()) return;
      of_left->add(a);
      of_right->add(b);
    });
    return std::make_unique<PairedTexts>(rows_of(std::move(of_left)), rows_of(std::move(of_right)));
  }

  std::unique_ptr<SequenceDataset> load_left(DataSource& examples) const {
    auto tokens = std::make_shared<MemoryTokens>(vocabulary);
    read_limited(examples, config.limit.count, [&](const SourceExample& example) {
      const Ids row = row_of(left, example);
      if (row.empty()) throw InputError(example.location + ": the text has no token");
      tokens->add(row);
    });
    return std::make_unique<PairedTexts>(rows_of(std::move(tokens)), nullptr);
  }

  std::unique_ptr<SideRows> rows_of(std::shared_ptr<const TokenStore> tokens) const {
    return std::make_unique<SideRows>(std::move(tokens), config.seq_len);
  }

  // Empty for a text without tokens.
  Ids row_of(const TextTemplate& side, const SourceExample& example) const {
    const Ids text = encode_checked(*tokenizer, side.fill(example), example.location);
    if (text.empty()) return {};
    Ids row;
    if (special.cls) row.push_back(*special.cls);
    const std::size_t end = static_cast<std::size_t>(config.seq_len) - (special.sep ? 1 : 0);
    row.insert(row.end(), text.begin(),
               text.begin() + static_cast<std::ptrdiff_t>(std::min(text.size(), end - row.size())));
    if (special.sep) row.push_back(*special.sep);
    return row;
  }

  Config config;
  std::shared_ptr<DataSource> data;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::int64_t vocabulary;
  TextSpecialTokens special;
  TextTemplate left, right;
};

TextPairsInput::TextPairsInput(const Config& config, InputContext& context)
    : TextPairsInput(config, context, Parts(config, context)) {}

TextPairsInput::TextPairsInput(const Config& config, InputContext& context, const Parts& parts)
    : RowsInput(
          config, context, name_of(parts.data.get()),
          encoder_sides(parts.tokenizer, parts.vocabulary, {"left/", "right/"}),
          [parts] { return parts.load(); },
          [parts](DataSource& examples) { return parts.load_left(examples); }) {}

}  // namespace trivet::data
