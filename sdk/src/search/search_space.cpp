// SPDX-License-Identifier: Apache-2.0
#include "trivet/search/search_space.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "search/condition_values.h"
#include "search/list_choice.h"
#include "trivet/config/schema.h"

namespace trivet::search {
namespace {

// Up to here a logarithm in double still tells integers apart, with three digits to spare.
constexpr std::int64_t kLargestInteger = std::int64_t{1} << 40;

constexpr std::size_t kLongestList = 64;

enum class Scale { linear, logarithmic };

// Whether `range` is a pair in order; says why not.
template <class T>
bool is_range(Diagnostics& diagnostics, std::string_view field, const std::vector<T>& range) {
  if (range.size() != 2) {
    diagnostics.add(field, "must be [low, high], has " + std::to_string(range.size()) + " numbers");
    return false;
  }
  if (range[0] < range[1]) return true;
  diagnostics.add(field, "low must be less than high, is " + to_toml(Value::array_of(range)));
  return false;
}

void check_numbers(Diagnostics& diagnostics, std::string_view field,
                   const std::vector<double>& range, Scale scale) {
  const auto is_finite = [](double x) { return std::isfinite(x); };
  if (!std::all_of(range.begin(), range.end(), is_finite)) {
    return diagnostics.add(field, "bounds must be finite, are " + to_toml(Value::array_of(range)));
  }
  if (!is_range(diagnostics, field, range)) return;
  if (scale == Scale::logarithmic && range[0] <= 0) {
    diagnostics.add(field,
                    "low must be more than 0 on a logarithmic scale, is " + to_toml(range[0]),
                    "use uniform for ranges that reach zero");
  } else if (!std::isfinite(range[1] - range[0])) {
    diagnostics.add(field, "is too wide for a number to hold");
  }
}

void check_integers(Diagnostics& diagnostics, std::string_view field,
                    const std::vector<std::int64_t>& range, Scale scale) {
  if (!is_range(diagnostics, field, range)) return;
  if (scale == Scale::logarithmic && range[0] < 1) {
    diagnostics.add(field,
                    "low must be at least 1 on a logarithmic scale, is " + std::to_string(range[0]),
                    "use int for ranges that reach zero");
  } else if (range[0] < -kLargestInteger || range[1] > kLargestInteger) {
    diagnostics.add(field, "bounds must lie between -2^40 and 2^40");
  }
}

void check_choices(Diagnostics& diagnostics, std::string_view field,
                   const std::vector<Value>& values) {
  if (values.empty()) return diagnostics.add(field, "must list at least one value");
  for (auto value = values.begin(); value != values.end(); ++value) {
    if (value->is_null()) return diagnostics.add(field, "has an empty value");
    if (std::find(values.begin(), value, *value) == value) continue;
    return diagnostics.add(field, to_toml(*value) + " is listed twice");
  }
}

// What is wrong with manyof, permutate and their fields.
void check_lists(const DimensionConfig& config, Diagnostics& diagnostics) {
  if (!config.manyof) {
    const auto refuse = [&](const char* field, bool is_set) {
      if (is_set) diagnostics.add(field, "is for manyof only");
    };
    refuse("num_choices", config.num_choices.has_value());
    refuse("choices_distinct", config.choices_distinct.has_value());
    refuse("choices_sorted", config.choices_sorted.has_value());
    if (config.permutate && config.permutate->size() > kLongestList) {
      diagnostics.add("permutate",
                      "has " + std::to_string(config.permutate->size()) + " candidates",
                      "a search orders at most " + std::to_string(kLongestList));
    }
    return;
  }
  if (!config.num_choices) {
    return diagnostics.add("num_choices", "is required with manyof", "the length of the list");
  }
  const auto candidates = static_cast<std::int64_t>(config.manyof->size());
  if (config.choices_distinct.value_or(true) && *config.num_choices > candidates) {
    diagnostics.add("num_choices",
                    "is " + std::to_string(*config.num_choices) + ", and manyof has " +
                        std::to_string(candidates) + " candidates",
                    "list more, or set choices_distinct = false");
  }
}

ListRule rule_of(const DimensionConfig& config) {
  if (config.permutate) return {.size = config.permutate->size()};
  return {.size = static_cast<std::size_t>(config.num_choices.value_or(0)),
          .repeats = config.choices_distinct.value_or(true) ? Repeats::refused : Repeats::allowed,
          .order = config.choices_sorted.value_or(false) ? ListOrder::sorted : ListOrder::any};
}

// The values of a continuous, integer or categorical key, for messages.
std::string range_text(const DimensionConfig& config) {
  const auto text = [](const char* kind, const auto& values) {
    return std::string(kind) + " = " + to_toml(Value::array_of(*values));
  };
  if (config.uniform) return text("uniform", config.uniform);
  if (config.log_uniform) return text("log_uniform", config.log_uniform);
  if (config.log_int) return text("log_int", config.log_int);
  if (config.choice) return text("choice", config.choice);
  if (config.permutate) return text("permutate", config.permutate);
  if (config.manyof) return text("manyof", config.manyof);
  return text("int", config.int_);
}

}  // namespace

void DimensionConfig::validate(Diagnostics& diagnostics) const {
  const int given = uniform.has_value() + log_uniform.has_value() + int_.has_value() +
                    log_int.has_value() + choice.has_value() + manyof.has_value() +
                    permutate.has_value();
  if (given != 1) {
    diagnostics.add(
        "", given == 0 ? "sets no values" : "sets more than one kind of values",
        "set exactly one of uniform, log_uniform, int, log_int, choice, manyof and permutate");
    return;
  }
  if (uniform) check_numbers(diagnostics, "uniform", *uniform, Scale::linear);
  if (log_uniform) check_numbers(diagnostics, "log_uniform", *log_uniform, Scale::logarithmic);
  if (int_) check_integers(diagnostics, "int", *int_, Scale::linear);
  if (log_int) check_integers(diagnostics, "log_int", *log_int, Scale::logarithmic);
  if (choice) check_choices(diagnostics, "choice", *choice);
  if (manyof) check_choices(diagnostics, "manyof", *manyof);
  if (permutate) check_choices(diagnostics, "permutate", *permutate);
  check_lists(*this, diagnostics);
  if (!step) return;
  if (!int_) return diagnostics.add("step", "is for int only");
  if (int_->size() == 2 && (*int_)[0] < (*int_)[1] && *step > (*int_)[1] - (*int_)[0]) {
    diagnostics.add("step",
                    "is wider than the range: only " + std::to_string((*int_)[0]) + " is left",
                    "make it less, or give the key that value without searching");
  }
}

Dimension::Dimension(std::string path, DimensionConfig config, std::size_t slot)
    : path_(std::move(path)), config_(std::move(config)), slot_(slot) {
  Diagnostics diagnostics;
  const Value table = Value::table();
  {
    const Diagnostics::Inside inside(diagnostics, joined_path("space", path_), table);
    config_.validate(diagnostics);
  }
  diagnostics.throw_if_any();
  if (config_.uniform) {
    low_ = config_.uniform->front();
    high_ = config_.uniform->back();
  } else if (config_.log_uniform) {
    scale_ = Scale::log;
    low_ = std::log(config_.log_uniform->front());
    high_ = std::log(config_.log_uniform->back());
  } else if (config_.int_) {
    first_ = config_.int_->front();
    step_ = config_.step.value_or(1);
    count_ = (config_.int_->back() - first_) / step_ + 1;
  } else if (config_.log_int) {
    scale_ = Scale::log;
    first_ = config_.log_int->front();
    count_ = config_.log_int->back() - first_ + 1;
    low_ = std::log(static_cast<double>(first_) - 0.5);
    high_ = std::log(static_cast<double>(config_.log_int->back()) + 0.5);
  } else if (config_.choice) {
    count_ = static_cast<std::int64_t>(config_.choice->size());
  } else {
    const ListRule rule = rule_of(config_);
    slots_ = rule.size;
    count_ = static_cast<std::int64_t>(cells_of(rule, candidates().size(), slot_));
  }
}

const std::vector<Value>& Dimension::candidates() const {
  return config_.manyof ? *config_.manyof : *config_.permutate;
}

double Dimension::coordinate(double x) const {
  const double scaled = scale_ == Scale::log ? std::log(x) : x;
  return std::clamp((scaled - low_) / (high_ - low_), 0.0, 1.0);
}

std::int64_t Dimension::cell_index(double unit) const {
  const auto cells = static_cast<double>(count_);
  return static_cast<std::int64_t>(std::clamp(std::floor(unit * cells), 0.0, cells - 1));
}

std::int64_t Dimension::integer_at(double unit) const {
  if (scale_ == Scale::linear) return first_ + cell_index(unit) * step_;
  const double scaled = std::exp(low_ + std::clamp(unit, 0.0, 1.0) * (high_ - low_));
  return std::clamp(static_cast<std::int64_t>(std::llround(scaled)), first_, first_ + count_ - 1);
}

Value Dimension::value(double unit) const {
  if (is_list()) throw Error("a value of the search is a list", {.path = path_});
  if (is_categorical()) return (*config_.choice)[static_cast<std::size_t>(cell_index(unit))];
  if (!is_continuous()) return integer_at(unit);
  const auto& range = config_.uniform ? *config_.uniform : *config_.log_uniform;
  const double scaled = low_ + std::clamp(unit, 0.0, 1.0) * (high_ - low_);
  return std::clamp(scale_ == Scale::log ? std::exp(scaled) : scaled, range[0], range[1]);
}

Value Dimension::list(std::span<const double> units) const {
  const ListRule rule = rule_of(config_);
  std::vector<std::size_t> cells;
  for (const double unit : units) {
    const auto count = static_cast<double>(cells_of(rule, candidates().size(), cells.size()));
    cells.push_back(static_cast<std::size_t>(std::clamp(std::floor(unit * count), 0.0, count - 1)));
  }
  Value list = Value::array();
  for (const std::size_t index : list_at(rule, candidates().size(), cells)) {
    list.push_back(candidates()[index]);
  }
  return list;
}

double Dimension::middle(double unit) const {
  if (!is_list()) return this->unit(value(unit));
  return (static_cast<double>(cell_index(unit)) + 0.5) / static_cast<double>(count_);
}

bool Dimension::has(const Value& value) const {
  if (is_list()) return list_in(rule_of(config_), candidates(), value).has_value();
  if (is_categorical()) {
    return std::find(config_.choice->begin(), config_.choice->end(), value) !=
           config_.choice->end();
  }
  if (!is_continuous()) {
    if (!value.is_integer() || value.as_integer() < first_) return false;
    if (value.as_integer() > kLargestInteger) return false;
    const std::int64_t offset = value.as_integer() - first_;
    return offset % step_ == 0 && offset / step_ < count_;
  }
  if (!value.is_float() && !value.is_integer()) return false;
  const auto& range = config_.uniform ? *config_.uniform : *config_.log_uniform;
  return value.as_float() >= range[0] && value.as_float() <= range[1];
}

double Dimension::unit(const Value& value) const {
  if (!has(value)) {
    throw Error(
        to_toml(value) + " is no value of this dimension of the search: " + text(),
        {.path = path_, .hint = "the space may have been changed since the trial was made"});
  }
  if (is_continuous()) return coordinate(value.as_float());
  if (scale_ == Scale::log) return coordinate(static_cast<double>(value.as_integer()));
  std::int64_t index = 0;
  if (is_list()) {
    const ListRule rule = rule_of(config_);
    index = static_cast<std::int64_t>(cell_in(rule, *list_in(rule, candidates(), value), slot_));
  } else if (is_categorical()) {
    index =
        std::find(config_.choice->begin(), config_.choice->end(), value) - config_.choice->begin();
  } else {
    index = (value.as_integer() - first_) / step_;
  }
  return (static_cast<double>(index) + 0.5) / static_cast<double>(count_);
}

std::pair<double, double> Dimension::cell(double unit) const {
  if (is_continuous()) return {unit, unit};
  if (scale_ == Scale::log) {
    const auto x = static_cast<double>(integer_at(unit));
    return {coordinate(x - 0.5), coordinate(x + 0.5)};
  }
  const auto index = static_cast<double>(cell_index(unit));
  const auto cells = static_cast<double>(count_);
  return {index / cells, (index + 1) / cells};
}

std::vector<std::string> Dimension::conditioned_on() const {
  std::vector<std::string> keys;
  for (const auto& entry : config_.when) keys.push_back(entry.first);
  return keys;
}

std::string Dimension::text() const {
  std::string text = range_text(config_);
  if (config_.num_choices) text += ", num_choices = " + std::to_string(*config_.num_choices);
  if (config_.choices_distinct) {
    text += ", choices_distinct = " + to_toml(*config_.choices_distinct);
  }
  if (config_.choices_sorted) text += ", choices_sorted = " + to_toml(*config_.choices_sorted);
  if (config_.step) text += ", step = " + std::to_string(*config_.step);
  std::string conditions;
  for (const auto& [path, value] : config_.when) {
    conditions += (conditions.empty() ? "" : ", ") + joined_path("", path) + " = " + to_toml(value);
  }
  return conditions.empty() ? text : text + ", when = {" + conditions + "}";
}

SearchSpace::SearchSpace(const Map<DimensionConfig>& dimensions) {
  if (dimensions.empty()) {
    throw ConfigError(Diagnostic{.where = {},
                                 .path = "space",
                                 .what = "there is nothing to search",
                                 .hint = "space.\"trainer.learning_rate\" = { log_uniform = [1e-5, "
                                         "1e-1] }"});
  }
  for (const auto& [path, config] : dimensions) {
    dimensions_.emplace_back(path, config);
    const std::size_t slots = dimensions_.back().slots();
    for (std::size_t slot = 1; slot < slots; ++slot) dimensions_.emplace_back(path, config, slot);
  }
  Diagnostics diagnostics;
  check_conditions(dimensions, "space", diagnostics);
  diagnostics.throw_if_any();
  const auto index_of = [&](const std::string& path) {
    const auto found = std::find_if(dimensions_.begin(), dimensions_.end(),
                                    [&](const Dimension& one) { return one.path() == path; });
    return static_cast<std::size_t>(found - dimensions_.begin());
  };
  for (const Dimension& dimension : dimensions_) {
    Conditions& conditions = conditions_.emplace_back();
    for (const auto& [on, value] : dimensions.find(dimension.path())->when) {
      conditions.push_back({index_of(on), condition_values(value)});
    }
    conditional_ = conditional_ || !conditions.empty();
  }
  std::vector<bool> placed(dimensions_.size());
  while (order_.size() < dimensions_.size()) {
    for (std::size_t i = 0; i < dimensions_.size(); ++i) {
      const bool is_next = std::all_of(conditions_[i].begin(), conditions_[i].end(),
                                       [&](const Condition& one) { return placed[one.of]; });
      if (placed[i] || !is_next) continue;
      placed[i] = true;
      order_.push_back(i);
    }
  }
}

std::vector<const Dimension*> SearchSpace::keys() const {
  std::vector<const Dimension*> keys;
  for (const Dimension& dimension : dimensions_) {
    if (dimension.slot() == 0) keys.push_back(&dimension);
  }
  return keys;
}

// `value_of`: the value of an active dimension.
template <class ValueOf>
bool SearchSpace::holds(std::size_t dimension, const std::vector<bool>& active,
                        const ValueOf& value_of) const {
  const Conditions& conditions = conditions_[dimension];
  return std::all_of(conditions.begin(), conditions.end(), [&](const Condition& one) {
    if (!active[one.of]) return false;
    return std::find(one.values.begin(), one.values.end(), value_of(one.of)) != one.values.end();
  });
}

std::vector<bool> SearchSpace::active(std::span<const double> unit) const {
  std::vector<bool> active(dimensions_.size());
  for (const std::size_t i : order_) {
    active[i] = holds(i, active, [&](std::size_t of) { return dimensions_[of].value(unit[of]); });
  }
  return active;
}

std::vector<std::vector<std::size_t>> SearchSpace::groups() const {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return conditions_[group.front()] == conditions_[i];
    });
    if (found == groups.end()) {
      groups.push_back({i});
    } else {
      found->push_back(i);
    }
  }
  return groups;
}

