// SPDX-License-Identifier: Apache-2.0
// trivet ckpt ls|info|diff|verify|average|convert
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/format.h"
#include "base/terminal.h"
#include "base/terminal_text.h"
#include "checkpoint/checkpoint_convert.h"
#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_manager.h"
#include "checkpoint/checkpoint_tools.h"
#include "cli/command_info.h"
#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/config/schema.h"
#include "trivet/data/safetensors.h"
#include "trivet/error.h"
#include "trivet/train/checkpoint.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr OptionSpec kCkptOptions[] = {
    {.name = "json", .doc = "Print JSON"},
    {.name = "rename",
     .value = "PATTERN=NAME",
     .doc = "convert: Tensors with these names get another; $1 is the pattern's first group",
     .repeatable = true},
    {.name = "drop",
     .value = "PATTERN",
     .doc = "convert: Leave out the tensors with these names",
     .repeatable = true},
    {.name = "dtype", .value = "TYPE", .doc = "convert: Store floats as f32, bf16 or f16"},
    {.name = "quantize",
     .value = "BITS",
     .doc = "convert: Store matrices as integers of 8 or 4 bits, with a scale for each column"},
    {.name = "quantize-only",
     .value = "PATTERN",
     .doc = "convert: Quantize the tensors with these names, not all matrices",
     .repeatable = true},
    {.name = "quantize-rows",
     .value = "PATTERN",
     .doc = "convert: Give these a scale for each row, for example tables of embeddings",
     .repeatable = true},
    {.name = "averages", .doc = "convert: Take the moving averages of the weights"},
};

void print(const Value& value) {
  print_out(to_json(value, JsonStyle::indented));
}

