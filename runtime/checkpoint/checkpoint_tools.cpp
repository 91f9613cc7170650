// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_tools.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_manager.h"
#include "trivet/backend/half.h"
#include "trivet/data/quantized_weights.h"
#include "trivet/data/safetensors.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".safetensors";

bool is_checkpoint(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path / "manifest.json", ignored) || fs::exists(path / "state.json", ignored);
}

std::vector<fs::path> steps_in(const fs::path& directory) {
  const CheckpointManager manager(directory, {}, nullptr);
  std::vector<fs::path> paths;
  for (const std::int64_t step : manager.steps()) paths.push_back(manager.path_of(step));
  return paths;
}

[[noreturn]] void throw_none(const fs::path& path) {
  std::error_code ignored;
  const bool there = fs::exists(path, ignored);
  throw UsageError(
      fmt::format("{} {}", path.string(), there ? "contains no checkpoint" : "does not exist"),
      {.hint = "give a run's directory, or a step_NUMBER directory in its checkpoints/"});
}

bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
}

// Element i of a tensor of floats. Data in a file may be unaligned.
double number_at(const SafetensorsEntry& entry, std::size_t i) {
  if (entry.dtype == DType::f32) {
    float value = 0;
    std::memcpy(&value, entry.data.data() + 4 * i, 4);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, entry.data.data() + 2 * i, 2);
  return entry.dtype == DType::bf16 ? float_from_bf16(bits) : float_from_f16(bits);
}

std::string form_of(const SafetensorsEntry& entry) {
  return fmt::format("{} {}", name_of(entry.dtype), entry.shape.to_string());
}

bool same_bytes(const SafetensorsEntry& a, const SafetensorsEntry& b) {
  return std::equal(a.data.begin(), a.data.end(), b.data.begin(), b.data.end());
}

void compare_values(const SafetensorsEntry& a, const SafetensorsEntry& b, TensorDifference& found) {
  if (same_bytes(a, b)) return;
  if (!is_float(a.dtype)) {
    found.what = TensorDifference::What::values;
    found.largest = found.relative = std::nan("");
    return;
  }
  double squares = 0, norm = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.shape.size()); ++i) {
    const double x = number_at(a, i), y = number_at(b, i);
    if (x == y || (std::isnan(x) && std::isnan(y))) {
      norm += std::isnan(x) ? 0 : x * x;
      continue;
    }
    found.what = TensorDifference::What::values;
    const double difference = std::fabs(x - y);
    // Written so that a NaN on one side counts as a difference.
    if (!(difference <= found.largest)) found.largest = difference;
    squares += difference * difference;
    norm += x * x;
  }
  if (found.what == TensorDifference::What::values) found.relative = std::sqrt(squares / norm);
}

using Files = std::map<std::string, std::unique_ptr<SafetensorsFile>>;

Files open_files(const fs::path& checkpoint) {
  Files files;
  for (const std::string& name : tensor_files(checkpoint)) {
    files[name] = std::make_unique<SafetensorsFile>(checkpoint / (name + std::string(kExtension)));
  }
  return files;
}

void note(const Files& files, std::string TensorDifference::*form,
          std::map<std::pair<std::string, std::string>, TensorDifference>& found) {
  for (const auto& [file, tensors] : files) {
    for (const SafetensorsEntry& entry : tensors->entries()) {
      TensorDifference& difference = found[{file, entry.name}];
      difference.file = file;
      difference.name = entry.name;
      difference.*form = form_of(entry);
    }
  }
}

}  // namespace

std::vector<fs::path> checkpoints_at(const fs::path& path) {
  if (is_checkpoint(path)) return {path};
  std::vector<fs::path> all = steps_in(path);
  for (const char* folder : {"checkpoints", "best"}) {
    for (fs::path& found : steps_in(path / folder)) all.push_back(std::move(found));
  }
  if (all.empty()) throw_none(path);
  return all;
}

fs::path checkpoint_at(const fs::path& path) {
  if (is_checkpoint(path)) return path;
  for (const fs::path& directory : {path / "checkpoints", path}) {
    const std::vector<fs::path> all = steps_in(directory);
    if (!all.empty()) return all.back();
  }
  throw_none(path);
}

