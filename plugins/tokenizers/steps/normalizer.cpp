// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/steps/normalizer.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "tokenizers/steps/bert_normalizer.h"
#include "tokenizers/steps/precompiled_normalizer.h"
#include "tokenizers/steps/replacement.h"
#include "tokenizers/text/unicode.h"

namespace trivet::tokenizers {
namespace {

constexpr const char* kKnownNormalizers =
    "NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Replace, Prepend, BertNormalizer, "
    "Precompiled, Sequence";

class FormNormalizer final : public Normalizer {
 public:
  explicit FormNormalizer(NormalForm form) : form_(form) {}
  std::string apply(std::string text) const override { return to_normal_form(text, form_); }

 private:
  NormalForm form_;
};

class LowercaseNormalizer final : public Normalizer {
 public:
  std::string apply(std::string text) const override { return to_lower_case(text); }
};

class StripAccentsNormalizer final : public Normalizer {
 public:
  std::string apply(std::string text) const override {
    std::string kept;
    for_each_character(text, [&](char32_t c, std::string_view bytes) {
      if (!is_mark(c)) kept += bytes;
    });
    return kept;
  }
};

class StripNormalizer final : public Normalizer {
 public:
  explicit StripNormalizer(const JsonPart& part)
      : left_(part.flag("strip_left", true)), right_(part.flag("strip_right", true)) {
    part.check_fields({"strip_left", "strip_right"});
  }
  std::string apply(std::string text) const override {
    // The blanks at the front end at `begin`, those at the end begin at `end`.
    std::size_t begin = std::string::npos, end = 0, at = 0;
    for_each_character(text, [&](char32_t c, std::string_view bytes) {
      if (!is_white_space(c)) {
        if (begin == std::string::npos) begin = at;
        end = at + bytes.size();
      }
      at += bytes.size();
    });
    if (begin == std::string::npos) return left_ || right_ ? std::string() : text;
    if (right_) text.erase(end);
    if (left_) text.erase(0, begin);
    return text;
  }

 private:
  bool left_, right_;
};

class ReplaceNormalizer final : public Normalizer {
 public:
  explicit ReplaceNormalizer(const JsonPart& part) : replacement_(part) {}
  std::string apply(std::string text) const override { return replacement_.apply(std::move(text)); }

 private:
  Replacement replacement_;
};

class PrependNormalizer final : public Normalizer {
 public:
  explicit PrependNormalizer(const JsonPart& part) : prefix_(part.text("prepend")) {
    part.check_fields({"prepend"});
  }
  std::string apply(std::string text) const override {
    return text.empty() ? text : prefix_ + text;
  }

 private:
  std::string prefix_;
};

class NormalizerSequence final : public Normalizer {
 public:
  explicit NormalizerSequence(const JsonPart& part) {
    part.check_fields({"normalizers"});
    for (const JsonPart& step : part.list("normalizers")) {
      if (step.is_null()) step.fail("must be a normalizer, not null");
      steps_.push_back(read_normalizer(step));
    }
  }
  std::string apply(std::string text) const override {
    for (const auto& step : steps_) text = step->apply(std::move(text));
    return text;
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

}  // namespace

std::unique_ptr<Normalizer> read_normalizer(const JsonPart& part) {
  if (part.is_null()) return nullptr;
  const std::string type = part.type();
  constexpr std::pair<const char*, NormalForm> kForms[] = {{"NFC", NormalForm::nfc},
                                                           {"NFD", NormalForm::nfd},
                                                           {"NFKC", NormalForm::nfkc},
                                                           {"NFKD", NormalForm::nfkd}};
  for (const auto& form : kForms) {
    if (type != form.first) continue;
    part.check_fields({});
    return std::make_unique<FormNormalizer>(form.second);
  }
  if (type == "Lowercase" || type == "StripAccents") {
    part.check_fields({});
    if (type == "Lowercase") return std::make_unique<LowercaseNormalizer>();
    return std::make_unique<StripAccentsNormalizer>();
  }
  if (type == "Strip") return std::make_unique<StripNormalizer>(part);
  if (type == "Replace") return std::make_unique<ReplaceNormalizer>(part);
  if (type == "Prepend") return std::make_unique<PrependNormalizer>(part);
  if (type == "BertNormalizer") return std::make_unique<BertNormalizer>(part);
  if (type == "Precompiled") return std::make_unique<PrecompiledNormalizer>(part);
  if (type == "Sequence") return std::make_unique<NormalizerSequence>(part);
  part.fail_type("normalizer", kKnownNormalizers);
}

}  // namespace trivet::tokenizers
