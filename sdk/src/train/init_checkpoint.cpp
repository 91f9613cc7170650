// SPDX-License-Identifier: Apache-2.0
// Finding the weights of another run and loading them by rules.
//
// Unlike Model Garden, which logs and continues, a configured checkpoint that is not there is an
// error: a run that silently starts from random weights wastes days.
#include "trivet/train/init_checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include "train/checkpoint_weights.h"
#include "trivet/config/enums.h"
#include "trivet/config/schema.h"
#include "trivet/data/float_values.h"
#include "trivet/data/safetensors.h"
#include "trivet/error.h"
#include "trivet/train/checkpoint.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWeights = "model.safetensors";

std::optional<fs::path> newest_in(const fs::path& directory) {
  std::optional<std::pair<std::int64_t, fs::path>> best;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const auto step = parse_checkpoint_name(entry.path().filename().string());
    if (!step || !fs::exists(entry.path() / kWeights, error)) continue;
    if (!best || *step > best->first) best = {*step, entry.path() / kWeights};
  }
  if (!best) return std::nullopt;
  return best->second;
}

// A regular expression of the config; validate() has refused those that are none.
std::regex regex_of(const std::string& pattern, const std::string& path) {
  try {
    return std::regex(pattern, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& failure) {
    throw RunError("'" + pattern + "' is not a regular expression: " + failure.what(),
                   {.path = path});
  }
}

// The rules of a config, and whether each was of use.
class Rules {
 public:
  Rules(const InitLoadConfig& config, std::string path) : path_(std::move(path)) {
    for (const std::string& pattern : config.ignore) ignore_.push_back({.pattern = pattern});
    for (const LoadRule& rule : config.rules) {
      rules_.push_back({.pattern = rule.pattern, .name = rule.name});
    }
    for (auto* list : {&ignore_, &rules_}) {
      for (Rule& rule : *list) rule.regex = regex_of(rule.pattern, path_);
    }
  }

  bool ignores(const std::string& variable) {
    bool found = false;
    for (Rule& rule : ignore_) {
      if (!std::regex_match(variable, rule.regex)) continue;
      rule.used = true;
      found = true;
    }
    return found;
  }

  std::string source_of(const std::string& variable) {
    const Rule* first = nullptr;
    std::smatch match;
    for (Rule& rule : rules_) {
      std::smatch found;
      if (!std::regex_match(variable, found, rule.regex)) continue;
      rule.used = true;  // also one that an earlier rule makes needless
      if (first != nullptr) continue;
      first = &rule;
      match = found;
    }
    return first == nullptr ? variable : match.format(first->name);
  }

  void require_use(const ParameterStore& store) const {
    for (const auto* list : {&ignore_, &rules_}) {
      for (const Rule& rule : *list) {
        if (rule.used) continue;
        std::vector<std::string> names;
        for (const auto& parameter : store.parameters()) names.push_back(parameter->path());
        throw RunError(
            "the pattern '" + rule.pattern + "' matches no variable of the model",
            {.path = path_ + (list == &ignore_ ? ".ignore" : ".rules"),
             .hint = "a pattern must match a whole path; " + suggestion(rule.pattern, names)});
      }
    }
  }

 private:
  struct Rule {
    std::string pattern, name{};
    std::regex regex{};
    bool used = false;
  };
  std::string path_;  // of the config
  std::vector<Rule> ignore_, rules_;
};

const SafetensorsEntry* find(std::span<const SafetensorsEntry> entries, const std::string& name) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const auto& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

LoadReport::Entry compared(const Parameter& parameter, const std::string& source,
                           const SafetensorsEntry* found, const std::vector<std::string>& names) {
  using Status = LoadReport::Status;
  LoadReport::Entry entry{.variable = parameter.path(),
                          .shape = parameter.shape().to_string(),
                          .source = source,
                          .note = {}};
  if (found == nullptr) {
    entry.status = Status::missing;
    const std::string near = suggestion(source, names);
    if (near.starts_with("did you mean")) entry.note = near;
  } else if (!(found->shape == parameter.shape()) || !holds_floats(*found)) {
    entry.status = Status::differs;
    entry.note = "f32 " + entry.shape + " wanted, " + std::string(name_of(found->dtype)) + " " +
                 found->shape.to_string() + " found";
  }
  return entry;
}

LoadReport compare(const ParameterStore& store, const WeightSource& weights,
                   const InitLoadConfig& config) {
  LoadReport report{.file = weights.name, .entries = {}, .unused = {}};
  Rules rules(config, weights.rules_path);
  std::vector<std::string> names;
  for (const SafetensorsEntry& entry : weights.entries) names.push_back(entry.name);
  std::set<std::string> used;
  for (const auto& parameter : store.parameters()) {
    const std::string source = rules.source_of(parameter->path());
    if (rules.ignores(parameter->path())) {
      report.entries.push_back({.variable = parameter->path(),
                                .shape = parameter->shape().to_string(),
                                .status = LoadReport::Status::ignored,
                                .source = {},
                                .note = {}});
      continue;
    }
    report.entries.push_back(compared(*parameter, source, find(weights.entries, source), names));
    if (report.entries.back().status == LoadReport::Status::loaded) used.insert(source);
  }
  rules.require_use(store);
  for (const std::string& name : names) {
    if (!used.contains(name)) report.unused.push_back(name);
  }
  return report;
}

}  // namespace