// A running run may remove the checkpoint at any time: the files that remain count.
std::uint64_t bytes_in(const fs::path& checkpoint) {
  std::uint64_t bytes = 0;
  std::error_code gone;
  fs::directory_iterator entry(checkpoint, gone), end;
  for (; !gone && entry != end; entry.increment(gone)) {
    const std::uint64_t size = entry->file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

// Empty if the checkpoint is complete.
std::string damage_of(const fs::path& checkpoint, std::int64_t& step) {
  try {
    const CheckpointDirectoryReader verified(checkpoint);
    step = verified.step();
    const auto named = parse_checkpoint_name(checkpoint.filename().string());
    if (named && *named != step) return fmt::format("it contains step {}", step);
    for (const std::string& name : tensor_files(checkpoint)) {
      const SafetensorsFile file(checkpoint / (name + ".safetensors"));
    }
    return {};
  } catch (const Error& failure) {
    return failure.message();
  }
}

int list(const Words& words, bool json) {
  if (words.size() != 1) throw UsageError("'trivet ckpt ls' takes one directory");
  Value rows = Value::array();
  std::string text;
  for (const fs::path& path : checkpoints_at(words[0])) {
    const std::uint64_t bytes = bytes_in(path);
    const bool best = path.parent_path().filename() == "best";
    rows.push_back(Value::table({{"path", path.string()}, {"bytes", bytes}, {"best", best}}));
    text += fmt::format("{:>9}  {}\n", format_bytes(bytes), printable(path.string()));
  }
  json ? print(rows) : print_out(text);
  return 0;
}

Value tensor_row(const std::string& file, const SafetensorsEntry& entry) {
  Value shape = Value::array_of(entry.shape);
  return Value::table({{"file", file},
                       {"name", entry.name},
                       {"dtype", name_of(entry.dtype)},
                       {"shape", std::move(shape)},
                       {"bytes", static_cast<std::uint64_t>(entry.data.size())}});
}

int info(const Words& words, bool json) {
  if (words.size() != 1) throw UsageError("'trivet ckpt info' takes one checkpoint");
  const fs::path path = checkpoint_at(words[0]);
  const CheckpointDirectoryReader checkpoint(path);
  Value tensors = Value::array();
  std::string text = fmt::format("{}  step {}  {}\n", printable(path.string()), checkpoint.step(),
                                 format_bytes(bytes_in(path)));
  for (const std::string& name : tensor_files(path)) {
    const SafetensorsFile file(path / (name + ".safetensors"));
    std::int64_t numbers = 0;
    std::string lines;
    for (const SafetensorsEntry& entry : file.entries()) {
      tensors.push_back(tensor_row(name, entry));
      numbers += entry.shape.size();
      lines += fmt::format("  {}  {} {}\n", printable(entry.name), name_of(entry.dtype),
                           entry.shape.to_string());
    }
    text += fmt::format("{}: {} tensors, {} numbers\n{}", printable(name), file.entries().size(),
                        format_count(static_cast<std::uint64_t>(numbers)), lines);
  }
  if (json) {
    print(Value::table(
        {{"path", path.string()}, {"step", checkpoint.step()}, {"tensors", std::move(tensors)}}));
  } else {
    print_out(text);
  }
  return 0;
}

std::string line_of(const TensorDifference& difference) {
  using What = TensorDifference::What;
  const std::string name = printable(difference.file + ": " + difference.name);
  switch (difference.what) {
    case What::only_first:
      return fmt::format("- {}  {}\n", name, difference.first);
    case What::only_second:
      return fmt::format("+ {}  {}\n", name, difference.second);
    case What::form:
      return fmt::format("! {}  {} -> {}\n", name, difference.first, difference.second);
    case What::values:
      return fmt::format("~ {}  {}  largest difference {}, relative {}\n", name, difference.first,
                         format_number(difference.largest), format_number(difference.relative));
    case What::equal:
      return {};
  }
  return {};
}

int diff(const Words& words, bool json) {
  if (words.size() != 2) throw UsageError("'trivet ckpt diff' takes two checkpoints");
  Value rows = Value::array();
  std::string text;
  std::size_t different = 0;
  const auto all = compare_checkpoints(checkpoint_at(words[0]), checkpoint_at(words[1]));
  for (const TensorDifference& difference : all) {
    if (difference.what != TensorDifference::What::equal) ++different;
    text += line_of(difference);
    rows.push_back(Value::table({{"file", difference.file},
                                 {"name", difference.name},
                                 {"what", enum_name(difference.what)},
                                 {"first", difference.first},
                                 {"second", difference.second},
                                 {"largest", difference.largest},
                                 {"relative", difference.relative}}));
  }
  text += fmt::format("{} of {} tensors differ\n", different, all.size());
  json ? print(rows) : print_out(text);
  return different == 0 ? 0 : 1;
}

int verify(const Words& words, bool json) {
  if (words.empty()) throw UsageError("'trivet ckpt verify' takes checkpoints or runs");
  Value rows = Value::array();
  std::string text;
  bool whole = true;
  for (const std::string& word : words) {
    for (const fs::path& path : checkpoints_at(word)) {
      std::int64_t step = -1;
      const std::string damage = damage_of(path, step);
      std::error_code ignored;
      if (!damage.empty() && !fs::exists(path, ignored)) continue;  // a run removed it
      whole = whole && damage.empty();
      text +=
          fmt::format("{}  {}\n", damage.empty() ? "whole  " : "damaged",
                      printable(damage.empty() ? path.string() : path.string() + ": " + damage));
      rows.push_back(Value::table({{"path", path.string()},
                                   {"step", step},
                                   {"whole", damage.empty()},
                                   {"reason", damage}}));
    }
  }
  json ? print(rows) : print_out(text);
  return whole ? 0 : 1;
}

int average(const Words& words, bool json) {
  if (words.size() < 2) {
    throw UsageError("'trivet ckpt average' takes the new directory, then checkpoints",
                     {.hint = "trivet ckpt average runs/1-a/mean runs/1-a/checkpoints/step_*"});
  }
  std::vector<fs::path> sources;
  for (std::size_t i = 1; i < words.size(); ++i) {
    // For a run, all checkpoints except the best ones, which are copies of others.
    for (const fs::path& path : checkpoints_at(words[i])) {
      if (path == words[i] || path.parent_path().filename() != "best") sources.push_back(path);
    }
  }
  const std::int64_t step = average_checkpoints(words[0], sources);
  if (json) {
    print(Value::table({{"path", words[0]},
                        {"step", step},
                        {"sources", static_cast<std::uint64_t>(sources.size())}}));
  } else {
    print_out(fmt::format("{}  mean of {} checkpoints\n", printable(words[0]), sources.size()));
  }
  return 0;
}

DType float_type_of(const std::string& name) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    if (name == name_of(dtype)) return dtype;
  }
  throw UsageError("--dtype takes f32, bf16 or f16, not '" + name + "'");
}

int bits_of(const std::string& text) {
  if (text == "8" || text == "4") return text == "8" ? 8 : 4;
  throw UsageError("--quantize takes 8 or 4, not '" + text + "'");
}

// The last = separates, for a name has none.
ConvertOptions::Rename rename_of(const std::string& text) {
  const std::size_t split = text.rfind('=');
  if (split == std::string::npos || split == 0 || split + 1 == text.size()) {
    throw UsageError("--rename takes PATTERN=NAME, not '" + text + "'",
                     {.hint = "--rename 'encoder/(.*)=backbone/$1'"});
  }
  return {.pattern = text.substr(0, split), .name = text.substr(split + 1)};
}

