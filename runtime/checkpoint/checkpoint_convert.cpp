// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_convert.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_tools.h"
#include "trivet/backend/half.h"
#include "trivet/config/patterns.h"
#include "trivet/data/float_values.h"
#include "trivet/data/quantized_weights.h"
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
    for (const std::string& pattern : options.quantize_only) {
      only_.emplace_back(pattern, "--quantize-only");
    }
    for (const std::string& pattern : options.quantize_rows) {
      rows_.emplace_back(pattern, "--quantize-rows");
    }
  }

  bool drops(const std::string& name) { return any_matches(drops_, name); }
  // The scales of a tensor that is quantized; nothing for one that is not.
  std::optional<ScaleAxis> scales_of(const SafetensorsEntry& entry) {
    if (options_.quantize == 0) return std::nullopt;
    const bool is_matrix = holds_floats(entry) && entry.shape.rank() >= 2;
    if (!only_.empty()) {
      if (!any_matches(only_, entry.name)) return std::nullopt;
      if (!is_matrix) {
        throw RunError(
            fmt::format("--quantize-only matches '{}', which is {} {}, not floats with "
                        "at least two axes",
                        entry.name, name_of(entry.dtype), entry.shape.to_string()));
      }
    }
    if (!is_matrix) return std::nullopt;
    return any_matches(rows_, entry.name) ? ScaleAxis::rows : ScaleAxis::columns;
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
    for (const auto* list : {&renames_, &drops_, &only_, &rows_}) {
      for (const NamePattern& pattern : *list) pattern.require_use(source);
    }
  }

 private:
  static bool any_matches(std::vector<NamePattern>& patterns, const std::string& name) {
    bool found = false;
    std::smatch match;
    for (NamePattern& pattern : patterns) found = pattern.matches(name, match) || found;
    return found;
  }

  const ConvertOptions& options_;
  std::vector<NamePattern> renames_, drops_, only_, rows_;
};

std::vector<std::byte> of_type(const SafetensorsEntry& entry, DType dtype, ConvertReport& report) {
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

// The tensors of the new checkpoint, with the memory of those that changed.
class Converted {
 public:
  Converted(const ConvertOptions& options, std::int64_t step)
      : report{.step = step}, options_(options) {}

  std::span<const SafetensorsEntry> entries() const { return entries_; }

  // `scales` is nothing for a tensor that is not quantized.
  void add(SafetensorsEntry entry, const std::string& name, std::optional<ScaleAxis> scales) {
    ++report.tensors;
    report.renamed += name != entry.name ? 1 : 0;
    if (scales) return quantize(entry, name, *scales);
    if (options_.dtype && holds_floats(entry) && entry.dtype != *options_.dtype) {
      keep(of_type(entry, *options_.dtype, report), entry);
      entry.dtype = *options_.dtype;
    }
    put(std::move(entry), name);
  }

  ConvertReport report;

 private:
  void quantize(SafetensorsEntry entry, const std::string& name, ScaleAxis scales) {
    ++report.quantized;
    QuantizedWeights weights;
    try {
      weights = quantize_weights(floats_of(entry), entry.shape, options_.quantize, scales);
    } catch (const Error& failure) {
      throw RunError(entry.name + " cannot be quantized: " + failure.message());
    }
    entry.dtype = weights.dtype;
    entry.shape = weights.shape;
    keep(std::move(weights.integers), entry);
    put(entry, name);
    const auto bytes = std::as_bytes(std::span<const float>(weights.scales));
    SafetensorsEntry scale{.name = entry.name + std::string(kQuantizedScale),
                           .dtype = DType::f32,
                           .shape = weights.scale_shape,
                           .data = {}};
    keep({bytes.begin(), bytes.end()}, scale);
    put(scale, name + std::string(kQuantizedScale));
  }

  void keep(std::vector<std::byte> bytes, SafetensorsEntry& entry) {
    entry.data = memory_.emplace_back(std::move(bytes));
  }

  void put(SafetensorsEntry entry, const std::string& name) {
    if (!taken_.insert(name).second) {
      throw RunError(
          fmt::format("two tensors would have the name '{}', one of them '{}'", name, entry.name),
          {.hint = "change --rename, or --drop one of them"});
    }
    entry.name = name;
    entries_.push_back(std::move(entry));
  }

  const ConvertOptions& options_;
  std::vector<SafetensorsEntry> entries_;
  std::vector<std::vector<std::byte>> memory_;
  std::set<std::string> taken_;
};

// Moving averages in place of the weights that have one.
std::vector<SafetensorsEntry> with_averages(std::span<const SafetensorsEntry> model,
                                            const SafetensorsFile* averages) {
  std::vector<SafetensorsEntry> entries(model.begin(), model.end());
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
  const DequantizedEntries plain(model.entries(), (source / "model.safetensors").string());
  Converted converted(options, verified.step());
  for (const SafetensorsEntry& entry : with_averages(plain.entries(), averages.get())) {
    if (names.drops(entry.name)) {
      ++converted.report.dropped;
    } else {
      converted.add(entry, names.new_name(entry.name), names.scales_of(entry));
    }
  }
  names.require_use(source);
  if (converted.entries().empty()) {
    throw RunError("--drop leaves no tensor of " + source.string());
  }
  const ConvertReport& report = converted.report;
  write_model_checkpoint(out, converted.entries(), report.step, "convert",
                         Value::table({{"source", source.string()},
                                       {"averages", options.averages},
                                       {"renamed", report.renamed},
                                       {"dropped", report.dropped},
                                       {"quantized", report.quantized}}));
  return report;
}

}  // namespace trivet