std::vector<std::string> tensor_files(const fs::path& checkpoint) {
  std::vector<std::string> names;
  std::error_code failure;
  fs::directory_iterator entry(checkpoint, failure), end;
  for (; !failure && entry != end; entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    if (!name.ends_with(kExtension)) continue;
    names.push_back(name.substr(0, name.size() - kExtension.size()));
  }
  if (failure) throw_system_error("read", checkpoint, failure.value());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<TensorDifference> compare_checkpoints(const fs::path& first, const fs::path& second) {
  using What = TensorDifference::What;
  const Files a = open_files(first), b = open_files(second);
  std::map<std::pair<std::string, std::string>, TensorDifference> found;
  note(a, &TensorDifference::first, found);
  note(b, &TensorDifference::second, found);
  std::vector<TensorDifference> all;
  for (auto& [key, difference] : found) {
    if (difference.second.empty()) {
      difference.what = What::only_first;
    } else if (difference.first.empty()) {
      difference.what = What::only_second;
    } else if (difference.first != difference.second) {
      difference.what = What::form;
    } else {
      compare_values(*a.at(key.first)->find(key.second), *b.at(key.first)->find(key.second),
                     difference);
    }
    all.push_back(std::move(difference));
  }
  return all;
}

namespace {

// A checkpoint to average. Quantized weights are read as floats.
class Source {
 public:
  Source(fs::path path, std::int64_t step)
      : path_(std::move(path)),
        step_(step),
        file_(std::make_unique<SafetensorsFile>(path_ / "model.safetensors")),
        model_(std::make_unique<DequantizedEntries>(file_->entries(),
                                                    (path_ / "model.safetensors").string())) {}

  const fs::path& path() const { return path_; }
  std::int64_t step() const { return step_; }
  std::span<const SafetensorsEntry> entries() const { return model_->entries(); }
  const SafetensorsEntry* find(std::string_view name) const {
    const auto found = std::ranges::find(entries(), name, &SafetensorsEntry::name);
    return found != entries().end() ? &*found : nullptr;
  }

 private:
  fs::path path_;
  std::int64_t step_;
  std::unique_ptr<SafetensorsFile> file_;
  std::unique_ptr<DequantizedEntries> model_;
};

// Checks that every source has the same tensor. The error names the source that differs.
std::vector<const SafetensorsEntry*> gather(const std::vector<Source>& sources,
                                            const SafetensorsEntry& wanted) {
  std::vector<const SafetensorsEntry*> all;
  for (const Source& source : sources) {
    const SafetensorsEntry* entry = source.find(wanted.name);
    if (entry == nullptr) {
      throw RunError(fmt::format("{} has no {}", source.path().string(), wanted.name));
    }
    if (form_of(*entry) != form_of(wanted)) {
      throw RunError(fmt::format("{} has {} as {}, {} has it as {}", sources[0].path().string(),
                                 wanted.name, form_of(wanted), source.path().string(),
                                 form_of(*entry)));
    }
    if (wanted.dtype != DType::f32 && !same_bytes(*entry, wanted)) {
      throw RunError(fmt::format("{} is {}, which cannot be averaged, and differs in {}",
                                 wanted.name, form_of(wanted), source.path().string()));
    }
    all.push_back(entry);
  }
  return all;
}

std::vector<std::byte> mean_of(const std::vector<const SafetensorsEntry*>& tensors) {
  std::vector<std::byte> out(tensors[0]->data.begin(), tensors[0]->data.end());
  if (tensors[0]->dtype != DType::f32) return out;
  const auto count = static_cast<double>(tensors.size());
  for (std::size_t i = 0; i < out.size() / 4; ++i) {
    double sum = 0;
    for (const SafetensorsEntry* tensor : tensors) sum += number_at(*tensor, i);
    const auto mean = static_cast<float>(sum / count);
    std::memcpy(out.data() + 4 * i, &mean, 4);
  }
  return out;
}

std::vector<Source> open_sources(const std::vector<fs::path>& paths) {
  std::vector<Source> sources;
  for (const fs::path& path : paths) {
    const CheckpointDirectoryReader verified(path);
    sources.emplace_back(path, verified.step());
    const std::size_t count = sources.back().entries().size();
    if (count != sources[0].entries().size()) {
      throw RunError(fmt::format("{} has {} tensors, {} has {}", sources[0].path().string(),
                                 sources[0].entries().size(), path.string(), count));
    }
  }
  return sources;
}

}  // namespace

void write_model_checkpoint(const fs::path& out, std::span<const SafetensorsEntry> model,
                            std::int64_t step, std::string_view state, const Value& about) {
  fs::path temporary = out;
  temporary += ".tmp";
  std::error_code ignored;
  fs::remove_all(temporary, ignored);
  make_directories(temporary);
  try {
    CheckpointDirectoryWriter writer(temporary);
    writer.entries("model", model);
    writer.state(state, about);
    writer.finish(step);
    rename_path(temporary, out);
  } catch (...) {
    fs::remove_all(temporary, ignored);
    throw;
  }
}

void save_first_checkpoint(const fs::path& run, std::span<const SafetensorsEntry> model,
                           std::int64_t step) {
  const fs::path directory = run / "checkpoints";
  if (!steps_in(directory).empty()) throw RunError(directory.string() + " contains checkpoints");
  const CheckpointManager names(directory, {}, nullptr);
  write_model_checkpoint(names.path_of(step), model, step, "import", Value::table());
}

std::int64_t average_checkpoints(const fs::path& given, const std::vector<fs::path>& paths) {
  std::error_code ignored;
  const fs::path out = given.has_filename() ? given : given.parent_path();  // "a/" is "a"
  if (paths.empty()) throw RunError("nothing to average");
  if (fs::exists(out, ignored)) throw RunError(out.string() + " already exists");
  const std::vector<Source> sources = open_sources(paths);
  std::int64_t step = 0;
  Value names = Value::array();
  for (const Source& source : sources) {
    step = std::max(step, source.step());
    names.push_back(source.path().string());
  }
  std::vector<std::vector<std::byte>> means;
  std::vector<SafetensorsEntry> entries;
  means.reserve(sources[0].entries().size());
  for (const SafetensorsEntry& entry : sources[0].entries()) {
    means.push_back(mean_of(gather(sources, entry)));
    entries.push_back({entry.name, entry.dtype, entry.shape, means.back()});
  }
  write_model_checkpoint(out, entries, step, "average",
                         Value::table({{"sources", std::move(names)}}));
  return step;
}

}  // namespace trivet
