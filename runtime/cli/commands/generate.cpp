// SPDX-License-Identifier: Apache-2.0
// trivet generate: continues texts with the model of a run.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/format.h"
#include "base/terminal.h"
#include "base/terminal_text.h"
#include "cli/command_info.h"
#include "cli/host_catalog.h"
#include "cli/option_number.h"
#include "cli/trained_run.h"
#include "config/config_arguments.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/extensions/text_generator.h"
#include "trivet/os/input_file.h"

namespace trivet {
namespace {

constexpr std::uint64_t kMostPromptBytes = std::uint64_t{1} << 30;
constexpr std::int64_t kMostGuesses = 1024;  // of a draft at a time

constexpr OptionSpec kGenerateOptions[] = {
    {.name = "tokens",
     .letter = 'n',
     .value = "N",
     .doc = "Maximum number of tokens after a prompt"},
    {.name = "temperature",
     .letter = 't',
     .value = "T",
     .doc = "Divides the logits; below 1 favors likely tokens, 0 always takes the most likely"},
    {.name = "top-k", .value = "K", .doc = "Sample from the K most likely tokens; 0: from all"},
    {.name = "top-p",
     .value = "P",
     .doc = "Sample from the most likely tokens with total probability P"},
    {.name = "beams", .value = "N", .doc = "Beam search over N sequences instead of sampling"},
    {.name = "seed", .value = "N", .doc = "Seed of the sampler (0)"},
    {.name = "samples",
     .value = "N",
     .doc = "Number of texts for each prompt (1); with --beams its best"},
    {.name = "stop",
     .value = "TEXT",
     .doc = "End a continuation before this text",
     .repeatable = true},
    {.name = "draft",
     .value = "RUN",
     .doc = "A run of a smaller model that guesses tokens: the same text sooner"},
    {.name = "draft-tokens",
     .value = "N",
     .doc = "With --draft, most guesses at a time; default 4"},
    {.name = "file",
     .letter = 'f',
     .value = "FILE",
     .doc = "Read a prompt from each line of a file; -: standard input"},
    {.name = "json", .doc = "Print a line of JSON for each prompt"},
    {.name = "logprobs", .doc = "With --json, also the ids and the log probability of each token"},
    {.name = "top-logprobs",
     .value = "N",
     .doc = "With --logprobs, also the N likeliest tokens at each step, and the entropy of all"},
    {.name = "set",
     .value = "K=V",
     .doc = "Change the run's config, e.g. runtime.threads=1",
     .repeatable = true},
    kPluginDirOption,
};

template <class T>
std::optional<T> optional_number(const Arguments& arguments, std::string_view option) {
  const std::string* text = arguments.last(option);
  if (text == nullptr) return {};
  T number{};
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || stop != end || text->empty()) {
    throw UsageError(fmt::format("--{} takes a number, not '{}'", option, *text));
  }
  return number;
}

GenerateOptions options_of(const Arguments& arguments) {
  return {.max_tokens = optional_number<std::int64_t>(arguments, "tokens"),
          .temperature = optional_number<double>(arguments, "temperature"),
          .top_k = optional_number<std::int64_t>(arguments, "top-k"),
          .top_p = optional_number<double>(arguments, "top-p"),
          .beam_size = optional_number<std::int64_t>(arguments, "beams"),
          .stop = arguments.all("stop"),
          .seed = optional_number<std::uint64_t>(arguments, "seed").value_or(0),
          .top_log_probabilities =
              optional_number<std::int64_t>(arguments, "top-logprobs").value_or(0)};
}

// The option as it was given.
std::string given(const Arguments& arguments, std::string_view option) {
  return fmt::format("--{} {}", option, *arguments.last(option));
}

// Beam search does not draw, nor does temperature 0: options of draws would be ignored.
void refuse_unused(const Arguments& arguments, const GenerateOptions& options,
                   std::uint64_t samples) {
  const auto refuse = [&](std::initializer_list<std::string_view> unused, std::string_view other,
                          std::string_view why) {
    for (const std::string_view option : unused) {
      if (!arguments.has(option) || (option == "samples" && samples == 1)) continue;
      throw UsageError(fmt::format("{} does not use {}: {}", given(arguments, other),
                                   given(arguments, option), why),
                       {.hint = "remove one of the two"});
    }
  };
  if (options.beam_size.value_or(1) > 1) {
    refuse({"temperature", "top-k", "top-p", "seed", "top-logprobs"}, "beams",
           "beam search does not sample");
    if (samples > static_cast<std::uint64_t>(*options.beam_size)) {
      refuse({"samples"}, "beams", "the search has fewer sequences");
    }
  }
  if (options.temperature && *options.temperature == 0) {
    refuse({"top-k", "top-p", "samples", "seed"}, "temperature",
           "temperature 0 always takes the most likely token");
  }
}

std::uint64_t samples_of(const Arguments& arguments) {
  const auto samples = optional_number<std::uint64_t>(arguments, "samples").value_or(1);
  if (samples == 0) throw UsageError("--samples takes a number of at least 1");
  return samples;
}

std::vector<std::string> lines_of(std::istream& stream) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> prompts_in(const std::string& file) {
  if (file == "-") return lines_of(std::cin);
  try {
    std::istringstream stream(input_text(file, kMostPromptBytes));
    return lines_of(stream);
  } catch (const InputError& failure) {
    throw UsageError(failure.message(), failure.details());
  }
}

std::string all_of_stdin() {
  std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

class GenerateCommand {
 public:
  explicit GenerateCommand(const Arguments& arguments)
      : options_(options_of(arguments)),
        samples_(samples_of(arguments)),
        json_(arguments.has("json")),
        logprobs_(arguments.has("logprobs")) {
    refuse_unused(arguments, options_, samples_);
    if (logprobs_ && !json_) {
      throw UsageError("--logprobs adds to lines of JSON", {.hint = "give --json, too"});
    }
    if (arguments.has("draft-tokens") && !arguments.has("draft")) {
      throw UsageError("--draft-tokens goes with --draft");
    }
    if (arguments.has("draft") && options_.beam_size.value_or(1) > 1) {
      throw UsageError("--draft does not go with --beams: a draft guesses for one sequence",
                       {.hint = "remove one of the two"});
    }
    if (arguments.has("top-logprobs") && (!logprobs_ || options_.top_log_probabilities < 1)) {
      throw UsageError("--top-logprobs takes a number of at least 1 and adds to --logprobs",
                       {.hint = "give --json --logprobs, too"});
    }
  }

  int run(const Arguments& arguments) {
    const std::vector<std::string> words = arguments.plain();
    if (words.empty()) {
      throw UsageError("'trivet generate' takes a run and a prompt",
                       {.hint = "trivet generate runs/1-licenses \"You may\""});
    }
    if (words.size() > 2) {
      throw UsageError("'trivet generate' takes one prompt; unexpected '" + words[2] + "'",
                       {.hint = "quote a prompt of several words; --file takes many"});
    }
    const std::string* file = arguments.last("file");
    if (file != nullptr && words.size() == 2) {
      throw UsageError("give either a prompt or --file, not both");
    }
    const RunCheckpoint location = find_run_checkpoint(run_named(words[0]));
    HostCatalog catalog(arguments.all("plugin-dir"), UnknownDefaults::load_plugin);
    const FlushDenormals flush;
    TrainedModel trained(trained_config(location, arguments.all("set"), catalog), location);
    const auto* generator =
        static_cast<const TextGenerator*>(trained.task().extension(kTaskTextGenerator));
    if (generator == nullptr) {
      throw UsageError("the run's task does not continue texts",
                       {.hint = "the task is set in " + location.config.string()});
    }
    generator_ = generator;
    model_ = &trained.model();
    averaged_ = trained.averaged();
    const std::unique_ptr<TrainedModel> draft = open_draft(arguments, catalog, trained.device());
    if (file != nullptr) {
      options_.prompts_file = *file == "-" ? "standard input" : *file;
      return continue_all(prompts_in(*file));
    }
    if (words.size() == 2) return continue_one(words[1]);
    if (::isatty(STDIN_FILENO) == 0) return continue_one(all_of_stdin());
    return converse(trained.step());
  }

 private:
  // Null without --draft.
  std::unique_ptr<TrainedModel> open_draft(const Arguments& arguments, HostCatalog& catalog,
                                           Device& device) {
    const std::string* const run = arguments.last("draft");
    if (run == nullptr) return nullptr;
    const RunCheckpoint location = find_run_checkpoint(run_named(*run));
    auto draft =
        std::make_unique<TrainedModel>(trained_config(location, {}, catalog), location, device);
    options_.draft.model = &draft->model();
    options_.draft.generator =
        static_cast<const TextGenerator*>(draft->task().extension(kTaskTextGenerator));
    if (options_.draft.generator == nullptr) {
      throw UsageError("the draft's task does not continue texts",
                       {.hint = "the task is set in " + location.config.string()});
    }
    options_.draft.tokens =
        option_number(arguments, "draft-tokens", 1, kMostGuesses).value_or(options_.draft.tokens);
    return draft;
  }

  // Prints the prompt, if it is part of the text, then the pieces of the continuation as the model
  // generates them. Prints nothing if the prompt is rejected.
  int continue_one(const std::string& prompt) {
    if (json_ || samples_ > 1) return continue_all({prompt});
    options_.draws = {{.prompt = prompts_before_}};
    std::string due = before_text(prompt);
    const auto start = std::chrono::steady_clock::now();
    const std::vector<GeneratedText> texts = generator_->generate(
        *model_, {&prompt, 1}, options_, [&](std::size_t, std::string_view piece) {
          print_out(std::exchange(due, {}) + shown(piece));
          flush_out();
        });
    print_out(due + "\n");
    flush_out();
    report(texts[0], start);
    return 0;
  }

  std::string before_text(const std::string& prompt) const {
    return generator_->continues_prompts() ? prompt : std::string();
  }

  // On a terminal, text must not move the cursor or change colors.
  static std::string shown(std::string_view piece) {
    return is_screen(stdout) ? printable(piece) : std::string(piece);
  }

  std::string guesses_of(const GeneratedText& text) const {
    if (options_.draft.model == nullptr) return {};
    return fmt::format("; {} of {} guesses accepted", text.accepted, text.guessed);
  }

  void report(const GeneratedText& text, std::chrono::steady_clock::time_point start) const {
    if (::isatty(STDERR_FILENO) == 0) return;
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::fputs(fmt::format("{} tokens, {:.0f} a second{}{}\n", text.tokens,
                           static_cast<double>(text.tokens) / std::max(seconds, 1e-9),
                           guesses_of(text), averaged_ ? "; by moving averages of the weights" : "")
                   .c_str(),
               stderr);
  }

  int continue_all(const std::vector<std::string>& prompts) {
    std::vector<std::string> each;
    options_.draws.clear();
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      for (std::uint64_t sample = 0; sample < samples_; ++sample) {
        each.push_back(prompts[i]);
        options_.draws.push_back({.prompt = prompts_before_ + i, .sample = sample});
      }
    }
    const std::vector<GeneratedText> texts = generator_->generate(*model_, each, options_, {});
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (json_) {
        print_out(to_json(record_of(each[i], options_.draws[i].sample, texts[i])) + "\n");
      } else {
        print_out((i > 0 ? "---\n" : "") + shown(before_text(each[i]) + texts[i].text) + "\n");
      }
    }
    return 0;
  }

