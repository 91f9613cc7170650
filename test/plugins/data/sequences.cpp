// SPDX-License-Identifier: Apache-2.0
#include "sequences.h"

#include "host/item_collector.h"
#include "trivet/plugin.h"

namespace trivet::test {
namespace {

constexpr std::int32_t kFirstByte = 10;

struct LettersConfig : TokenizerConfig {
  bool special_tokens = true;
  std::int32_t vocabulary = kFirstByte + 256;
  std::int32_t wrong_id = '!' + kFirstByte;
};
TRIVET_CONFIG(LettersConfig, TokenizerConfig, (special_tokens, "Has BOS and EOS."),
              (vocabulary, "What it says."), (wrong_id, "For an exclamation mark."))

class Letters final : public Tokenizer {
 public:
  using Config = LettersConfig;
  explicit Letters(Config config) : config_(config) {}
  std::int32_t vocabulary_size() const override { return config_.vocabulary; }
  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> ids;
    for (const char c : text) {
      ids.push_back(c == '!' ? config_.wrong_id : static_cast<unsigned char>(c) + kFirstByte);
    }
    return ids;
  }
  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (const std::int32_t id : ids) {
      check_id(id);
      if (id >= kFirstByte) text += static_cast<char>(id - kFirstByte);
    }
    return text;
  }
  std::optional<std::int32_t> bos_id() const override { return mark(1); }
  std::optional<std::int32_t> eos_id() const override { return mark(2); }
  std::optional<std::int32_t> pad_id() const override { return mark(0); }
  std::string fingerprint() const override { return "letters"; }

 private:
  std::optional<std::int32_t> mark(std::int32_t id) const {
    return config_.special_tokens ? std::optional(id) : std::nullopt;
  }
  Config config_;
};

void register_letters() {
  static const bool done = [] {
    constexpr About about{.name = "letters", .version = "1.0.0", .license = "Apache-2.0"};
    ItemCollector parts;
    detail::register_item(parts, about, tokenizer<Letters>("Bytes", "Bytes, moved by ten."));
    registry().add({.name = "letters", .version = "1.0.0"}, std::move(parts.items));
    return true;
  }();
  (void)done;
}

char shown(std::int32_t id) {
  constexpr std::string_view special = ".^$#######";
  static_assert(special.size() == kFirstByte);
  return id >= kFirstByte ? static_cast<char>(id - kFirstByte) : special.at(id);
}

template <class T, class Show>
std::vector<std::string> texts(const Batch& batch, const char* field, const Show& show) {
  const Tensor* tensor = batch.find(field);
  if (tensor == nullptr) return {};
  const auto values = tensor->to_host<T>();
  const auto width = static_cast<std::size_t>(tensor->dim(1));
  std::vector<std::string> rows(values.size() / width);
  for (std::size_t i = 0; i < values.size(); ++i) rows[i / width] += show(values[i]);
  return rows;
}

template <class T>
char digit(T value) {
  return static_cast<char>('0' + static_cast<int>(value));
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

ConfigOf<Tokenizer> letters(bool special_tokens) {
  register_letters();
  return {"letters/Bytes", Value::table({{"special_tokens", special_tokens}})};
}

ConfigOf<Tokenizer> wrong_letters(std::int32_t vocabulary, std::int32_t wrong_id) {
  register_letters();
  return {"letters/Bytes", Value::table({{"vocabulary", vocabulary}, {"wrong_id", wrong_id}})};
}

SequenceRows rows_of(const Batch& batch) {
  return {texts<std::int32_t>(batch, "ids", shown),
          texts<std::int32_t>(batch, "labels", shown),
          texts<float>(batch, "weights", digit<float>),
          texts<float>(batch, "paddings", digit<float>),
          texts<std::int32_t>(batch, "segment_ids", digit<std::int32_t>),
          texts<std::int32_t>(batch, "segment_pos", digit<std::int32_t>),
          texts<std::int32_t>(batch, "label_bytes", digit<std::int32_t>)};
}

SequenceRows all_rows(Input& input) {
  SequenceRows all;
  while (const auto batch = input.get_next()) {
    const SequenceRows rows = rows_of(*batch);
    append(all.ids, rows.ids);
    append(all.labels, rows.labels);
    append(all.weights, rows.weights);
    append(all.paddings, rows.paddings);
    append(all.segment_ids, rows.segment_ids);
    append(all.segment_pos, rows.segment_pos);
    append(all.label_bytes, rows.label_bytes);
  }
  return all;
}

std::string fingerprint(const Batch& batch) {
  std::string bytes;
  for (const auto& [name, tensor] : batch) {
    bytes += name;
    const auto data = tensor.to_bytes();
    bytes.append(reinterpret_cast<const char*>(data.data()), data.size());
  }
  return bytes;
}

TextFolder::TextFolder(const std::vector<std::string>& texts) {
  for (std::size_t i = 0; i < texts.size(); ++i) dir_.write(std::to_string(i) + ".txt", texts[i]);
  config.files = {Path((dir_ / "*.txt").string())};
  config.tokenizer = letters();
  config.seq_len = 8;
  config.batch_size = 2;
}

}  // namespace trivet::test