void InitLoadConfig::validate(Diagnostics& diagnostics) const {
  const auto check = [&](const char* field, const std::string& pattern) {
    try {
      const std::regex compiled(pattern, std::regex::ECMAScript);
    } catch (const std::regex_error& failure) {
      diagnostics.add(field, "'" + pattern + "' is not a regular expression: " + failure.what());
    }
  };
  for (const LoadRule& rule : rules) check("rules", rule.pattern);
  for (const std::string& pattern : ignore) check("ignore", pattern);
}

std::size_t LoadReport::count(Status status) const {
  return static_cast<std::size_t>(std::count_if(
      entries.begin(), entries.end(), [&](const Entry& entry) { return entry.status == status; }));
}

std::string LoadReport::summary() const {
  std::string text = std::to_string(count(Status::loaded)) + " of " +
                     std::to_string(entries.size()) + " variables from " + file;
  if (averages > 0) text += ", " + std::to_string(averages) + " as moving averages";
  for (const Status status : {Status::ignored, Status::missing, Status::differs}) {
    if (count(status) == 0) continue;
    text += "; " + std::to_string(count(status)) + " " + std::string(enum_name(status));
  }
  if (!unused.empty()) text += "; " + std::to_string(unused.size()) + " of the file unused";
  return text;
}

std::string LoadReport::text() const {
  std::string text;
  for (const Entry& entry : entries) {
    text += std::string(enum_name(entry.status)) + "  " + entry.variable + " " + entry.shape;
    if (!entry.source.empty() && entry.source != entry.variable) text += " from " + entry.source;
    if (!entry.note.empty()) text += "; " + entry.note;
    text += "\n";
  }
  for (const std::string& name : unused) text += "unused   " + name + "\n";
  return text;
}

fs::path find_weights(const fs::path& given) {
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

LoadReport load_weights(ParameterStore& store, const fs::path& given,
                        const InitLoadConfig& config) {
  const detail::CheckpointWeights weights(given, config);
  LoadReport report = load_weights(store,
                                   {.entries = weights.entries(),
                                    .name = weights.file().string(),
                                    .rules_path = "task.init_load",
                                    .source_path = "task.init_checkpoint"},
                                   config);
  report.averages = static_cast<std::size_t>(
      std::count_if(report.entries.begin(), report.entries.end(), [&](const auto& entry) {
        return entry.status == LoadReport::Status::loaded && weights.is_average(entry.source);
      }));
  report.step = weights.step();
  return report;
}

LoadReport load_weights(ParameterStore& store, const WeightSource& source,
                        const InitLoadConfig& config) {
  using Status = LoadReport::Status;
  LoadReport report = compare(store, source, config);
  if (!config.partial && report.count(Status::missing) + report.count(Status::differs) > 0) {
    std::string lines = report.text();
    lines.pop_back();
    throw RunError("the model cannot start from '" + source.name + "'\n" + lines,
                   {.path = source.source_path,
                    .hint = source.rules_path + " has rules for other names, ignore, and partial"});
  }
  for (const LoadReport::Entry& entry : report.entries) {
    if (entry.status != Status::loaded) continue;
    const std::vector<float> values = floats_of(*find(source.entries, entry.source));
    Tensor value = store.find(entry.variable)->value();
    value.assign_bytes(std::as_bytes(std::span<const float>(values)));
  }
  return report;
}

}  // namespace trivet
