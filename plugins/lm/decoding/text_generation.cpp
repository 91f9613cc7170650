// SPDX-License-Identifier: Apache-2.0
#include "lm/decoding/text_generation.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "lm/decoding/beam_search.h"
#include "lm/decoding/cached_decoder.h"
#include "lm/decoding/sample_decode.h"
#include "lm/decoding/speculative_decoder.h"
#include "lm/decoding/stop_text_stream.h"
#include "trivet/error.h"

namespace trivet::lm {
namespace {

using Tokens = std::vector<std::int32_t>;
using End = FinishReason;

Tokens tokens_of(const Generation& generation, const std::string& prompt) {
  Tokens tokens = generation.tokenizer.encode(prompt);
  if (generation.bos) tokens.insert(tokens.begin(), *generation.bos);
  if (generation.prompt_end) tokens.push_back(*generation.prompt_end);
  return tokens;
}

// Throws UsageError for a prompt that the model cannot read.
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
  const std::int64_t known = std::min<std::int64_t>(generation.model.vocabulary_size(),
                                                    generation.tokenizer.vocabulary_size());
  if (end && *end < known) limits.end_tokens = {*end};
  for (const std::int32_t id : generation.config.eos_ids) {
    if (id >= known) {
      throw UsageError("task.decode.eos_ids has token " + std::to_string(id) +
                       ", and the model has " + std::to_string(known));
    }
    if (id != end) limits.end_tokens.push_back(id);
  }
  limits.longest = generation.model.longest_sequence();
  return limits;
}

// How many tokens fit after any of the prompts, of `wanted`.
std::int64_t most_steps(std::span<const Tokens> prompts, std::int64_t longest,
                        std::int64_t wanted) {
  if (longest == 0) return wanted;
  const Tokens& shortest = *std::ranges::min_element(prompts, {}, &Tokens::size);
  return std::min(std::max<std::int64_t>(longest - std::ssize(shortest), 0), wanted);
}

class Generator {
 public:
  Generator(const Generation& generation, std::vector<Tokens> prompts,
            const TextGenerator::OnText& on_text)
      : generation_(generation),
        limits_(limits_of(generation)),
        on_text_(on_text),
        tokens_(std::move(prompts)) {
    const GenerateOptions& options = generation.options;
    if (!options.rows.empty() && options.rows.size() != tokens_.size()) {
      throw UsageError("there are options of " + std::to_string(options.rows.size()) +
                       " rows, and " + std::to_string(tokens_.size()) + " prompts");
    }
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      configs_.push_back(config_of(options, i));
      check_tokens(generation, tokens_[i], name_of_prompt(options, i, tokens_.size()));
      texts_.emplace_back(generation.tokenizer, options.stop, [this, i](std::string_view piece) {
        if (on_text_) on_text_(i, piece);
      });
    }
    if (std::ranges::any_of(configs_, is_guided)) add_unconditional(tokens_.size());
    if (generation.config.sample_constraint) {
      TokenConstraintContext context{.tokenizer = generation.tokenizer,
                                     .end_tokens = limits_.end_tokens};
      constraint_ = make(generation.config.sample_constraint, context);
    }
    results_.resize(tokens_.size());
  }

  std::vector<GeneratedText> run() {
    if (!configs_.empty() && configs_[0].beam_size > 1) {
      for (std::size_t i = 0; i < tokens_.size(); ++i) search(i);
    } else {
      // With a draft, rows would be at different positions.
      const bool guesses = generation_.draft != nullptr;
      const auto slots = static_cast<std::size_t>(guesses ? 1 : generation_.config.num_cache_slots);
      const bool at_once = tokens_.size() <= slots ||
                           (!guesses && CachedDecoder::can_insert_into(generation_.model));
      const std::size_t most = at_once ? tokens_.size() : slots;
      for (std::size_t i = 0; i < tokens_.size(); i += most) {
        sample(i, std::min(most, tokens_.size() - i));
      }
    }
    return std::move(results_);
  }

 private:
  static bool is_guided(const DecodeConfig& config) { return config.cf_guidance_scale != 1; }

