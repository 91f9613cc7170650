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
#include "trivet/config/patterns.h"
#include "trivet/config/schema.h"
#include "trivet/data/float_values.h"
#include "trivet/data/safetensors.h"
#include "trivet/error.h"
#include "trivet/train/checkpoint.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWeights = "model.safetensors";

// The weights of this step below the directory of a run, or of checkpoints.
std::optional<fs::path> weights_of_step(const fs::path& given, std::int64_t step) {
  std::error_code ignored;
  for (const fs::path& directory : {given, given / "checkpoints", given / "best"}) {
    const fs::path file = directory / checkpoint_name(step) / kWeights;
    if (fs::is_regular_file(file, ignored)) return file;
  }
  return std::nullopt;
}

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
  Rules(const std::vector<LoadRule>& rules, const std::vector<std::string>& ignore,
        std::string path)
      : path_(std::move(path)) {
    for (const std::string& pattern : ignore) ignore_.push_back({.pattern = pattern});
    for (const LoadRule& rule : rules) {
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
    if (found->dtype == DType::i8) entry.note += ", without " + source + "_quantized_scale";
  }
  return entry;
}

// Where weights are, and how their names are found.
struct Source {
  std::span<const SafetensorsEntry> entries;
  std::string file;
  Rules rules;
  std::vector<std::string> names{};
  std::set<std::string> used{};
};

Source source_of(std::span<const SafetensorsEntry> entries, std::string file, Rules rules) {
  Source source{.entries = entries, .file = std::move(file), .rules = std::move(rules)};
  for (const SafetensorsEntry& entry : entries) source.names.push_back(entry.name);
  return source;
}

// The place that a variable is loaded from: the first source that has its name there.
struct Found {
  std::string name;        // in the first source where none has it
  std::size_t source = 0;  // its index
  const SafetensorsEntry* entry = nullptr;
};

Found found_in(std::vector<Source>& sources, const std::string& variable) {
  Found found;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string name = sources[i].rules.source_of(variable);
    if (found.entry != nullptr) continue;  // the rules of later sources count as used
    if (i == 0) found.name = name;
    found.entry = find(sources[i].entries, name);
    if (found.entry != nullptr) found.source = i, found.name = name;
  }
  return found;
}

class Loading {
 public:
  Loading(const ParameterStore& store, std::vector<Source> sources) : sources_(std::move(sources)) {
    report_.file = sources_.front().file;
    for (const auto& parameter : store.parameters()) add(*parameter);
    for (const Source& source : sources_) {
      source.rules.require_use(store);
      for (const std::string& name : source.names) {
        if (!source.used.contains(name)) report_.unused.push_back(name);
      }
    }
  }

  LoadReport& report() { return report_; }

  // Where `source_path` and `rules_path` are what messages call the config.
  void require_all(const std::string& source_path, const std::string& rules_path) const {
    using Status = LoadReport::Status;
    if (report_.count(Status::missing) + report_.count(Status::differs) == 0) return;
    std::string lines = report_.text();
    lines.pop_back();
    throw RunError("the model cannot start from '" + report_.file + "'\n" + lines,
                   {.path = source_path,
                    .hint = rules_path + " has rules for other names, ignore, and partial"});
  }

  void load(ParameterStore& store) const {
    for (std::size_t i = 0; i < report_.entries.size(); ++i) {
      const LoadReport::Entry& entry = report_.entries[i];
      if (entry.status != LoadReport::Status::loaded) continue;
      const std::vector<float> values = floats_of(*found_[i].entry);
      Tensor value = store.find(entry.variable)->value();
      value.assign_bytes(std::as_bytes(std::span<const float>(values)));
    }
  }

  std::size_t source_index(std::size_t entry) const { return found_[entry].source; }

 private:
  void add(const Parameter& parameter) {
    const bool is_ignored = sources_.front().rules.ignores(parameter.path());
    Found found = found_in(sources_, parameter.path());
    if (is_ignored) {
      report_.entries.push_back({.variable = parameter.path(),
                                 .shape = parameter.shape().to_string(),
                                 .status = LoadReport::Status::ignored,
                                 .source = {},
                                 .note = {}});
      found_.push_back({});
      return;
    }
    Source& source = sources_[found.source];
    LoadReport::Entry entry = compared(parameter, found.name, found.entry, source.names);
    entry.file = source.file;
    if (entry.status == LoadReport::Status::loaded) source.used.insert(found.name);
    report_.entries.push_back(std::move(entry));
    found_.push_back(std::move(found));
  }

