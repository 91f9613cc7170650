// SPDX-License-Identifier: Apache-2.0
// Depth first: the target of a reference is resolved before it is copied. `chain_` contains the
// references in progress; reaching one of them again, directly or inside a table, is a cycle.
#include "config/tree/references.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace trivet {
namespace {

// Copies could double at each level (a = "${b}${b}", b = "${c}${c}", ...).
constexpr std::size_t kLongestText = std::size_t{1} << 20;
constexpr std::size_t kMostCopies = 1000000;
constexpr std::size_t kLongestChain = 100;
// Suggestions take time, so only the errors that are shown get them.
constexpr std::size_t kMostSuggestions = 50;

std::size_t size_of(const Value& value) {
  std::size_t size = 1;
  if (value.is_array()) {
    for (const Value& item : value.items()) size += size_of(item);
  }
  if (value.is_table()) {
    for (const Value::Member& member : value.members()) size += size_of(member.value);
  }
  return size;
}

void list_paths(const Value& value, const std::string& path, std::vector<std::string>& paths) {
  if (!path.empty()) paths.push_back(path);
  if (!value.is_table()) return;
  for (const Value::Member& member : value.members()) {
    list_paths(member.value, joined_path(path, member.key), paths);
  }
}

class ReferenceResolver {
 public:
  ReferenceResolver(Value& root, Diagnostics& diagnostics)
      : root_(root), diagnostics_(diagnostics) {}

  void resolve(Value& value, const std::string& path);
  std::vector<Origin> failed_locations() const { return failed_locations_; }

 private:
  struct Link {
    const Value* value;
    std::string path;
  };
  // The result of a string with references: another value, or a string.
  struct Result {
    Value whole;
    std::string text;
  };

  void resolve_text(Value& value, const std::string& path);
  std::optional<Result> expand(const Value& value, const std::string& path);
  bool add_target(const Value& target, bool alone, const Value& from, const std::string& path,
                  Result& result);
  // The resolved value at a path. Null if the value or the path is invalid.
  const Value* target(const std::string& name, const Value& from, const std::string& path);
  void report(const Value& from, const std::string& path, std::string what, std::string hint = {});
  void report_missing(const std::string& name, const Value& from, const std::string& path);
  std::string chain_text(const Value& from) const;

  Value& root_;
  Diagnostics& diagnostics_;
  std::vector<Link> chain_;
  // Only leaves are replaced, so addresses of values stay valid.
  std::set<const Value*> done_;
  std::set<const Value*> failed_;
  std::vector<Origin> failed_locations_;
  std::size_t reports_ = 0;
  std::size_t copied_ = 0;
};

void ReferenceResolver::report(const Value& from, const std::string& path, std::string what,
                               std::string hint) {
  ++reports_;
  diagnostics_.add({from.origin(), path, std::move(what), std::move(hint)});
}

void ReferenceResolver::report_missing(const std::string& name, const Value& from,
                                       const std::string& path) {
  std::vector<std::string> paths;
  if (reports_ < kMostSuggestions) list_paths(root_, {}, paths);
  if (name == "config_dir") {
    return report(from, path,
                  "${config_dir} is the folder of a config file, and this is not in one",
                  "write the folder");
  }
  const bool near = !nearest_names(name, paths).empty();
  report(from, path, "bad reference: no value at '" + name + "'",
         near ? suggestion(name, paths) : "a reference is the whole path of a value");
}

std::string ReferenceResolver::chain_text(const Value& from) const {
  const auto first = std::find_if(chain_.begin(), chain_.end(),
                                  [&](const Link& link) { return link.value == &from; });
  std::string text;
  for (auto link = first; link != chain_.end(); ++link) text += link->path + " -> ";
  return text + first->path;
}

void ReferenceResolver::resolve(Value& value, const std::string& path) {
  if (done_.contains(&value)) return;
  if (value.is_string()) return resolve_text(value, path);
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      resolve(value.items()[i], joined_path(path, i));
    }
  }
  if (!value.is_table()) return;
  for (Value::Member& member : value.members()) {
    resolve(member.value, joined_path(path, member.key));
  }
}

void ReferenceResolver::resolve_text(Value& value, const std::string& path) {
  if (value.as_string().find("${") == std::string::npos || failed_.contains(&value)) return;
  if (std::any_of(chain_.begin(), chain_.end(),
                  [&](const Link& link) { return link.value == &value; })) {
    failed_.insert(&value);
    return report(value, path, "reference cycle: " + chain_text(value));
  }
  chain_.push_back({&value, path});
  std::optional<Result> result;
  if (chain_.size() > kLongestChain) {
    report(value, path, "this reference leads through more than 100 others");
  } else {
    result = expand(value, path);
  }
  chain_.pop_back();
  if (!result || failed_.contains(&value)) {
    failed_.insert(&value);
    failed_locations_.push_back(value.origin());
    return;
  }
  Origin origin = value.origin();
  origin.note += (origin.note.empty() ? "" : ", ") + value.as_string();
  value = result->whole.is_null() ? Value(std::move(result->text)) : std::move(result->whole);
  value.set_origin(std::move(origin));
  done_.insert(&value);
}

