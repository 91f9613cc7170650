// SPDX-License-Identifier: Apache-2.0
// Task::initialize: starting a run from the weights of another.
//
// Unlike Model Garden, which logs and goes on, a configured checkpoint that is not there is an
// error: a run that silently starts from random weights wastes days.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "trivet/error.h"
#include "trivet/half.h"
#include "trivet/safetensors.h"
#include "trivet/schema.h"
#include "trivet/task.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWeights = "model.safetensors";
constexpr std::size_t kMostListed = 20;

// 1000 for "step_00001000"; nothing for other names, half-written ones included.
std::optional<std::int64_t> step_of(const std::string& name) {
  constexpr std::string_view prefix = "step_";
  if (!name.starts_with(prefix)) return std::nullopt;
  std::int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, step);
  if (error != std::errc() || stop != end) return std::nullopt;
  return step;
}

std::optional<fs::path> newest_in(const fs::path& directory) {
  std::optional<std::pair<std::int64_t, fs::path>> best;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const auto step = step_of(entry.path().filename().string());
    if (!step || !fs::exists(entry.path() / kWeights, error)) continue;
    if (!best || *step > best->first) best = {*step, entry.path() / kWeights};
  }
  if (!best) return std::nullopt;
  return best->second;
}

fs::path weights_file(const fs::path& given) {
  std::error_code error;
  if (fs::is_regular_file(given, error)) return given;
  if (fs::is_regular_file(given / kWeights, error)) return given / kWeights;
  for (const fs::path& directory : {given, given / "checkpoints"}) {
    if (const auto found = newest_in(directory)) return *found;
  }
  throw RunError("no checkpoint at '" + given.string() + "'" +
                     (fs::exists(given, error) ? "" : ": it does not exist"),
                 {.path = "task.init_checkpoint",
                  .hint = "give a directory that holds model.safetensors, or one that holds "
                          "step_NUMBER directories"});
}

bool holds_floats(const SafetensorsEntry& entry) {
  return entry.dtype == DType::f32 || entry.dtype == DType::bf16 || entry.dtype == DType::f16;
}

// 16-bit floats are widened. Data in a file may stand at any byte.
std::vector<float> floats_of(const SafetensorsEntry& entry) {
  std::vector<float> out(static_cast<std::size_t>(entry.shape.size()));
  if (entry.dtype == DType::f32) {
    std::copy(entry.data.begin(), entry.data.end(), std::as_writable_bytes(std::span(out)).begin());
    return out;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto low = static_cast<unsigned>(entry.data[2 * i]);
    const auto high = static_cast<unsigned>(entry.data[2 * i + 1]);
    const auto bits = static_cast<std::uint16_t>(low | high << 8);
    out[i] = entry.dtype == DType::bf16 ? float_from_bf16(bits) : float_from_f16(bits);
  }
  return out;
}

struct Differences {
  std::vector<std::string> missing, mismatched, unexpected;
};

std::string listed(const std::string& title, const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string text = "\n  " + title + " (" + std::to_string(lines.size()) + "):";
  for (std::size_t i = 0; i < std::min(lines.size(), kMostListed); ++i) text += "\n    " + lines[i];
  if (lines.size() > kMostListed) {
    text += "\n    and " + std::to_string(lines.size() - kMostListed) + " more";
  }
  return text;
}

Differences compare(const SafetensorsFile& file, const ParameterStore& store) {
  Differences differences;
  std::vector<std::string> names;
  for (const auto& entry : file.entries()) {
    names.push_back(entry.name);
    if (store.find(entry.name) == nullptr) differences.unexpected.push_back(entry.name);
  }
  for (const auto& parameter : store.parameters()) {
    const SafetensorsEntry* entry = file.find(parameter->path());
    if (entry == nullptr) {
      const std::string near = suggestion(parameter->path(), differences.unexpected);
      const bool useful = near.starts_with("did you mean");
      differences.missing.push_back(parameter->path() + (useful ? "; " + near : ""));
    } else if (!(entry->shape == parameter->shape()) || !holds_floats(*entry)) {
      differences.mismatched.push_back(
          parameter->path() + ": f32 " + parameter->shape().to_string() + " wanted, " +
          std::string(name_of(entry->dtype)) + " " + entry->shape.to_string() + " found");
    }
  }
  return differences;
}

}  // namespace

void Task::initialize(ParameterStore& store) {
  if (config_.init_checkpoint.empty()) return;
  const fs::path path = weights_file(config_.init_checkpoint.path());
  const SafetensorsFile file(path);
  const Differences differences = compare(file, store);
  if (!differences.missing.empty() || !differences.mismatched.empty()) {
    throw RunError("the model cannot start from '" + path.string() + "'" +
                       listed("missing in the file", differences.missing) +
                       listed("of another shape or type", differences.mismatched) +
                       listed("in the file but not in the model", differences.unexpected),
                   {.path = "task.init_checkpoint"});
  }
  for (const auto& parameter : store.parameters()) {
    const std::vector<float> values = floats_of(*file.find(parameter->path()));
    Tensor value = parameter->value();
    value.assign_bytes(std::as_bytes(std::span<const float>(values)));
  }
}

}  // namespace trivet
