// SPDX-License-Identifier: Apache-2.0
// trivet ckpt ls|info|diff|verify|average
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/format.h"
#include "base/terminal.h"
#include "base/terminal_text.h"
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
  if (plain.empty()) throw UsageError("'trivet ckpt' takes ls, info, diff, verify or average");
  std::vector<std::string> names;
  for (const ShownPart& part : kParts) {
    names.emplace_back(part.name);
    if (plain[0] != part.name) continue;
    plain.erase(plain.begin());
    return part.run(plain, arguments.has("json"));
  }
  throw UsageError("'trivet ckpt' does not know '" + plain[0] + "'",
                   {.hint = suggestion(plain[0], names)});
}

}  // namespace

extern const CommandInfo kCkptCommand{
    .name = "ckpt",
    .usage = "ckpt ls|info|diff|verify|average PATH...",
    .summary = "Lists, compares, verifies and averages checkpoints",
    .details =
        "  trivet ckpt ls RUN                 all checkpoints of a run, the best ones last\n"
        "  trivet ckpt info PATH              every tensor with its type and shape\n"
        "  trivet ckpt diff PATH PATH         the differences; exit code 1 if there are any\n"
        "  trivet ckpt verify PATH...         sizes and checksums; exit code 1 if damaged\n"
        "  trivet ckpt average NEW PATH...    averages weights, for task.init_checkpoint\n"
        "\n"
        "PATH is a checkpoint, a run or a directory of checkpoints. A run means its newest\n"
        "checkpoint; for ls, verify and average it means all of them. The run may still be\n"
        "running.",
    .options = kCkptOptions,
    .operand = Operand::path,
    .run = run_ckpt,
};

}  // namespace trivet