SearchPoint SearchSpace::point(std::span<const double> unit) const {
  const std::vector<bool> active = this->active(unit);
  SearchPoint point;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    const Dimension& dimension = dimensions_[i];
    if (!active[i] || dimension.slot() > 0) continue;
    point.emplace_back(dimension.path(), dimension.is_list()
                                             ? dimension.list(unit.subspan(i, dimension.slots()))
                                             : dimension.value(unit[i]));
  }
  return point;
}

std::vector<double> SearchSpace::unit(const SearchPoint& point) const {
  constexpr double kNone = 0.5;
  std::vector<double> unit(dimensions_.size(), kNone);
  std::vector<bool> active(dimensions_.size());
  std::vector<const Value*> values(dimensions_.size(), nullptr);
  for (const std::size_t i : order_) {
    const Dimension& dimension = dimensions_[i];
    const auto found = std::find_if(point.begin(), point.end(), [&](const auto& entry) {
      return entry.first == dimension.path();
    });
    active[i] = holds(i, active, [&](std::size_t of) { return *values[of]; });
    if (found != point.end() && !active[i]) {
      throw Error("a trial of the search has a value for this key, whose conditions do not hold",
                  {.path = dimension.path()});
    }
    if (!active[i]) continue;
    if (found == point.end()) {
      throw Error("a trial of the search has no value for this key", {.path = dimension.path()});
    }
    values[i] = &found->second;
    unit[i] = dimension.unit(found->second);
  }
  std::ptrdiff_t has = 0;
  for (std::size_t i = 0; i < active.size(); ++i) has += active[i] && dimensions_[i].slot() == 0;
  if (std::ssize(point) == has) return unit;
  for (const auto& [path, value] : point) {
    const auto has_path = [&path = path](const Dimension& d) { return d.path() == path; };
    if (std::any_of(dimensions_.begin(), dimensions_.end(), has_path)) continue;
    throw Error("a trial of the search sets a key that is not in its space", {.path = path});
  }
  throw Error("a trial of the search sets a key twice");
}

}  // namespace trivet::search
