// SPDX-License-Identifier: Apache-2.0
// The conditions of a search space: the keys and values that they name, and circles.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "search/condition_values.h"
#include "trivet/config/schema.h"
#include "trivet/search/search_space.h"

namespace trivet::search {
namespace {

// Nothing for a config that is not valid, which is reported elsewhere.
std::optional<Dimension> dimension_of(const std::string& path, const DimensionConfig& config) {
  try {
    return Dimension(path, config);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

class ConditionCheck {
 public:
  ConditionCheck(const Map<DimensionConfig>& dimensions, std::string_view path,
                 Diagnostics& diagnostics)
      : dimensions_(dimensions), path_(path), diagnostics_(diagnostics) {}

  void check() {
    for (const auto& [key, config] : dimensions_) {
      for (const auto& [on, value] : config.when) check(key, on, value);
    }
    std::vector<std::string> done, chain;
    for (const auto& entry : dimensions_) {
      if (!follow(entry.first, chain, done)) return;
    }
  }

 private:
  std::string field(const std::string& key, const std::string& on) const {
    return joined_path(joined_path(path_, key) + ".when", on);
  }

  void check(const std::string& key, const std::string& on, const Value& value) {
    const DimensionConfig* found = dimensions_.find(on);
    if (found == nullptr) {
      std::vector<std::string> others;
      for (const auto& entry : dimensions_) {
        if (entry.first != key) others.push_back(entry.first);
      }
      const std::string near = suggestion(on, others);
      return diagnostics_.add(field(key, on), "'" + on + "' is not searched",
                              near.empty() ? "a condition names another key of the space" : near);
    }
    const std::optional<Dimension> dimension = dimension_of(on, *found);
    if (!dimension) return;
    if (dimension->is_continuous()) {
      return diagnostics_.add(field(key, on), "'" + on + "' may have any number",
                              "a condition names a key with choice, int or log_int");
    }
    if (dimension->is_list()) {
      return diagnostics_.add(field(key, on), "'" + on + "' has lists",
                              "a condition names a key with choice, int or log_int");
    }
    const std::vector<Value> values = condition_values(value);
    if (values.empty()) return diagnostics_.add(field(key, on), "lists no value");
    for (const Value& one : values) {
      if (dimension->has(one)) continue;
      diagnostics_.add(field(key, on), to_toml(one) + " is no value of '" + on + "'",
                       "its values: " + dimension->text());
    }
  }

  // Depth first through the conditions; false once a circle has been reported.
  bool follow(const std::string& key, std::vector<std::string>& chain,
              std::vector<std::string>& done) {
    if (std::find(done.begin(), done.end(), key) != done.end()) return true;
    const auto first = std::find(chain.begin(), chain.end(), key);
    if (first != chain.end()) {
      std::string text;
      for (auto link = first; link != chain.end(); ++link) text += *link + " -> ";
      diagnostics_.add(field(chain.back(), key), "conditions wait for each other: " + text + key);
      return false;
    }
    const DimensionConfig* found = dimensions_.find(key);
    if (found == nullptr) return true;
    chain.push_back(key);
    for (const auto& entry : found->when) {
      if (!follow(entry.first, chain, done)) return false;
    }
    chain.pop_back();
    done.push_back(key);
    return true;
  }

  const Map<DimensionConfig>& dimensions_;
  const std::string path_;
  Diagnostics& diagnostics_;
};

}  // namespace

void check_conditions(const Map<DimensionConfig>& dimensions, std::string_view path,
                      Diagnostics& diagnostics) {
  ConditionCheck(dimensions, path, diagnostics).check();
}

}  // namespace trivet::search
