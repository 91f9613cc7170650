// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_convert.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <regex>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_tools.h"
#include "trivet/backend/half.h"
#include "trivet/config/patterns.h"
#include "trivet/data/float_values.h"
#include "trivet/data/safetensors.h"
#include "trivet/error.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

class NamePattern {
 public:
  NamePattern(std::string text, std::string option)
      : text_(std::move(text)), option_(std::move(option)) {
    try {
      const Patterns checked({text_});
    } catch (const Error& failure) {
      throw UsageError(option_ + ": " + failure.message());
    }
    regex_ = std::regex(text_, std::regex::ECMAScript | std::regex::optimize);
  }

  bool matches(const std::string& name, std::smatch& match) {
    if (!std::regex_match(name, match, regex_)) return false;
    used_ = true;
    return true;
  }
  void require_use(const fs::path& source) const {
    if (used_) return;
    throw UsageError(
        fmt::format("{} '{}' matches no tensor of {}", option_, text_, source.string()),
        {.hint = "a pattern must match a whole name; 'trivet ckpt info' lists them"});
  }

 private:
  std::string text_, option_;
  std::regex regex_;
  bool used_ = false;
};

class Names {
 public:
  explicit Names(const ConvertOptions& options) : options_(options) {
    for (const auto& rename : options.rename) renames_.emplace_back(rename.pattern, "--rename");
    for (const std::string& pattern : options.drop) drops_.emplace_back(pattern, "--drop");
  }

  bool drops(const std::string& name) {
    bool found = false;
    std::smatch match;
    for (NamePattern& pattern : drops_) found = pattern.matches(name, match) || found;
    return found;
  }
  std::string new_name(const std::string& name) {
    std::optional<std::string> found;
    for (std::size_t i = 0; i < renames_.size(); ++i) {
      std::smatch match;
      if (renames_[i].matches(name, match) && !found) found = match.format(options_.rename[i].name);
    }
    return found.value_or(name);
  }
  void require_use(const fs::path& source) const {
    for (const auto* list : {&renames_, &drops_}) {
      for (const NamePattern& pattern : *list) pattern.require_use(source);
    }
  }

 private:
  const ConvertOptions& options_;
  std::vector<NamePattern> renames_, drops_;
};

std::vector<std::byte> converted(const SafetensorsEntry& entry, DType dtype,
                                 ConvertReport& report) {
  const std::vector<float> values = floats_of(entry);
  std::vector<std::byte> out(values.size() * size_of(dtype));
  if (dtype == DType::f32) {
    std::memcpy(out.data(), values.data(), out.size());
    return out;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_bf16 = dtype == DType::bf16;
    const std::uint16_t bits = is_bf16 ? bf16_from_float(values[i]) : f16_from_float(values[i]);
    std::memcpy(out.data() + 2 * i, &bits, 2);
    const float back = is_bf16 ? float_from_bf16(bits) : float_from_f16(bits);
    if (std::isnan(values[i]) || back == values[i]) continue;
    ++(std::isinf(back) ? report.overflow : report.rounded);
  }
  return out;
}

// Moving averages in place of the weights that have one.
std::vector<SafetensorsEntry> with_averages(const SafetensorsFile& model,
                                            const SafetensorsFile* averages) {
  std::vector<SafetensorsEntry> entries(model.entries().begin(), model.entries().end());
  for (SafetensorsEntry& entry : entries) {
    const SafetensorsEntry* average = averages == nullptr ? nullptr : averages->find(entry.name);
    if (average != nullptr && average->shape == entry.shape) entry = *average;
  }
  return entries;
}

std::unique_ptr<SafetensorsFile> averages_of(const fs::path& source) {
  const fs::path file = source / "ema.safetensors";
  std::error_code ignored;
  if (!fs::exists(file, ignored)) {
    throw RunError(source.string() + " has no moving averages",
                   {.hint = "leave --averages out to convert the weights"});
  }
  return std::make_unique<SafetensorsFile>(file);
}

}  // namespace

ConvertReport convert_checkpoint(const fs::path& given, const fs::path& source,
                                 const ConvertOptions& options) {
  std::error_code ignored;
  const fs::path out = given.has_filename() ? given : given.parent_path();  // "a/" is "a"
  if (fs::exists(out, ignored)) throw RunError(out.string() + " already exists");
  Names names(options);
  const CheckpointDirectoryReader verified(source);
  const SafetensorsFile model(source / "model.safetensors");
  const auto averages = options.averages ? averages_of(source) : nullptr;
  ConvertReport report{.step = verified.step()};
  std::vector<std::vector<std::byte>> values;
  std::vector<SafetensorsEntry> entries;
  std::set<std::string> taken;
  values.reserve(model.entries().size());
  for (SafetensorsEntry entry : with_averages(model, averages.get())) {
    const std::string name = names.new_name(entry.name);
    if (names.drops(entry.name)) {
      ++report.dropped;
      continue;
    }
    if (!taken.insert(name).second) {
      throw RunError(
          fmt::format("two tensors would have the name '{}', one of them '{}'", name, entry.name),
          {.hint = "change --rename, or --drop one of them"});
    }
    report.renamed += name != entry.name ? 1 : 0;
    entry.name = name;
    if (options.dtype && holds_floats(entry) && entry.dtype != *options.dtype) {
      values.push_back(converted(entry, *options.dtype, report));
      entry.dtype = *options.dtype;
      entry.data = values.back();
    }
    entries.push_back(std::move(entry));
  }
  names.require_use(source);
  if (entries.empty()) throw RunError("--drop leaves no tensor of " + source.string());
  report.tensors = std::ssize(entries);
  write_model_checkpoint(out, entries, report.step, "convert",
                         Value::table({{"source", source.string()},
                                       {"averages", options.averages},
                                       {"renamed", report.renamed},
                                       {"dropped", report.dropped}}));
  return report;
}

}  // namespace trivet
