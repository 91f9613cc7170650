// SPDX-License-Identifier: Apache-2.0
#include "lm/huggingface/import_command.h"

#include <cstdio>
#include <filesystem>

#include <fmt/core.h>

#include "lm/huggingface/hf_layout.h"
#include "lm/huggingface/hf_tokenizer.h"
#include "lm/huggingface/new_folder.h"
#include "lm/huggingface/weight_exchange.h"
#include "lm/tasks/stored_tokenizer.h"
#include "trivet/config/arguments.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet::lm {
namespace {

namespace fs = std::filesystem;

constexpr OptionSpec kImportOptions[] = {
    {.name = "output", .letter = 'o', .value = "DIR", .doc = "The new run's directory"},
    {.name = "no-tokenizer", .doc = "Do not import the tokenizer"},
    {.name = "help", .letter = 'h', .doc = "Print this help"},
};

std::string import_manual() {
  return "usage: trivet import [OPTIONS] MODEL -o DIR\n\n"
         "Makes a run from a GPT-2 or Llama in the layout of Hugging Face's "
         "transformers.\n\n"
         "MODEL is a folder with config.json, model.safetensors or model.safetensors.index.json\n"
         "with the files that it names, and tokenizer.json, vocab.json with merges.txt, or\n"
         "tokenizer.model. F16 and BF16 become F32. Writes config.toml, the weights as\n"
         "checkpoint of step 0, and the tokenizer's files to DIR:\n\n"
         "  trivet generate DIR \"Once upon\"     continues texts\n"
         "  trivet export DIR -o OTHER          writes the same files again\n"
         "  base = [\"DIR/config.toml\"]          in a config that trains it further, with\n"
         "  task.init_checkpoint = \"DIR\"        and inputs to train on and to evaluate on\n\n" +
         options_text(kImportOptions);
}

// Returns TOML text in which "${" is not a reference.
std::string config_value(const Value& value) {
  std::string text = to_toml(value);
  for (std::size_t at = 0; (at = text.find("${", at)) != std::string::npos; at += 3) {
    text.insert(at, 1, '$');
  }
  return text;
}

std::string config_text(const std::string& source, const Value& model,
                        const ConfigOf<Tokenizer>& tokenizer, bool add_bos,
                        const fs::path& folder) {
  std::string text =
      "# Imported from " + source +
      ".\n# A config that trains it further has this one as its base, an input to train on, one\n"
      "# to evaluate on or mode = \"train\", and\n"
      "# task.init_checkpoint = " +
      to_toml(Value(folder.string())) + "\n\n[task]\ntype = \"lm/LanguageModeling\"\n";
  if (tokenizer) {
    text += "tokenizer = " + config_value(tokenizer.to_value()) + "\n";
    text += fmt::format("add_bos = {}\n", add_bos);
  }
  text += "\n[task.model]\n";
  for (const Value::Member& member : model.members()) {
    text += member.key + " = " + config_value(member.value) + "\n";
  }
  return text;
}

// Keeps names in comments on one line.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  }
  return text;
}

void import_model(const std::string& source, const std::string& out, bool with_tokenizer,
                  CommandContext& context) {
  std::error_code ignored;
  if (!fs::exists(source, ignored)) throw UsageError("there is no model '" + source + "'");
  const fs::path position = source;
  const fs::path folder = fs::is_directory(position, ignored) ? position : position.parent_path();
  const HfConfig config(folder / "config.json");
  const HfLayout& layout = layout_named(config.text("model_type"));
  const DecoderShape shape = layout.shape(config);
  HfTokenizer found;
  if (with_tokenizer) found = find_tokenizer(folder, config, shape.vocab_size);
  const Tokenizer* tokenizer = found.tokenizer.get();
  const HfWeights source_weights(position, layout.prefix());
  const Weights weights = imported(source_weights, layout, shape);

  NewFolder made(out);
  ConfigOf<Tokenizer> stored;
  if (tokenizer) stored = store_tokenizer(*tokenizer, made.path());
  const bool add_bos = adds_start_token(found, layout.adds_bos());
  context.save_checkpoint(made.path(), weights.entries, 0);
  replace_file(made.path() / "config.toml",
               config_text(one_line(source), layout.model(shape), stored, add_bos, made.path()));
  made.keep();
  std::int64_t numbers = 0;
  for (const SafetensorsEntry& entry : weights.entries) numbers += entry.shape.size();
  fmt::print("{}  {}, {} blocks, {} numbers\n", made.path().string(), layout.name(),
             shape.num_layers, numbers);
  for (const std::string& line : unused_parts(found)) fmt::print("{}\n", line);
  if (!tokenizer) fmt::print("without a tokenizer: name one as task.tokenizer to continue texts\n");
}

}  // namespace

int ImportCommand::run(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kImportOptions);
  if (arguments.has("help")) {
    std::fputs(import_manual().c_str(), stdout);
    return 0;
  }
  const std::vector<std::string> models = arguments.plain();
  const std::string* out = arguments.last("output");
  if (models.size() != 1 || out == nullptr || out->empty()) {
    throw UsageError("'trivet import' takes a model, and the new run's directory with -o",
                     {.hint = "trivet import gpt2/ -o runs/gpt2"});
  }
  import_model(models[0], *out, !arguments.has("no-tokenizer"), context_);
  return 0;
}

}  // namespace trivet::lm