  Value record_of(const std::string& prompt, std::uint64_t sample,
                  const GeneratedText& text) const {
    Value record = Value::table({{"prompt", prompt},
                                 {"sample", static_cast<std::int64_t>(sample)},
                                 {"text", text.text},
                                 {"prompt_tokens", text.prompt_tokens},
                                 {"tokens", text.tokens},
                                 {"log_probability", text.log_probability},
                                 {"end", enum_name(text.end)}});
    if (options_.draft.model != nullptr) {
      record.set("guessed", text.guessed);
      record.set("accepted", text.accepted);
    }
    if (!logprobs_) return record;
    record.set("ids", Value::array_of(text.ids));
    record.set("log_probabilities", Value::array_of(text.token_log_probabilities));
    if (options_.top_log_probabilities == 0) return record;
    Value steps = Value::array();
    for (const std::vector<TokenProbability>& step : text.top_log_probabilities) {
      Value tokens = Value::array();
      for (const TokenProbability& token : step) {
        tokens.push_back(
            Value::table({{"id", token.id}, {"log_probability", token.log_probability}}));
      }
      steps.push_back(std::move(tokens));
    }
    record.set("top_log_probabilities", std::move(steps));
    record.set("entropies", Value::array_of(text.entropies));
    return record;
  }

  int converse(std::int64_t step) {
    std::fputs(fmt::format("The model at step {}{}. A prompt, then Enter; Ctrl-D ends.\n", step,
                           averaged_ ? " (moving averages)" : "")
                   .c_str(),
               stderr);
    std::string prompt;
    while (std::fputs("> ", stderr), std::getline(std::cin, prompt)) {
      if (prompt.empty()) continue;
      continue_one(prompt);
      ++prompts_before_;
    }
    std::fputs("\n", stderr);
    return 0;
  }

