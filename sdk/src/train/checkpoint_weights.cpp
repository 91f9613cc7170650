// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint_weights.h"

#include <algorithm>

#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet::detail {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAverages = "ema.safetensors";

// Of a JSON file beside the weights; nothing where there is no such file or number, as beside the
// weights of other programs.
std::optional<std::int64_t> number_in(const fs::path& file, const char* path) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  const Value all = value_from_json(read_text_file(file), file.string());
  const Value* found = all.find_path(path);
  if (found == nullptr || !found->is_integer()) return std::nullopt;
  return found->as_integer();
}

// Before the first update there is a file of averages, and they are averages of nothing.
bool has_averages(const fs::path& directory) {
  std::error_code ignored;
  return fs::is_regular_file(directory / kAverages, ignored) &&
         number_in(directory / "state.json", "trainer.updates") != 0;
}

}  // namespace

CheckpointWeights::CheckpointWeights(const fs::path& given, std::optional<std::int64_t> step,
                                     std::optional<bool> averages, const std::string& path)
    : file_(find_weights(given, step)),
      weights_(file_),
      dequantized_(weights_.entries(), file_.string()),
      entries_(dequantized_.entries().begin(), dequantized_.entries().end()) {
  std::error_code ignored;
  const bool names_file = fs::is_regular_file(given, ignored);
  if (!averages.value_or(!names_file)) return;
  if (has_averages(file_.parent_path())) {
    take_averages(file_.parent_path() / kAverages);
  } else if (averages) {
    throw RunError("'" + file_.parent_path().string() + "' has no moving averages",
                   {.path = path + ".averages",
                    .hint = "leave it out to take the weights where there are none"});
  }
}

void CheckpointWeights::take_averages(const fs::path& file) {
  averages_ = std::make_unique<SafetensorsFile>(file);
  for (SafetensorsEntry& entry : entries_) {
    const SafetensorsEntry* average = averages_->find(entry.name);
    if (average == nullptr || !(average->shape == entry.shape)) continue;
    entry = *average;
    averaged_.insert(entry.name);
  }
}

std::optional<std::int64_t> CheckpointWeights::step() const {
  return number_in(file_.parent_path() / "manifest.json", "step");
}

}  // namespace trivet::detail
