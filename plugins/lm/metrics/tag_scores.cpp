// SPDX-License-Identifier: Apache-2.0
#include "lm/metrics/tag_scores.h"

#include <algorithm>
#include <utility>

#include "lm/metrics/entities.h"
#include "trivet/ops/host_array.h"

namespace trivet::lm {

TagScores::TagScores(std::vector<std::string> names)
    : names_(std::move(names)),
      mark_entities_(mark_entities(names_)),
      counts_(std::ssize(names_)) {}

void TagScores::update_state(const Batch& batch, const NestedMap& outputs) {
  const Tensor* argmax = outputs.find("per_example_argmax");
  if (argmax == nullptr) return;
  any_ = true;
  const HostArray<std::int32_t> told(*argmax), tags(batch.at("tags"));
  const HostArray<float> weights(batch.at("weights"));
  const std::int64_t positions = argmax->dim(1);
  for (std::int64_t row = 0; row < argmax->dim(0); ++row) {
    std::vector<std::string_view> true_names, told_names;
    for (std::int64_t i = row * positions; i < (row + 1) * positions; ++i) {
      if (weights[i] == 0 || tags[i] < 0) continue;
      counts_.add(tags[i], told[i]);
      true_names.emplace_back(names_.at(static_cast<std::size_t>(tags[i])));
      told_names.emplace_back(names_.at(static_cast<std::size_t>(told[i])));
    }
    if (mark_entities_) add_entities(true_names, told_names);
  }
}

void TagScores::add_entities(const std::vector<std::string_view>& truth,
                             const std::vector<std::string_view>& told) {
  const std::vector<Entity> there = entities_of(truth), found = entities_of(told);
  true_ += static_cast<double>(there.size());
  told_ += static_cast<double>(found.size());
  right_ += static_cast<double>(std::ranges::count_if(found, [&](const Entity& entity) {
    return std::ranges::find(there, entity) != there.end();
  }));
}

Logs TagScores::result() const {
  Logs logs;
  if (!any_) return logs;
  logs.set("accuracy", counts_.accuracy());
  if (!mark_entities_) {
    logs.set("macro_f1", counts_.macro_f1());
    return logs;
  }
  logs.set("precision", told_ > 0 ? right_ / told_ : 0);
  logs.set("recall", true_ > 0 ? right_ / true_ : 0);
  logs.set("f1", told_ + true_ > 0 ? 2 * right_ / (told_ + true_) : 0);
  return logs;
}

void TagScores::reset_state() {
  counts_ = ClassCounts(counts_.classes());
  any_ = false;
  right_ = told_ = true_ = 0;
}

Value TagScores::save_state() const {
  return Value::table({{"counts", counts_.save_state()},
                       {"any", any_},
                       {"right", right_},
                       {"told", told_},
                       {"true", true_}});
}

void TagScores::restore_state(const Value& state) {
  const auto member = [&](const char* name) -> const Value& {
    return state.at(name, "the saved state of the tag metrics");
  };
  counts_.restore_state(member("counts"));
  any_ = member("any").as_boolean();
  right_ = member("right").as_float();
  told_ = member("told").as_float();
  true_ = member("true").as_float();
}

void TagScores::merge(const Value& state) {
  TagScores other(names_);
  other.restore_state(state);
  counts_.merge(other.counts_.save_state());
  any_ = any_ || other.any_;
  right_ += other.right_;
  told_ += other.told_;
  true_ += other.true_;
}

}  // namespace trivet::lm
