// SPDX-License-Identifier: Apache-2.0
#include "lm/decoding/text_generation.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "lm/decoding/beam_search.h"
#include "lm/decoding/cached_decoder.h"
#include "lm/decoding/sample_decode.h"
#include "lm/decoding/stop_text_stream.h"
#include "trivet/error.h"

namespace trivet::lm {
namespace {

using Tokens = std::vector<std::int32_t>;
using End = FinishReason;

// Rows per batch; more rows are decoded in several batches.
constexpr std::size_t kMostRows = 16;

Tokens tokens_of(const Generation& generation, const std::string& prompt) {
  Tokens tokens = generation.tokenizer.encode(prompt);
  if (generation.bos) tokens.insert(tokens.begin(), *generation.bos);
  if (generation.prompt_end) tokens.push_back(*generation.prompt_end);
  return tokens;
}

void check_tokens(const Generation& generation, const Tokens& tokens, const std::string& name) {
  if (tokens.empty()) {
    throw UsageError(name + " is empty, and the tokenizer has no token to start with",
                     {.hint = "give a prompt of at least one character"});
  }
  const std::int64_t known = generation.model.vocabulary_size();
  const auto too_large =
      std::find_if(tokens.begin(), tokens.end(), [&](std::int32_t id) { return id >= known; });
  if (too_large != tokens.end()) {
    throw UsageError(name + " has token " + std::to_string(*too_large) + ", and the model has " +
                     std::to_string(known));
  }
}

DecodeLimits limits_of(const Generation& generation) {
  DecodeLimits limits;
  const std::optional<std::int32_t> end = generation.eos;
  if (end && *end < generation.model.vocabulary_size()) limits.end_tokens = {*end};
  limits.longest = generation.model.longest_sequence();
  return limits;
}

// How many tokens fit after any of the prompts.
std::int64_t most_steps(std::span<const Tokens> prompts, const Generation& generation) {
  const std::int64_t most = generation.model.longest_sequence();
  if (most == 0) return generation.config.max_decode_steps;
  const Tokens& shortest = *std::ranges::min_element(prompts, {}, &Tokens::size);
  const std::int64_t left = std::max<std::int64_t>(most - std::ssize(shortest), 0);
  return std::min(left, generation.config.max_decode_steps);
}

class Generator {
 public:
  Generator(const Generation& generation, std::vector<Tokens> prompts,
            const TextGenerator::OnText& on_text)
      : generation_(generation),
        limits_(limits_of(generation)),
        on_text_(on_text),
        tokens_(std::move(prompts)) {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      check_tokens(generation, tokens_[i], name_of_prompt(generation.draws, i, tokens_.size()));
      texts_.emplace_back(generation.tokenizer, generation.stop, [this, i](std::string_view piece) {
        if (on_text_) on_text_(i, piece);
      });
    }
    results_.resize(tokens_.size());
  }

  std::vector<GeneratedText> run() {
    if (generation_.config.beam_size > 1) {
      for (std::size_t i = 0; i < tokens_.size(); ++i) search(i);
    } else {
      for (std::size_t i = 0; i < tokens_.size(); i += kMostRows) {
        sample(i, std::min(kMostRows, tokens_.size() - i));
      }
    }
    return std::move(results_);
  }

 private:
  void sample(std::size_t first, std::size_t count) {
    const auto prompts = std::span(tokens_).subspan(first, count);
    CachedDecoder steps(generation_.model, generation_.device, most_steps(prompts, generation_),
                        generation_.tokenizer.vocabulary_size());
    std::vector<RngKey> keys;
    for (std::size_t i = first; i < first + count; ++i) keys.push_back(key_of(i));
    const std::vector<DecodedRow> rows = sample_decode(
        steps, prompts, generation_.config, limits_, keys,
        [&](std::size_t row, std::int32_t id) { return texts_[first + row].push(id); });
    for (std::size_t row = 0; row < count; ++row) {
      finish(first + row, rows[row].ids, rows[row].log_probs);
    }
  }

  // Derived from the prompt's Draw, so that its row in a batch has no effect.
  RngKey key_of(std::size_t i) const {
    const GenerateOptions::Draw draw = draw_of(generation_.draws, i);
    return RngKey(generation_.seed).fold("generate").fold(draw.prompt).fold(draw.sample);
  }

  void search(std::size_t i) {
    CachedDecoder steps(generation_.model, generation_.device,
                        most_steps(std::span(tokens_).subspan(i, 1), generation_),
                        generation_.tokenizer.vocabulary_size());
    const std::vector<Beam> beams = beam_search(steps, tokens_[i], generation_.config, limits_);
    if (beams.empty()) return finish(i, {}, {});
    for (const std::int32_t id : beams[0].ids) {
      if (!is_end(id) && !texts_[i].push(id)) break;
    }
    finish(i, beams[0].ids, beams[0].log_probs);
  }

