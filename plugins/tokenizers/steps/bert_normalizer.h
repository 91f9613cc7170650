// SPDX-License-Identifier: Apache-2.0
// The normalizer of BERT (Devlin et al. 2018, tokenization.py, BasicTokenizer): no control
// characters, blanks around Chinese characters, without accents, in lower case.
#pragma once

#include <string>

#include "tokenizers/steps/normalizer.h"

namespace trivet::tokenizers {

class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(const JsonPart& part);
  std::string apply(std::string text) const override;

 private:
  bool clean_text_, handle_chinese_chars_, lowercase_, strip_accents_;
};

}  // namespace trivet::tokenizers