std::optional<ReferenceResolver::Result> ReferenceResolver::expand(const Value& value,
                                                                   const std::string& path) {
  const std::string text = value.as_string();
  Result result;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text.compare(at, 3, "$${") == 0) {
      result.text += "${";
      at += 3;
      continue;
    }
    if (text.compare(at, 2, "${") != 0) {
      result.text += text[at++];
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (end == std::string::npos) {
      report(value, path, "bad reference: '}' is missing", "write $${ for a plain ${");
      return std::nullopt;
    }
    const Value* found = target(text.substr(at + 2, end - at - 2), value, path);
    const bool alone = at == 0 && end + 1 == text.size();
    if (found == nullptr || !add_target(*found, alone, value, path, result)) return std::nullopt;
    at = end + 1;
  }
  return result;
}

bool ReferenceResolver::add_target(const Value& target, bool alone, const Value& from,
                                   const std::string& path, Result& result) {
  copied_ += alone ? size_of(target) : 1;
  if (copied_ > kMostCopies || result.text.size() > kLongestText) {
    report(from, path, "references make this config too large");
    return false;
  }
  if (alone) {
    result.whole = target;
    return true;
  }
  if (target.is_table() || target.is_array() || target.is_null()) {
    report(
        from, path,
        "bad reference: " + std::string(to_string(target.type())) + " cannot be part of a string");
    return false;
  }
  result.text += target.is_string() ? target.as_string() : to_toml(target);
  return true;
}

const Value* ReferenceResolver::target(const std::string& name, const Value& from,
                                       const std::string& path) {
  Value* found = nullptr;
  try {
    found = name.empty() ? nullptr : root_.find_path(name);
  } catch (const Error& error) {
    report(from, path, "bad reference: " + error.message(), error.hint());
    return nullptr;
  }
  if (found == nullptr) {
    report_missing(name, from, path);
    return nullptr;
  }
  resolve(*found, name);
  return failed_.contains(found) ? nullptr : found;
}

}  // namespace

std::vector<Origin> resolve_references(Value& root, const std::vector<std::string>& skipped,
                                       Diagnostics& diagnostics) {
  ReferenceResolver resolver(root, diagnostics);
  for (Value::Member& member : root.members()) {
    if (std::find(skipped.begin(), skipped.end(), member.key) == skipped.end()) {
      resolver.resolve(member.value, joined_path("", member.key));
    }
  }
  return resolver.failed_locations();
}

namespace {

void add_targets(const std::string& text, std::vector<std::string>& targets) {
  for (std::size_t at = text.find("${"); at != std::string::npos; at = text.find("${", at + 2)) {
    const std::size_t end = text.find('}', at);
    const bool escaped = at > 0 && text[at - 1] == '$';
    if (!escaped && end != std::string::npos) targets.push_back(text.substr(at + 2, end - at - 2));
  }
}

void list_targets(const Value& value, std::vector<std::string>& targets) {
  if (value.is_string()) add_targets(value.as_string(), targets);
  if (value.is_array()) {
    for (const Value& item : value.items()) list_targets(item, targets);
  }
  if (!value.is_table()) return;
  for (const Value::Member& member : value.members()) list_targets(member.value, targets);
}

constexpr std::string_view kConfigDir = "${config_dir}";

std::string escaped(std::string text) {
  for (std::size_t at = text.find("${"); at != std::string::npos; at = text.find("${", at + 3)) {
    text.insert(at, "$");
  }
  return text;
}

std::string with_config_dir(std::string text, const std::string& dir) {
  for (std::size_t at = text.find("${"); at != std::string::npos; at = text.find("${", at)) {
    const bool is_plain = at > 0 && text[at - 1] == '$';
    if (is_plain || text.compare(at, kConfigDir.size(), kConfigDir) != 0) {
      at += 2;
      continue;
    }
    text.replace(at, kConfigDir.size(), dir);
    at += dir.size();
  }
  return text;
}

}  // namespace

std::vector<std::string> reference_targets(const Value& value) {
  std::vector<std::string> targets;
  list_targets(value, targets);
  return targets;
}

void set_config_dir(Value& file, const std::string& dir) {
  if (file.is_string()) {
    if (file.as_string().find(kConfigDir) == std::string::npos) return;
    const Origin origin = file.origin();
    file = with_config_dir(file.as_string(), escaped(dir));
    file.set_origin(origin);
  }
  if (file.is_array()) {
    for (Value& item : file.items()) set_config_dir(item, dir);
  }
  if (!file.is_table()) return;
  for (Value::Member& member : file.members()) set_config_dir(member.value, dir);
}

void escape_references(Value& value) {
  if (value.is_string()) {
    std::string text = escaped(value.as_string());
    const Origin origin = value.origin();
    value = text;
    value.set_origin(origin);
  }
  if (value.is_array()) {
    for (Value& item : value.items()) escape_references(item);
  }
  if (!value.is_table()) return;
  for (Value::Member& member : value.members()) escape_references(member.value);
}

}  // namespace trivet
