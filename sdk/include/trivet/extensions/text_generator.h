// SPDX-License-Identifier: Apache-2.0
// How a task continues texts with its model: what `trivet generate` and samples during training
// ask for. The task derives from TextGenerator, too.
//
// Example (sdk/examples/snippets/task_extensions.cpp#text_generator):
//
//   const void* extension(std::string_view id) const noexcept override {
//     return id == kTaskTextGenerator ? static_cast<const TextGenerator*>(this) : nullptr;
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/config.h"
#include "trivet/model.h"
#include "trivet/tokenizer.h"

namespace trivet {

// Id for Task::extension; what it returns points to a TextGenerator.
inline constexpr std::string_view kTaskTextGenerator = "trivet.task.text_generator/6";

class TextGenerator;

// Speculative decoding (Leviathan et al. 2023): a smaller model guesses the next tokens one by one,
// and the model computes the logits after all of them at once. The text is the one without a draft
// if the backend computes a row of a product to the same bits alone and with others.
struct DraftModel {
  const Model* model = nullptr;              // null: no draft; on the same device
  const TextGenerator* generator = nullptr;  // of its task
  std::int64_t tokens = 4;                   // most guesses at a time
};

// An unset field takes the value of the task's config.
struct GenerateOptions {
  std::optional<std::int64_t> max_tokens{};  // after each prompt
  std::optional<double> temperature{};       // 0: always the likeliest token
  std::optional<std::int64_t> top_k{};       // 0: all tokens
  std::optional<double> top_p{};             // 1: all tokens
  std::optional<std::int64_t> beam_size{};   // more than 1: beam search
  std::vector<std::string> stop{};           // texts that end a continuation; not part of it
  std::uint64_t seed = 0;
  std::int64_t top_log_probabilities = 0;  // likeliest tokens of each step; not of beam search
  // Identifies a prompt and a sample. With the seed, it determines the random numbers of the
  // sample, in any batch. With beam search sample n is the n-th best sequence, from 0; equal
  // prompts in a row are searched once.
  struct Draw {
    std::uint64_t prompt = 0;
    std::uint64_t sample = 0;
  };
  std::vector<Draw> draws{};  // one for each prompt; none: prompt i has {i, 0}
  // Options of one prompt. An unset one takes the value of all.
  struct Row {
    std::optional<std::int64_t> max_tokens{};
    std::optional<double> temperature{};
    std::optional<std::int64_t> top_k{};
    std::optional<double> top_p{};
  };
  std::vector<Row> rows{};  // one for each prompt, or none
  // For messages: the file that has prompt i in line i + 1, counted by Draw::prompt.
  std::string prompts_file{};
  DraftModel draft{};
};

// Why a text ends where it does.
enum class FinishReason { end_token, stop_text, max_tokens, model_length };
TRIVET_ENUM(FinishReason, end_token, stop_text, max_tokens, model_length)

// A token that could have been chosen.
struct TokenProbability {
  std::int32_t id = 0;
  double log_probability = 0;  // nats
};

// The continuation of a prompt, or the answer to it.
struct GeneratedText {
  std::string text;                 // without the prompt and special tokens
  std::vector<std::int32_t> ids{};  // that the model gave, the end token included
  std::int64_t prompt_tokens = 0;   // with a start token, if the task puts one there
  std::int64_t tokens = 0;          // number of ids
  double log_probability = 0;       // of ids, nats, before temperature, top-k and top-p
  std::vector<double> token_log_probabilities{};  // of each id, of which it is the sum
  double score = 0;  // by which a search ranks texts; else log_probability
  FinishReason end = FinishReason::max_tokens;
  // For each of ids where options.top_log_probabilities asks for them: the likeliest tokens at that
  // step, the likeliest first, and the entropy of all, in nats; by the same probabilities as
  // token_log_probabilities.
  std::vector<std::vector<TokenProbability>> top_log_probabilities{};
  std::vector<double> entropies{};
  // With a draft: the tokens that it guessed, and those of them that the model chose, too.
  std::int64_t guessed = 0, accepted = 0;
};

class TextGenerator {
 public:
  // A piece of the continuation of prompt `prompt`, in whole characters.
  using OnText = std::function<void(std::size_t prompt, std::string_view piece)>;

  // Continues every prompt; one gives the same text whatever the others are, if its Draw is the
  // same. Equal prompts get different samples by their Draws. `on_text`, where set, gets the pieces
  // as they are generated; with beam search each text as one. `model` was made by the task's
  // build_model and has its weights. Throws UsageError for options and prompts that cannot be met.
  // [run-thread]
  virtual std::vector<GeneratedText> generate(Model& model, std::span<const std::string> prompts,
                                              const GenerateOptions& options,
                                              const OnText& on_text) const = 0;

  // Whether a prompt and its result are one text; false where the result is an answer to the
  // prompt, such as a translation. [any-thread]
  virtual bool continues_prompts() const { return true; }

  // Of prompts and results; null where two are, or where the task has none. It lives as long as the
  // task. [any-thread]
  virtual const Tokenizer* text_tokenizer() const { return nullptr; }

 protected:
  ~TextGenerator() = default;
};

}  // namespace trivet
