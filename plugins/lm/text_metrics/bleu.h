// SPDX-License-Identifier: Apache-2.0
// Bleu: the score of a whole data set (Papineni et al. 2002) as sacreBLEU computes it (Post 2018,
// version 2): n-grams up to 4, case kept, tokenizer 13a unless set, exponential smoothing of orders
// without a match. Named "bleu", from 0 to 100.
//
//   bleu = bp * exp(mean over n of ln p_n),  bp = min(1, exp(1 - references' / texts' tokens))
//
// p_n is the share of n-grams that are in a reference, each at most as often as in the one with the
// most of it; the k-th order in a row without a match has 1 / (2^k total). The length of a
// reference is that of the one closest to the text's, the shorter of two.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trivet/text_metric.h"

namespace trivet::lm {

enum class BleuTokens {
  v13a,        // of WMT: mteval-v13a
  none,        // words between white space
  characters,  // without white space
};
TRIVET_ENUM(BleuTokens, v13a, none, characters)

struct BleuConfig : TextMetricConfig {
  BleuTokens tokenize = BleuTokens::v13a;
};
TRIVET_CONFIG(BleuConfig, trivet::TextMetricConfig,
              (tokenize,
               "Tokens that are compared: v13a, the words and marks of WMT's mteval-v13a (13a in "
               "sacreBLEU); none, the words between white space; or characters."))

class Bleu final : public TextMetric {
 public:
  using Config = BleuConfig;
  static constexpr std::size_t kOrders = 4;

  explicit Bleu(const Config& config);

  void add(std::string_view decoded, std::span<const std::string> references) override;
  Logs result() const override;
  void reset_state() override;
  Value save_state() const override;
  void merge(const Value& state) override;

 private:
  std::vector<std::string> tokens_of(std::string_view text) const;
  double score() const;

  std::string name_;
  BleuTokens tokenize_;
  std::array<std::int64_t, kOrders> correct_{}, total_{};
  std::int64_t length_ = 0, reference_length_ = 0;
};

// The text with blanks around the tokens of mteval-v13a.
std::string tokenize_13a(std::string_view text);

}  // namespace trivet::lm
