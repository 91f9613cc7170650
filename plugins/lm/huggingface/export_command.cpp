// SPDX-License-Identifier: Apache-2.0
#include "lm/huggingface/export_command.h"

#include <cstdio>
#include <filesystem>

#include <fmt/core.h>

#include "lm/huggingface/hf_layout.h"
#include "lm/huggingface/hf_match.h"
#include "lm/huggingface/merged_weights.h"
#include "lm/huggingface/new_folder.h"
#include "lm/huggingface/weight_exchange.h"
#include "lm/tasks/stored_tokenizer.h"
#include "trivet/config/arguments.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/tokenizer.h"

namespace trivet::lm {
namespace {

namespace fs = std::filesystem;

constexpr OptionSpec kExportOptions[] = {
    {.name = "output", .letter = 'o', .value = "DIR", .doc = "The new folder"},
    {.name = "format",
     .value = "LAYOUT",
     .doc = "gpt2 or llama; else llama for a model whose final norm is nn/RmsNorm, or gpt2"},
    {.name = "set",
     .value = "K=V",
     .doc = "Change the run's config, e.g. task.model.max_seq_len=512",
     .repeatable = true},
    {.name = "help", .letter = 'h', .doc = "Print this help"},
};

std::string export_manual() {
  return "usage: trivet export [OPTIONS] RUN -o DIR\n\n"
         "Writes the model of a run for Hugging Face's transformers: model.safetensors,\n"
         "config.json and, if transformers has such a tokenizer, tokenizer.json with\n"
         "tokenizer_config.json, which records whether texts start with the start token.\n"
         "Refuses a model that is not a GPT-2 or Llama, and names the field that differs.\n"
         "Merges LoRA's low-rank matrices into the weights.\n\n"
         "RUN is the directory of a run (its newest checkpoint), a checkpoint, or a work unit as\n"
         "XID/WID.\n\n" +
         options_text(kExportOptions);
}

struct RunParts {
  LanguageModelConfig model;
  std::unique_ptr<Tokenizer> tokenizer;  // may be null
  bool add_bos = true;                   // if there is a start token
};

ConfigOf<Tokenizer> tokenizer_of(const Value& config) {
  const Value* value = config.find_path("task.tokenizer");
  if (value == nullptr || value->is_null()) return {};
  return ConfigOf<Tokenizer>(ConfigValue::from_value(*value, Tokenizer::kKind, "task.tokenizer"));
}

RunParts parts_of(const TrainedRun& run) {
  const Value& config = run.config();
  const Value* model = config.find_path("task.model");
  const Value* type = model != nullptr ? model->find("type") : nullptr;
  if (type == nullptr || !(*type == "lm/LanguageModel")) {
    throw UsageError("task.model is not an lm/LanguageModel; no other model can be exported");
  }
  Value fields = *model;
  fields.erase("type");
  RunParts parts{.model = decode<LanguageModelConfig>(fields, "task.model"), .tokenizer = {}};
  if (const Value* add_bos = config.find_path("task.add_bos"); add_bos && add_bos->is_boolean()) {
    parts.add_bos = add_bos->as_boolean();
  }
  const ConfigOf<Tokenizer> tokenizer = tokenizer_of(config);
  if (tokenizer) parts.tokenizer = tokenizer_of_run(tokenizer, run.directory());
  if (parts.model.vocab_size == 0 && parts.tokenizer) {
    parts.model.vocab_size = parts.tokenizer->vocabulary_size();
  }
  return parts;
}

// The variables of the model that generates: without the reference of preference optimization.
NamedTensors variables_of(const TrainedRun& run) {
  NamedTensors variables = run.weights();
  const Value* type = run.config().find_path("task.type");
  if (type == nullptr || !(*type == "lm/PreferenceOptimization")) return variables;
  std::erase_if(variables, [](const auto& each) { return each.first.starts_with("reference/"); });
  return variables;
}

// Returns what it wrote, for the report.
std::string write_tokenizer(const RunParts& parts, const fs::path& folder) {
  if (parts.tokenizer == nullptr) return "no tokenizer: the run has none";
  parts.tokenizer->store(folder);
  for (const char* name : {"tokenizer.json", "tokenizer.model"}) {
    if (!fs::exists(folder / name)) continue;
    if (parts.tokenizer->bos_id()) {
      replace_file(folder / "tokenizer_config.json",
                   to_json(Value::table({{"add_bos_token", parts.add_bos}})) + "\n");
    }
    return name;
  }
  return "no tokenizer: the run's tokenizer has no tokenizer.json format";
}

void export_model(const std::string& run, const std::string& out, const std::string* format,
                  std::span<const std::string> overrides, CommandContext& context) {
  if (format != nullptr) layout_named(*format);
  const std::unique_ptr<TrainedRun> trained = context.trained(run, overrides);
  const RunParts parts = parts_of(*trained);
  const HfLayout& layout = layout_named(format != nullptr ? *format : likely_layout(parts.model));
  const DecoderShape shape = matching_shape(parts.model, layout, trained->device());
  const Weights weights =
      published(merged(variables_of(*trained), parts.model, trained->device()), layout, shape);
  SpecialTokenIds ids;
  if (parts.tokenizer) ids = {parts.tokenizer->bos_id(), parts.tokenizer->eos_id()};

  NewFolder folder(out);
  write_safetensors(folder.path() / "model.safetensors", weights.entries, {{"format", "pt"}});
  replace_file(folder.path() / "config.json",
               to_json(layout.config(shape, ids), JsonStyle::indented));
  const std::string tokenizer = write_tokenizer(parts, folder.path());
  folder.keep();
  fmt::print("{}  {}, step {}{}: model.safetensors, config.json, {}\n", folder.path().string(),
             layout.name(), trained->step(), trained->averaged() ? " (moving averages)" : "",
             tokenizer);
}

}  // namespace

int ExportCommand::run(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kExportOptions);
  if (arguments.has("help")) {
    std::fputs(export_manual().c_str(), stdout);
    return 0;
  }
  const std::vector<std::string> runs = arguments.plain();
  const std::string* out = arguments.last("output");
  if (runs.size() != 1 || out == nullptr || out->empty()) {
    throw UsageError("'trivet export' takes a run, and the new folder with -o",
                     {.hint = "trivet export runs/1-gpt2 -o gpt2/"});
  }
  export_model(runs[0], *out, arguments.last("format"), arguments.all("set"), context_);
  return 0;
}

}  // namespace trivet::lm