  std::vector<Source> sources_;
  LoadReport report_;
  std::vector<Found> found_;  // of each entry of the report
};

void check_rules(const std::vector<LoadRule>& rules, const std::vector<std::string>& ignore,
                 Diagnostics& diagnostics) {
  for (const LoadRule& rule : rules) check_patterns(diagnostics, "rules", {rule.pattern});
  check_patterns(diagnostics, "ignore", ignore);
}

}  // namespace

void InitSourceConfig::validate(Diagnostics& diagnostics) const {
  check_rules(rules, {}, diagnostics);
}

void InitLoadConfig::validate(Diagnostics& diagnostics) const {
  check_rules(rules, ignore, diagnostics);
}

std::size_t LoadReport::count(Status status) const {
  return static_cast<std::size_t>(std::count_if(
      entries.begin(), entries.end(), [&](const Entry& entry) { return entry.status == status; }));
}

std::string LoadReport::summary() const {
  std::map<std::string, std::size_t> further;
  for (const Entry& entry : entries) {
    if (entry.status == Status::loaded && entry.file != file) ++further[entry.file];
  }
  std::string text = std::to_string(count(Status::loaded)) + " of " +
                     std::to_string(entries.size()) + " variables from " + file;
  for (const auto& [other, variables] : further) {
    text += " and (" + std::to_string(variables) + ") " + other;
  }
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
    if (entry.status == Status::loaded && entry.file != file) text += " in " + entry.file;
    if (!entry.note.empty()) text += "; " + entry.note;
    text += "\n";
  }
  for (const std::string& name : unused) text += "unused   " + name + "\n";
  return text;
}

fs::path find_weights(const fs::path& given, std::optional<std::int64_t> step) {
  std::error_code error;
  const bool is_one = fs::is_regular_file(given, error) || fs::exists(given / kWeights, error);
  if (step && is_one) {
    throw RunError("'" + given.string() + "' is one checkpoint, not a directory of several",
                   {.path = "task.init_load.step", .hint = "remove the step, or give the run"});
  }
  if (step) {
    if (const auto found = weights_of_step(given, *step)) return *found;
    throw RunError(
        "no checkpoint of step " + std::to_string(*step) + " at '" + given.string() + "'",
        {.path = "task.init_load.step", .hint = "trivet ckpt ls lists those of a run"});
  }
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
  const std::string path = "task.init_load";
  std::vector<std::unique_ptr<detail::CheckpointWeights>> weights;
  std::vector<Source> sources;
  const auto add = [&](const fs::path& checkpoint, const auto& fields, Rules rules,
                       const std::string& own_path) {
    weights.push_back(std::make_unique<detail::CheckpointWeights>(checkpoint, fields.step,
                                                                  fields.averages, own_path));
    sources.push_back(
        source_of(weights.back()->entries(), weights.back()->file().string(), std::move(rules)));
  };
  add(given, config, Rules(config.rules, config.ignore, path), path);
  for (std::size_t i = 0; i < config.sources.size(); ++i) {
    const InitSourceConfig& source = config.sources[i];
    const std::string own_path = path + ".sources[" + std::to_string(i) + "]";
    add(source.checkpoint.text, source, Rules(source.rules, {}, own_path), own_path);
  }
  Loading loading(store, std::move(sources));
  if (!config.partial) loading.require_all("task.init_checkpoint", path);
  loading.load(store);
  LoadReport& report = loading.report();
  for (std::size_t i = 0; i < report.entries.size(); ++i) {
    const LoadReport::Entry& entry = report.entries[i];
    const bool is_average = entry.status == LoadReport::Status::loaded &&
                            weights[loading.source_index(i)]->is_average(entry.source);
    report.averages += is_average ? 1 : 0;
  }
  report.step = weights.front()->step();
  return report;
}

LoadReport load_weights(ParameterStore& store, const WeightSource& source,
                        const InitLoadConfig& config) {
  std::vector<Source> sources;
  sources.push_back(source_of(source.entries, source.name,
                              Rules(config.rules, config.ignore, source.rules_path)));
  Loading loading(store, std::move(sources));
  if (!config.partial) loading.require_all(source.source_path, source.rules_path);
  loading.load(store);
  return loading.report();
}

}  // namespace trivet
