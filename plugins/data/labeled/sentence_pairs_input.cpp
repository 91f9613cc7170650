// SPDX-License-Identifier: Apache-2.0
#include "data/labeled/sentence_pairs_input.h"

#include <charconv>
#include <cmath>
#include <utility>
#include <variant>

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
// One per row; none for examples to predict.
using Labels = std::variant<std::monostate, Ids, std::vector<float>>;

template <class T>
T number_in(const std::string& text, const std::string& location, const char* what) {
  T number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const bool finite = !std::is_floating_point_v<T> || std::isfinite(static_cast<double>(number));
  if (error == std::errc() && stop == end && finite) return number;
  throw InputError(location + ": the label '" + text + "' is not a " + what,
                   {.hint = "class_names lists the labels; label_type = \"number\" is "
                            "for regression"});
}

// As in BERT's data: removes the last token of the longer sentence, of the second if equal.
void cut_together(Ids& a, Ids& b, std::int64_t room) {
  while (std::cmp_greater(a.size() + b.size(), room)) (a.size() > b.size() ? a : b).pop_back();
}

// inputs() of the tokens is the length of a row's first sentence, special tokens included.
class SentenceRows final : public LabeledRows {
 public:
  SentenceRows(std::shared_ptr<const TokenStore> tokens, std::int64_t seq_len, Labels labels)
      : LabeledRows(std::move(tokens), seq_len), labels_(std::move(labels)) {}

  Batch batch(std::span<const Row> rows) override {
    Batch batch = LabeledRows::batch(rows);
    Tensor types = Tensor::host({std::ssize(rows), seq_len()}, DType::i32);
    const auto type = filled<std::int32_t>(types, 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto first = static_cast<std::size_t>(tokens().inputs(rows[i].row));
      const auto length = static_cast<std::size_t>(tokens().length(rows[i].row));
      const std::size_t at = i * static_cast<std::size_t>(seq_len());
      std::ranges::fill(type.subspan(at + first, length - first), 1);
    }
    batch.set("token_type_ids", std::move(types));
    if (const auto* classes = std::get_if<Ids>(&labels_)) {
      batch.set("label", labels_of(rows, *classes));
    } else if (const auto* numbers = std::get_if<std::vector<float>>(&labels_)) {
      batch.set("label", labels_of(rows, *numbers));
    }
    return batch;
  }

  std::string fingerprint() const override {
    const auto text = [](const auto& all) {
      return digest({reinterpret_cast<const char*>(all.data()), all.size() * sizeof(all[0])});
    };
    const auto* classes = std::get_if<Ids>(&labels_);
    const auto* numbers = std::get_if<std::vector<float>>(&labels_);
    const std::string labels = classes != nullptr   ? text(*classes)
                               : numbers != nullptr ? text(*numbers)
                                                    : std::string();
    return digest(tokens().fingerprint() + " " + std::to_string(seq_len()) + " " + labels);
  }

 private:
  template <class T>
  static Tensor labels_of(std::span<const Row> rows, const std::vector<T>& all) {
    Tensor labels =
        Tensor::host({std::ssize(rows)}, std::is_same_v<T, float> ? DType::f32 : DType::i32);
    const auto label = labels.mutable_span<T>();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      label[i] = all[static_cast<std::size_t>(rows[i].row)];
    }
    return labels;
  }

  Labels labels_;
};

}  // namespace

void SentencePairsConfig::validate(Diagnostics& diagnostics) const {
  LabeledConfig::validate(diagnostics);
  check_template(diagnostics, "text_a", text_a);
  check_template(diagnostics, "text_b", text_b);
  check_template(diagnostics, "label", label);
  if (label_type == LabelType::number && !class_names.empty()) {
    diagnostics.add("class_names", "is set, but labels are numbers");
  }
}

// What load() needs.
struct SentencePairsInput::Parts {
  Parts(const Config& from, const InputContext& context)
      : config(from),
        data(own_source(from.source, context)),
        tokenizer(required_tokenizer(from.tokenizer, context)),
        vocabulary(checked_vocabulary(*tokenizer, context.name)),
        special(text_special_tokens(from, *tokenizer, context.name)),
        text_a(from.text_a),
        text_b(from.text_b),
        label(from.label) {
    const bool two = !text_b.empty();
    if (two && !special.sep) {
      throw InputError(context.name + ".sep_id: no token to put between two sentences",
                       {.hint = "set sep_id, or give the tokenizer an EOS"});
    }
    check_room(from, special_count(), context.name);
  }

  std::int64_t special_count() const {
    return (special.cls ? 1 : 0) + (special.sep ? 1 : 0) + (text_b.empty() ? 0 : 1);
  }

  std::unique_ptr<SequenceDataset> load() const {
    if (config.label_type == LabelType::number) return load(*data, std::vector<float>());
    return load(*data, Ids());
  }

  // `labels` has none yet, and gets those of the source unless it is monostate.
  std::unique_ptr<SequenceDataset> load(DataSource& source, Labels labels) const {
    auto tokens = std::make_shared<MemoryTokens>(vocabulary);
    read_limited(source, config.limit.count,
                 [&](const SourceExample& example) { add(example, *tokens, labels); });
    return std::make_unique<SentenceRows>(std::move(tokens), config.seq_len, std::move(labels));
  }

  void add(const SourceExample& example, MemoryTokens& tokens, Labels& labels) const {
    Ids a = encode_checked(*tokenizer, text_a.fill(example), example.location);
    Ids b = encode_checked(*tokenizer, text_b.fill(example), example.location);
    cut_together(a, b, config.seq_len - special_count());
    Ids row;
    if (special.cls) row.push_back(*special.cls);
    row.insert(row.end(), a.begin(), a.end());
    if (special.sep) row.push_back(*special.sep);
    const auto first = std::ssize(row);
    row.insert(row.end(), b.begin(), b.end());
    if (!text_b.empty()) row.push_back(*special.sep);
    if (a.empty() && b.empty()) return;
    tokens.add(row, first);
    if (std::holds_alternative<std::monostate>(labels)) return;
    const std::string text = label.fill(example);
    if (auto* numbers = std::get_if<std::vector<float>>(&labels)) {
      numbers->push_back(number_in<float>(text, example.location, "number"));
    } else {
      std::get<Ids>(labels).push_back(class_of(text, example.location));
    }
  }

  std::int32_t class_of(const std::string& text, const std::string& location) const {
    if (!config.class_names.empty()) return class_named(text, config.class_names, location);
    const auto number = number_in<std::int32_t>(text, location, "class");
    if (number < 0) throw InputError(location + ": the label " + text + " is negative");
    return number;
  }

  Config config;
  std::shared_ptr<DataSource> data;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::int64_t vocabulary;
  TextSpecialTokens special;
  TextTemplate text_a, text_b, label;
};

SentencePairsInput::SentencePairsInput(const Config& config, InputContext& context)
    : SentencePairsInput(config, context, Parts(config, context)) {}

SentencePairsInput::SentencePairsInput(const Config& config, InputContext& context,
                                       const Parts& parts)
    : RowsInput(
          config, context, name_of(parts.data.get()),
          encoder_sides(parts.tokenizer, parts.vocabulary), [parts] { return parts.load(); },
          [parts](DataSource& examples) { return parts.load(examples, std::monostate()); }) {}

}  // namespace trivet::data
