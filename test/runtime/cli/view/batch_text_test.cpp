// SPDX-License-Identifier: Apache-2.0
// Batches as people see them, of an input whose fields have names of its own.
#include "cli/view/batch_text.h"

#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace batch_text_test {

using trivet::Batch;
using trivet::BatchText;
using trivet::Tensor;
using trivet::Value;

namespace {

// Id 0 is "a", 1 is "b" and so on.
class Letters final : public trivet::Tokenizer {
 public:
  std::int32_t vocabulary_size() const override { return 26; }
  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> ids;
    for (const char c : text) ids.push_back(c - 'a');
    return ids;
  }
  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (const std::int32_t id : ids) text += static_cast<char>('a' + id);
    return text;
  }
  std::string fingerprint() const override { return "letters"; }
};

// As somebody else's plugin may have it: no field is called as those of the plugin data are.
class Dialog final : public trivet::TextInput {
 public:
  const trivet::Tokenizer* tokenizer(Side) const override { return &letters_; }
  std::int64_t vocabulary_size(Side) const override { return 26; }
  std::vector<BatchText> texts() const override {
    return {
        {.name = "question",
         .ids = "asked",
         .segment_ids = "turn",
         .told = {"asked_mask"},
         .tokenizer = &letters_},
        {.name = "answer", .ids = "said", .segment_ids = {}, .told = {}, .tokenizer = &letters_},
        {.name = "aside",
         .ids = "whispered",
         .segment_ids = {},
         .told = {},
         .tokenizer = &letters_}};
  }

 private:
  Letters letters_;
};

template <class T>
Tensor row(const std::vector<T>& numbers, trivet::DType dtype) {
  Tensor tensor = Tensor::host({1, static_cast<std::int64_t>(numbers.size())}, dtype);
  std::copy(numbers.begin(), numbers.end(), tensor.mutable_span<T>().begin());
  return tensor;
}

Batch dialog() {
  using trivet::DType;
  return {{"asked", row<std::int32_t>({7, 8, 0, 2}, DType::i32)},
          {"asked_mask", row<float>({1, 1, 1, 1}, DType::f32)},
          {"labels", row<std::int32_t>({3, 4}, DType::i32)},
          {"said", row<std::int32_t>({13, 14}, DType::i32)},
          {"turn", row<std::int32_t>({1, 1, 0, 2}, DType::i32)}};
}

}  // namespace

TEST_CASE("rows of a batch have the texts that its input names, and what they do not tell") {
  const Dialog input;
  const Value rows = trivet::batch_rows(dialog(), &input, 5);
  REQUIRE(rows.items().size() == 1);
  const Value& shown = rows.items()[0];
  CHECK(*shown.find("question") == Value::array({"hi", "c"}));
  CHECK(*shown.find("answer") == Value::array({"no"}));
  // "labels" is no field of a text here, and there is nothing of the third text.
  CHECK(*shown.find("labels") == Value("3 4"));
  CHECK(shown.members().size() == 3);
}

TEST_CASE("rows of an input that is none of text are numbers") {
  const Value rows = trivet::batch_rows(dialog(), nullptr, 5);
  const Value& shown = rows.items().at(0);
  CHECK(shown.members().size() == 5);
  CHECK(*shown.find("asked") == Value("7 8 0 2"));
}

}  // namespace batch_text_test
