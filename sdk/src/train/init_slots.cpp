// SPDX-License-Identifier: Apache-2.0
#include "trivet/train/init_slots.h"

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trivet/config/json.h"
#include "trivet/data/float_values.h"
#include "trivet/data/safetensors.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/os/file.h"
#include "trivet/tape.h"
#include "trivet/tensor/tensor_part.h"
#include "trivet/train/checkpoint.h"
#include "trivet/train/optim_update.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPath = "task.init_load.load_slots";

// The optimizers' files beside files of weights, each opened once.
class SlotFiles {
 public:
  // Null if there is no such file beside these weights.
  const SafetensorsFile* beside(const std::string& weights) {
    const auto [at, is_new] = files_.try_emplace(weights);
    const fs::path file = fs::path(weights).parent_path() / "optimizer.safetensors";
    std::error_code ignored;
    if (is_new && fs::is_regular_file(file, ignored)) {
      at->second = std::make_unique<SafetensorsFile>(file);
    }
    return at->second.get();
  }

 private:
  std::map<std::string, std::unique_ptr<SafetensorsFile>> files_;
};

std::int64_t updates_of(const std::string& weights) {
  const fs::path file = fs::path(weights).parent_path() / "state.json";
  std::error_code ignored;
  const Value* updates = nullptr;
  Value state;
  if (fs::is_regular_file(file, ignored)) {
    state = value_from_json(read_text_file(file), file.string());
    updates = state.find_path("trainer.updates");
  }
  if (updates == nullptr || !updates->is_integer()) {
    throw RunError("'" + file.string() + "' does not say how many updates were made",
                   {.path = kPath, .hint = "init_checkpoint must be a checkpoint of a training"});
  }
  return updates->as_integer();
}

// Whether a slot can start from the numbers of a file: floats of any type instead of each other;
// integers, whose scale is another slot, only as they are.
bool fits(const SafetensorsEntry& entry, const TensorPart& slot) {
  if (!(entry.shape == slot.shape)) return false;
  const bool floats =
      slot.dtype() == DType::f32 || slot.dtype() == DType::bf16 || slot.dtype() == DType::f16;
  return entry.dtype == slot.dtype() || (floats && holds_floats(entry));
}

std::string described(DType dtype, const Shape& shape) {
  return std::string(name_of(dtype)) + " " + shape.to_string();
}

// The numbers of a file for this process's elements of a slot.
SafetensorsEntry part_of(const SafetensorsEntry& entry, const TensorPart& slot) {
  const std::size_t size = size_of(entry.dtype);
  const auto begin = static_cast<std::size_t>(slot.begin);
  const auto count = static_cast<std::size_t>(slot.values.size());
  return {entry.name, entry.dtype, slot.values.shape(),
          entry.data.subspan(begin * size, count * size)};
}

// Rounds to the nearest, ties to even, where the slot has fewer digits.
void assign_entry(const TensorPart& slot, const SafetensorsEntry& whole) {
  Tensor into = slot.values;
  if (into.size() == 0) return;
  const SafetensorsEntry entry = part_of(whole, slot);
  if (entry.dtype == into.dtype()) return into.assign_bytes(entry.data);
  const std::vector<float> values = floats_of(entry);
  const Tensor widened = Tensor::from<float>(into.device(), values, into.shape());
  assign(into, ops::cast(widened, into.dtype()));
}

// Slots in the files that the optimizer does not have: those of another optimizer.
std::string foreign_slots(SlotFiles& files, const std::set<std::string>& own,
                          const std::map<std::string, const LoadReport::Entry*>& loaded) {
  std::string text;
  for (const auto& [variable, entry] : loaded) {
    const SafetensorsFile* file = files.beside(entry->file);
    if (file == nullptr) continue;
    for (const SafetensorsEntry& slot : file->entries()) {
      const std::size_t end = slot.name.rfind('/');
      if (end == std::string::npos || slot.name.substr(0, end) != entry->source) continue;
      if (own.contains(variable + slot.name.substr(end))) continue;
      text += "\n" + slot.name + " " + described(slot.dtype, slot.shape) +
              ": this optimizer has no such slot";
    }
  }
  return text;
}

std::size_t load_into(const std::vector<TensorPart>& slots, const LoadReport& report,
                      const InitLoadConfig& config) {
  std::map<std::string, const LoadReport::Entry*> loaded;
  for (const LoadReport::Entry& entry : report.entries) {
    if (entry.status == LoadReport::Status::loaded) loaded[entry.variable] = &entry;
  }
  SlotFiles files;
  std::vector<std::pair<const TensorPart*, const SafetensorsEntry*>> found;
  std::string missing;
  std::set<std::string> own;
  for (const TensorPart& slot : slots) {
    const std::string& name = slot.name;
    own.insert(name);
    const std::size_t end = name.rfind('/');
    const auto variable = loaded.find(name.substr(0, end));
    if (variable == loaded.end()) continue;  // it starts with new slots, as its weights
    const SafetensorsFile* file = files.beside(variable->second->file);
    const std::string source = variable->second->source + name.substr(end);
    const SafetensorsEntry* entry = file == nullptr ? nullptr : file->find(source);
    if (entry != nullptr && fits(*entry, slot)) {
      found.emplace_back(&slot, entry);
      continue;
    }
    missing += "\n" + name + " " + described(slot.dtype(), slot.shape) + ": " +
               (file == nullptr    ? "there is no optimizer.safetensors beside the weights"
                : entry == nullptr ? "there is no " + source
                                   : "there is " + described(entry->dtype, entry->shape));
  }
  missing += foreign_slots(files, own, loaded);
  if (!missing.empty() && !config.partial) {
    throw RunError("the optimizer cannot start from '" + report.file + "'" + missing,
                   {.path = kPath,
                    .hint = "use the optimizer of the other run, or set task.init_load.partial"});
  }
  const NoGrad no_grad;
  for (const auto& [slot, entry] : found) assign_entry(*slot, *entry);
  return found.size();
}

}  // namespace

std::size_t load_slots(Learner& learner, const LoadReport& report, const InitLoadConfig& config) {
  const std::int64_t updates = updates_of(report.file);
  const std::size_t found = load_into(learner.slot_parts(), report, config);
  learner.set_step(updates);
  return found;
}

}  // namespace trivet