  DecodeConfig config_of(const GenerateOptions& options, std::size_t i) const {
    GenerateOptions own = options;
    if (!options.rows.empty()) {
      const GenerateOptions::Row& row = options.rows[i];
      if (row.max_tokens) own.max_tokens = row.max_tokens;
      if (row.temperature) own.temperature = row.temperature;
      if (row.top_k) own.top_k = row.top_k;
      if (row.top_p) own.top_p = row.top_p;
    }
    DecodeConfig config = with_options(generation_.config, own);
    if (config.optimize_eos && limits_.end_tokens.empty()) {
      throw UsageError("task.decode.optimize_eos is set, but the tokenizer has no end token",
                       {.hint = "set task.decode.eos_ids to those that end a text"});
    }
    return config;
  }

  void add_unconditional(std::size_t count) {
    const Tokens tokens = tokens_of(generation_, generation_.config.unconditional_prompt);
    check_tokens(generation_, tokens, "task.decode.unconditional_prompt");
    unconditional_.assign(count, tokens);
  }

  CachedDecoder decoder_of(const NextToken& model, std::size_t first, std::size_t count) const {
    std::int64_t wanted = 0, longest = 0;
    std::vector<Tokens> prompts;
    for (std::size_t i = first; i < first + count; ++i) {
      wanted = std::max(wanted, configs_[i].max_decode_steps);
      longest = std::max(longest, std::ssize(tokens_[i]));
      prompts.push_back(tokens_[i]);
      if (!unconditional_.empty()) prompts.push_back(unconditional_[i]);
    }
    const std::int64_t steps = most_steps(prompts, limits_.longest, wanted);
    if (!unconditional_.empty()) longest = std::max(longest, std::ssize(unconditional_[first]));
    return {model, generation_.device, steps, generation_.tokenizer.vocabulary_size(), longest};
  }

  void sample(std::size_t first, std::size_t count) {
    CachedDecoder steps = decoder_of(generation_.model, first, count);
    std::optional<CachedDecoder> draft;
    std::optional<SpeculativeDecoder> speculative;
    if (generation_.draft != nullptr) {
      draft.emplace(decoder_of(*generation_.draft, first, count));
      speculative.emplace(steps, *draft, generation_.draft->longest_sequence(),
                          generation_.options.draft.tokens);
    }
    DecoderState& decoder = speculative ? static_cast<DecoderState&>(*speculative) : steps;
    std::vector<RngKey> keys;
    for (std::size_t i = first; i < first + count; ++i) keys.push_back(key_of(i));
    SampleBatch batch{.prompts = std::span(tokens_).subspan(first, count),
                      .configs = std::span(configs_).subspan(first, count),
                      .keys = keys,
                      .unconditional = {},
                      .slots = static_cast<std::size_t>(generation_.config.num_cache_slots),
                      .constraint = constraint_.get(),
                      .top = generation_.options.top_log_probabilities};
    if (!unconditional_.empty()) {
      batch.unconditional = std::span(unconditional_).subspan(first, count);
    }
    std::vector<DecodedRow> rows = sample_decode(
        decoder, batch, limits_,
        [&](std::size_t row, std::int32_t id) { return texts_[first + row].push(id); });
    for (std::size_t row = 0; row < count; ++row) {
      finish(first + row, rows[row].ids, rows[row].log_probs);
      results_[first + row].score = results_[first + row].log_probability;
      results_[first + row].top_log_probabilities = std::move(rows[row].top);
      results_[first + row].entropies = std::move(rows[row].entropies);
    }
    if (!speculative) return;
    results_[first].guessed = speculative->guessed();
    results_[first].accepted = speculative->accepted();
  }

  // Derived from the prompt's Draw, so that its row in a batch has no effect.
  RngKey key_of(std::size_t i) const {
    const GenerateOptions::Draw draw = draw_of(generation_.options, i);
    return RngKey(generation_.options.seed).fold("generate").fold(draw.prompt).fold(draw.sample);
  }

  // Sample n of a prompt is sequence n of one search.
  void search(std::size_t i) {
    if (i == 0 || tokens_[i] != tokens_[i - 1] ||
        configs_[i].max_decode_steps != configs_[i - 1].max_decode_steps) {
      CachedDecoder steps = decoder_of(generation_.model, i, 1);
      beams_ = beam_search(steps, tokens_[i], configs_[i], limits_);
    }
    const std::uint64_t rank = draw_of(generation_.options, i).sample;
    if (rank >= beams_.size()) return finish(i, {}, {});
    const Beam& beam = beams_[rank];
    for (const std::int32_t id : beam.ids) {
      if (is_end(id) || !texts_[i].push(id)) break;
    }
    finish(i, beam.ids, beam.log_probs);
    results_[i].score = beam.score;
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
    result.ids = ids;
    result.tokens = std::ssize(ids);
    result.log_probability = std::accumulate(log_probs.begin(), log_probs.end(), 0.0);
    result.token_log_probabilities = log_probs;
    if (texts_[i].stopped()) {
      result.end = End::stop_text;
    } else if (!ids.empty() && is_end(ids.back())) {
      result.end = End::end_token;
    } else if (result.tokens < configs_[i].max_decode_steps) {
      result.end = End::model_length;
    } else {
      result.end = End::max_tokens;
    }
  }