int convert(const Words& words, const Arguments& arguments) {
  if (words.size() != 2) {
    throw UsageError("'trivet ckpt convert' takes the new directory and a checkpoint",
                     {.hint = "trivet ckpt convert small runs/1-a --dtype bf16"});
  }
  ConvertOptions options{.averages = arguments.has("averages")};
  for (const std::string& text : arguments.all("rename")) {
    options.rename.push_back(rename_of(text));
  }
  options.drop = arguments.all("drop");
  if (const std::string* dtype = arguments.last("dtype")) options.dtype = float_type_of(*dtype);
  if (const std::string* bits = arguments.last("quantize")) options.quantize = bits_of(*bits);
  options.quantize_only = arguments.all("quantize-only");
  options.quantize_rows = arguments.all("quantize-rows");
  if (options.quantize == 0 && !(options.quantize_only.empty() && options.quantize_rows.empty())) {
    throw UsageError("--quantize-only and --quantize-rows need --quantize",
                     {.hint = "trivet ckpt convert small runs/1-a --quantize 8"});
  }
  const ConvertReport report = convert_checkpoint(words[0], checkpoint_at(words[1]), options);
  if (arguments.has("json")) {
    print(Value::table({{"path", words[0]},
                        {"step", report.step},
                        {"tensors", report.tensors},
                        {"renamed", report.renamed},
                        {"dropped", report.dropped},
                        {"quantized", report.quantized},
                        {"rounded", report.rounded},
                        {"overflow", report.overflow}}));
    return 0;
  }
  std::string text =
      fmt::format("{}  {} tensors of step {}", printable(words[0]), report.tensors, report.step);
  for (const auto& [count, what] :
       {std::pair{report.renamed, "renamed"}, std::pair{report.dropped, "left out"},
        std::pair{report.quantized, "quantized"}, std::pair{report.rounded, "numbers rounded"},
        std::pair{report.overflow, "numbers too large, now infinite"}}) {
    if (count > 0) text += fmt::format(", {} {}", count, what);
  }
  print_out(text + "\n");
  return 0;
}

void refuse_convert_options(const Arguments& arguments, const std::string& part) {
  for (const char* name :
       {"rename", "drop", "dtype", "averages", "quantize", "quantize-only", "quantize-rows"}) {
    if (!arguments.has(name)) continue;
    throw UsageError(
        fmt::format("--{} is an option of 'trivet ckpt convert', not of '{}'", name, part));
  }
}

struct ShownPart {
  const char* name;
  int (*run)(const Words&, bool json);
};
constexpr ShownPart kParts[] = {
    {"ls", list}, {"info", info}, {"diff", diff}, {"verify", verify}, {"average", average},
};

int run_ckpt(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kCkptOptions);
  Words plain = arguments.plain();
  if (plain.empty()) {
    throw UsageError("'trivet ckpt' takes ls, info, diff, verify, average or convert");
  }
  std::vector<std::string> names{"convert"};
  if (plain[0] == names[0]) return convert({plain.begin() + 1, plain.end()}, arguments);
  for (const ShownPart& part : kParts) {
    names.emplace_back(part.name);
    if (plain[0] != part.name) continue;
    refuse_convert_options(arguments, plain[0]);
    plain.erase(plain.begin());
    return part.run(plain, arguments.has("json"));
  }
  throw UsageError("'trivet ckpt' does not know '" + plain[0] + "'",
                   {.hint = suggestion(plain[0], names)});
}

}  // namespace

extern const CommandInfo kCkptCommand{
    .name = "ckpt",
    .usage = "ckpt ls|info|diff|verify|average|convert PATH...",
    .summary = "Lists, compares, verifies, averages and converts checkpoints",
    .details =
        "  trivet ckpt ls RUN                 all checkpoints of a run, the best ones last\n"
        "  trivet ckpt info PATH              every tensor with its type and shape\n"
        "  trivet ckpt diff PATH PATH         the differences; exit code 1 if there are any\n"
        "  trivet ckpt verify PATH...         sizes and checksums; exit code 1 if damaged\n"
        "  trivet ckpt average NEW PATH...    averages weights, for task.init_checkpoint\n"
        "  trivet ckpt convert NEW PATH       writes weights with other names or another type,\n"
        "                                     or as integers of 8 or 4 bits\n"
        "\n"
        "PATH is a checkpoint, a run or a directory of checkpoints. A run means its newest\n"
        "checkpoint; for ls, verify and average it means all of them. The run may still be\n"
        "running.",
    .options = kCkptOptions,
    .operand = Operand::path,
    .run = run_ckpt,
};

}  // namespace trivet
