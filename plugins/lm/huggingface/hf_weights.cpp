// SPDX-License-Identifier: Apache-2.0
#include "lm/huggingface/hf_weights.h"

#include <set>
#include <utility>

#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet::lm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

fs::path weights_in(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  for (const char* name : {kFile, kIndex}) {
    if (fs::exists(path / name, ignored)) return path / name;
  }
  const bool pickled = fs::exists(path / "pytorch_model.bin", ignored);
  throw UsageError(path.string() + " has no " + kFile + " and no " + kIndex,
                   {.hint = pickled ? "pytorch_model.bin is not supported; save_pretrained(..., "
                                      "safe_serialization=True) writes model.safetensors"
                                    : "give the folder of a model, with its config.json"});
}

// Maps each tensor to its file.
std::map<std::string, std::string> weight_map(const fs::path& index) {
  Value root;
  try {
    root = value_from_json(read_text_file(index), index.string());
  } catch (const RunError& failure) {
    throw UsageError(failure.message());
  }
  const Value* map = root.find("weight_map");
  if (map == nullptr || !map->is_table()) {
    throw UsageError(index.string() + " has no \"weight_map\" of tensors and files");
  }
  std::map<std::string, std::string> files;
  for (const Value::Member& member : map->members()) {
    const Value& file = member.value;
    if (!file.is_string() || file.as_string().empty() ||
        file.as_string().find('/') != std::string::npos || file.as_string() == "..") {
      throw UsageError(index.string() + ": " + member.key + " is listed in " + to_json(file) +
                       ", which is not a file next to it");
    }
    if (!files.emplace(member.key, file.as_string()).second) {
      throw UsageError(index.string() + ": " + member.key + " occurs twice");
    }
  }
  return files;
}

}  // namespace

HfWeights::HfWeights(const fs::path& path, std::string_view prefix) : prefix_(prefix) {
  const fs::path file = weights_in(path);
  name_ = file.string();
  if (file.extension() == ".json") {
    read_index(file);
  } else {
    for (const SafetensorsEntry& entry : open(file).entries()) add(entry, file);
  }
}

void HfWeights::read_index(const fs::path& index) {
  const std::map<std::string, std::string> files = weight_map(index);
  std::set<std::string> names;
  for (const auto& [tensor, file] : files) names.insert(file);
  for (const std::string& name : names) {
    const fs::path file = index.parent_path() / name;
    const SafetensorsFile& opened = open(file);
    for (const SafetensorsEntry& entry : opened.entries()) {
      const auto said = files.find(entry.name);
      if (said == files.end() || said->second != name) {
        throw UsageError(file.string() + " has " + entry.name + ", which " + index.string() +
                             (said == files.end() ? " does not list" : " lists in " + said->second),
                         {.hint = "the files belong to different models, or one was replaced"});
      }
      add(entry, file);
    }
    for (const auto& [tensor, where] : files) {
      if (where == name && opened.find(tensor) == nullptr) {
        throw UsageError(
            file.string() + " has no " + tensor + ", which " + index.string() + " lists in it",
            {.hint = "the files belong to different models, or one was replaced"});
      }
    }
  }
}

const SafetensorsFile& HfWeights::open(const fs::path& file) {
  try {
    files_.push_back(std::make_unique<SafetensorsFile>(file));
  } catch (const Error& failure) {
    throw UsageError(
        failure.message(),
        {.hint = failure.hint().empty() ? "the file may be cut off or missing: download it again"
                                        : failure.hint()});
  }
  return *files_.back();
}

void HfWeights::add(const SafetensorsEntry& entry, const fs::path& file) {
  std::string name = entry.name;
  if (name.starts_with(prefix_)) name.erase(0, prefix_.size());
  const auto [position, is_new] = tensors_.emplace(std::move(name), entry);
  if (is_new) return;
  throw UsageError(file.string() + ": " + entry.name + " occurs twice, also as " +
                   position->second.name);
}

const SafetensorsEntry* HfWeights::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

}  // namespace trivet::lm