  GenerateOptions options_;
  std::uint64_t samples_;
  std::uint64_t prompts_before_ = 0;
  bool json_;
  bool logprobs_;
  bool averaged_ = false;
  const TextGenerator* generator_ = nullptr;
  Model* model_ = nullptr;
};

int run_generate(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kGenerateOptions);
  return GenerateCommand(arguments).run(arguments);
}

}  // namespace

extern const CommandInfo kGenerateCommand{
    .name = "generate",
    .usage = "generate RUN [PROMPT]",
    .summary = "Continues texts with the model of a run",
    .details =
        "  trivet generate runs/1-licenses \"You may\"    prints the prompt and its continuation\n"
        "                                              as the model generates it\n"
        "  echo \"You may\" | trivet generate 3/2         reads the prompt from standard input\n"
        "  trivet generate RUN -f prompts.txt --json   continues every line of a file\n"
        "\n"
        "RUN is the directory of a run (its newest checkpoint), a checkpoint, or a work unit as\n"
        "XID/WID. On a terminal without a prompt, the program reads prompts until Ctrl-D.\n"
        "\n"
        "With --draft, a smaller model with the same tokenizer guesses the next tokens and the\n"
        "model checks all of them at once (speculative decoding), one text at a time. The text is\n"
        "the one without --draft. --set changes the config of RUN alone.\n"
        "\n"
        "Options override the config's task.decode. The same seed gives the same text for the\n"
        "same line of a file. Samples of one prompt differ, and so do the texts of equal lines.",
    .options = kGenerateOptions,
    .operand = Operand::path,
    .run = run_generate,
};

}  // namespace trivet