  bool is_end(std::int32_t id) const {
    const auto& ends = limits_.end_tokens;
    return std::find(ends.begin(), ends.end(), id) != ends.end();
  }

  void finish(std::size_t i, const Tokens& ids, const std::vector<double>& log_probs) {
    texts_[i].finish();
    GeneratedText& result = results_[i];
    result.text = texts_[i].text();
    result.prompt_tokens = std::ssize(tokens_[i]);
    result.tokens = std::ssize(ids);
    result.log_probability = std::accumulate(log_probs.begin(), log_probs.end(), 0.0);
    if (texts_[i].stopped()) {
      result.end = End::stop_text;
    } else if (!ids.empty() && is_end(ids.back())) {
      result.end = End::end_token;
    } else if (result.tokens < generation_.config.max_decode_steps) {
      result.end = End::model_length;
    } else {
      result.end = End::max_tokens;
    }
  }

  const Generation& generation_;
  const DecodeLimits limits_;
  const TextGenerator::OnText& on_text_;
  std::vector<Tokens> tokens_;
  std::deque<StopTextStream> texts_;
  std::vector<GeneratedText> results_;
};

void set(std::int64_t& field, const std::optional<std::int64_t>& value, std::int64_t least,
         const char* name) {
  if (!value) return;
  if (*value < least) {
    throw UsageError(std::string(name) + " is " + std::to_string(*value) +
                     "; it must be at least " + std::to_string(least));
  }
  field = *value;
}

// Beam search does not sample.
void refuse_draws(const GenerateOptions& options) {
  const auto refuse = [](bool is_set, const char* name) {
    if (!is_set) return;
    throw UsageError(std::string(name) + " applies to sampling only; beam search does not sample",
                     {.hint = "remove one of the two; a beam size of 1 samples"});
  };
  refuse(options.temperature.has_value(), "a temperature");
  refuse(options.top_k.has_value(), "top-k");
  refuse(options.top_p.has_value(), "top-p");
  const auto is_another = [](const GenerateOptions::Draw& draw) { return draw.sample > 0; };
  refuse(std::ranges::any_of(options.draws, is_another), "a second sample of a prompt");
}

}  // namespace

GenerateOptions::Draw draw_of(std::span<const GenerateOptions::Draw> draws, std::size_t prompt) {
  return prompt < draws.size() ? draws[prompt] : GenerateOptions::Draw{.prompt = prompt};
}

std::string name_of_prompt(std::span<const GenerateOptions::Draw> draws, std::size_t prompt,
                           std::size_t prompts) {
  const std::size_t number = draw_of(draws, prompt).prompt;
  bool alone = true;  // true: all prompts are samples of one
  for (std::size_t i = 0; i < prompts && alone; ++i) alone = draw_of(draws, i).prompt == number;
  return alone ? "the prompt" : "prompt " + std::to_string(number + 1);
}

DecodeConfig with_options(DecodeConfig config, const GenerateOptions& options) {
  set(config.max_decode_steps, options.max_tokens, 1, "the number of tokens");
  set(config.k, options.top_k, 0, "top-k");
  set(config.beam_size, options.beam_size, 1, "the beam size");
  if (config.beam_size > 1) refuse_draws(options);
  if (options.temperature) {
    if (!(*options.temperature >= 0) || !std::isfinite(*options.temperature)) {
      throw UsageError("the temperature must be a number of at least 0");
    }
    config.temperature = *options.temperature;
  }
  if (options.top_p) {
    if (!(*options.top_p > 0 && *options.top_p <= 1)) {
      throw UsageError("top-p must be above 0 and at most 1");
    }
    config.p = *options.top_p;
  }
  config.min_decode_steps = std::min(config.min_decode_steps, config.max_decode_steps);
  return config;
}

std::vector<GeneratedText> generate(const Generation& generation,
                                    std::span<const std::string> prompts,
                                    const TextGenerator::OnText& on_text) {
  std::vector<Tokens> tokens;
  for (const std::string& prompt : prompts) tokens.push_back(tokens_of(generation, prompt));
  return Generator(generation, std::move(tokens), on_text).run();
}

std::vector<GeneratedText> generate_after(const Generation& generation, std::vector<Tokens> prompts,
                                          const TextGenerator::OnText& on_text) {
  return Generator(generation, std::move(prompts), on_text).run();
}

}  // namespace trivet::lm
