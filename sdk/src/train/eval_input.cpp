// SPDX-License-Identifier: Apache-2.0
#include "trivet/train/eval_input.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace trivet {
namespace {

// It is a folder and part of a metric's name.
bool is_good_name(std::string_view name) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= 100 && std::all_of(name.begin(), name.end(), is_good);
}

}  // namespace

void EvalInputConfig::validate(Diagnostics& diagnostics) const {
  if (!is_good_name(name)) {
    diagnostics.add("name", "must be 1 to 100 letters, digits, '_' and '-'",
                    "for example \"test\"");
  }
  if (name == "train" || name == "eval") {
    diagnostics.add("name", "'" + name + "' is the prefix of all metrics of that kind",
                    "choose another name");
  }
  if (steps == 0) diagnostics.add("steps", "must be at least 1, or -1 for all batches");
  const bool decodes = program == EvalProgram::decode;
  if (!decodes && num_samples != 1) {
    diagnostics.add("num_samples", "counts decoded texts, and this program decodes none",
                    "set program = \"decode\", or remove it");
  }
  if (!decodes && !text_metrics.empty()) {
    diagnostics.add("text_metrics", "score decoded texts, and this program decodes none",
                    "set program = \"decode\"; task.metrics are for evaluations");
  }
}

void check_eval_input_names(const Value* sets, const std::string& path, Diagnostics& diagnostics) {
  if (sets == nullptr || !sets->is_array()) return;
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < sets->items().size(); ++i) {
    const Value& set = sets->items()[i];
    const Value* name = set.is_table() ? set.find("name") : nullptr;
    if (name == nullptr || !name->is_string()) continue;
    const auto [first, is_new] = seen.emplace(name->as_string(), i);
    if (is_new) continue;
    diagnostics.add(joined_path(path, i) + ".name",
                    "is '" + name->as_string() + "', and so is that of eval_inputs[" +
                        std::to_string(first->second) + "]",
                    "give every set its own name");
  }
}

}  // namespace trivet