  const Generation& generation_;
  const DecodeLimits limits_;
  const TextGenerator::OnText& on_text_;
  std::vector<DecodeConfig> configs_;
  std::unique_ptr<TokenConstraint> constraint_;  // may be null
  std::vector<Tokens> tokens_, unconditional_;   // the latter is empty without guidance
  std::deque<StopTextStream> texts_;
  std::vector<Beam> beams_;  // of the last search
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
void refuse_draws(const GenerateOptions& options, std::int64_t beam_size) {
  const auto refuse = [](bool is_set, const char* name) {
    if (!is_set) return;
    throw UsageError(std::string(name) + " applies to sampling only; beam search does not sample",
                     {.hint = "remove one of the two; a beam size of 1 samples"});
  };
  refuse(options.temperature.has_value(), "a temperature");
  refuse(options.top_k.has_value(), "top-k");
  refuse(options.top_p.has_value(), "top-p");
  refuse(options.top_log_probabilities > 0, "the likeliest tokens of each step");
  const auto beams = static_cast<std::uint64_t>(beam_size);
  for (const GenerateOptions::Draw& draw : options.draws) {
    if (draw.sample < beams) continue;
    throw UsageError("beam search has " + std::to_string(beams) +
                         " sequences, so it has no sample " + std::to_string(draw.sample + 1),
                     {.hint = "make the beam size as large as the number of samples"});
  }
}

}  // namespace

GenerateOptions::Draw draw_of(const GenerateOptions& options, std::size_t prompt) {
  const auto& draws = options.draws;
  return prompt < draws.size() ? draws[prompt] : GenerateOptions::Draw{.prompt = prompt};
}

std::string name_of_prompt(const GenerateOptions& options, std::size_t prompt,
                           std::size_t prompts) {
  const std::uint64_t number = draw_of(options, prompt).prompt;
  if (!options.prompts_file.empty()) {
    return "line " + std::to_string(number + 1) + " of " + options.prompts_file;
  }
  bool alone = true;  // true: all prompts are samples of one
  for (std::size_t i = 0; i < prompts && alone; ++i) alone = draw_of(options, i).prompt == number;
  return alone ? "the prompt" : "prompt " + std::to_string(number + 1);
}

GenerateOptions part_of(const GenerateOptions& options, std::size_t first, std::size_t count) {
  GenerateOptions part = options;
  part.draws.clear();
  part.rows.clear();
  for (std::size_t i = first; i < first + count; ++i) {
    part.draws.push_back(draw_of(options, i));
    if (i < options.rows.size()) part.rows.push_back(options.rows[i]);
  }
  return part;
}

DecodeConfig with_options(DecodeConfig config, const GenerateOptions& options) {
  set(config.max_decode_steps, options.max_tokens, 1, "the number of tokens");
  set(config.k, options.top_k, 0, "top-k");
  set(config.beam_size, options.beam_size, 1, "the beam size");
  if (options.draft.model != nullptr) {
    if (options.draft.tokens < 1) throw UsageError("a draft guesses at least 1 token at a time");
    if (config.beam_size > 1) {
      throw UsageError("a draft guesses for one sequence; beam search keeps several",
                       {.hint = "use a beam size of 1"});
    }
    if (config.cf_guidance_scale != 1) {
      throw UsageError("a draft does not go with guidance, which reads two prompts",
                       {.hint = "set task.decode.cf_guidance_scale to 1"});
    }
  }
  if (config.beam_size > 1) {
    refuse_draws(options, config.beam_size);
    if (config.sample_constraint) {
      throw UsageError("task.decode.sample_constraint applies to sampling only",
                       {.hint = "use a beam size of 1"});
    }
    config.cf_guidance_scale = 1;  // of samples, as the config says
    config.optimize_eos = false;
  }
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
  if (options.top_log_probabilities < 0) {
    throw UsageError("the number of likeliest tokens must be at least 0");
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
