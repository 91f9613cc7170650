// SPDX-License-Identifier: Apache-2.0
// SearchSpace: which values a search for hyper-parameters may give to which keys of a config. In
// TOML a table from config path to dimension:
//
//   space."trainer.learning_rate"     = { log_uniform = [1e-5, 1e-1] }
//   space."task.model.dropout"        = { uniform = [0.0, 0.5] }
//   space."task.model.hidden_dims"    = { log_int = [16, 512] }
//   space."task.train_input.batch_size" = { int = [32, 256], step = 32 }
//   space."task.model.activation"     = { choice = ["nn/Relu", "nn/Gelu"] }
//   space."task.metrics"              = { manyof = ["a/X", "b/Y", "c/Z"], num_choices = 2 }
//   space."task.model.order"          = { permutate = [0, 1, 2] }
//
// A key may exist only under conditions on other keys, which may have conditions themselves:
//
//   space."task.model.type"        = { choice = ["vision/Mlp", "vision/Cnn"] }
//   space."task.model.kernel_size" = { int = [2, 7], when = { "task.model.type" = "vision/Cnn" } }
//
// Samplers work on the unit cube, one coordinate in [0, 1] a dimension, whatever its type. A key
// with manyof or permutate has a list, and a dimension for each of its elements; any other key has
// one dimension.
//
//   uniform      low + u (high - low)
//   log_uniform  exp(log low + u (log high - log low))
//   int          the line is cut into cells of equal width, one a value
//   log_int      exp(..) of log(low - 1/2) .. log(high + 1/2), rounded: cells of equal ratio
//   choice       cells of equal width; their order means nothing
//   manyof, permutate
//                for element i cells of equal width, one for each of the n candidates; with
//                choices_distinct one for each of the n - i that no earlier element has
//   (a key that a point does not have has the middle, 0.5)
//
// Spaces are values: copy them. All functions may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/config/value.h"

namespace trivet::search {

// Config path -> value, in the order of the space.
using SearchPoint = std::vector<std::pair<std::string, Value>>;

// Exactly one of the first seven is set. Bounds belong to the range. manyof and permutate are those
// of PyGlove (pg.manyof, pg.permutate): a list of num_choices candidates, by default of different
// ones, and with choices_sorted in the order of the candidates; a list of all in any order.
struct TRIVET_API DimensionConfig {
  std::optional<std::vector<double>> uniform{};
  std::optional<std::vector<double>> log_uniform{};
  std::optional<std::vector<std::int64_t>> int_{};
  std::optional<std::vector<std::int64_t>> log_int{};
  std::optional<std::vector<Value>> choice{};
  std::optional<std::vector<Value>> manyof{};
  std::optional<std::vector<Value>> permutate{};
  std::optional<std::int64_t> num_choices{};
  std::optional<bool> choices_distinct{};
  std::optional<bool> choices_sorted{};
  std::optional<std::int64_t> step{};
  Map<Value> when{};

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(DimensionConfig, trivet::NoBase, (uniform, "[low, high]: any number between them."),
              (log_uniform, "[low, high]: any number, every order of magnitude as likely."),
              (int_, "[low, high]: any integer from low to high."),
              (log_int, "[low, high]: any integer, every order of magnitude as likely."),
              (choice, "List of values of any type; their order has no meaning."),
              (manyof, "Candidates of any type: the key has a list of num_choices of them."),
              (permutate, "Candidates of any type: the key has a list of all, in any order."),
              (num_choices, "manyof: how many candidates the list has.", between(1, 64)),
              (choices_distinct,
               "manyof: whether a candidate is in the list once at most. Default: true."),
              (choices_sorted,
               "manyof: whether the list keeps the order of the candidates, so that sets are "
               "searched. Default: false."),
              (step, "int: only low, low + step, low + 2 step, ...", at_least(1)),
              (when,
               "Conditions: other keys of the space with a value, or a list of values. A trial has "
               "this key only if each of them has such a value. Default: every trial has it."))

// What is wrong with the conditions of the dimensions: an unknown key, a value that it cannot have,
// a circle. The fields are named below `path`.
TRIVET_API void check_conditions(const Map<DimensionConfig>& dimensions, std::string_view path,
                                 Diagnostics& diagnostics);

class TRIVET_API Dimension {
 public:
  // `slot`: the element that the dimension is of, in a list. Throws ConfigError for a config that
  // validate() refuses.
  Dimension(std::string path, DimensionConfig config, std::size_t slot = 0);

  const std::string& path() const noexcept { return path_; }
  bool is_continuous() const noexcept { return count_ == 0; }
  bool is_categorical() const noexcept { return config_.choice.has_value() || is_list(); }
  // The value of the key is a list, which the dimensions slot() = 0, 1, .. slots() - 1 of this path
  // choose together.
  bool is_list() const noexcept { return config_.manyof || config_.permutate; }
  std::size_t slot() const noexcept { return slot_; }
  std::size_t slots() const noexcept { return slots_; }
  // How many values there are; 0 for a continuous dimension.
  std::int64_t count() const noexcept { return count_; }

  // Of a coordinate; what lies outside [0, 1] is moved to the nearer end. Throws Error for an
  // element of a list, which list() makes.
  Value value(double unit) const;
  // The list of a key, of the coordinates of all its dimensions.
  Value list(std::span<const double> units) const;
  // The coordinate of a value (of a list: that of this element), of several that give it the
  // middle. Throws Error for a value that the key does not have.
  double unit(const Value& value) const;
  // Of the coordinates with the same value as `unit`, the one that unit() gives.
  double middle(double unit) const;
  // The coordinates that give the same value, as [first, last]; those of a continuous dimension are
  // single points.
  std::pair<double, double> cell(double unit) const;
  bool has(const Value& value) const;
  // The keys of its conditions.
  std::vector<std::string> conditioned_on() const;
  // "log_uniform = [1e-05, 0.1]", for messages.
  std::string text() const;

 private:
  enum class Scale { linear, log };

  std::int64_t cell_index(double unit) const;
  std::int64_t integer_at(double unit) const;
  double coordinate(double x) const;

  const std::vector<Value>& candidates() const;  // of a list

  std::string path_;
  DimensionConfig config_;
  std::size_t slot_ = 0, slots_ = 1;
  Scale scale_ = Scale::linear;
  std::int64_t count_ = 0;
  std::int64_t first_ = 0, step_ = 1;  // of integers
  double low_ = 0, high_ = 1;          // of the scale: logarithms where it is one
};

class TRIVET_API SearchSpace {
 public:
  // Throws ConfigError for a dimension or condition that is not valid, and when there is none.
  explicit SearchSpace(const Map<DimensionConfig>& dimensions);

  std::size_t size() const noexcept { return dimensions_.size(); }
  const std::vector<Dimension>& dimensions() const noexcept { return dimensions_; }

  // Whether a dimension has conditions.
  bool is_conditional() const noexcept { return conditional_; }
  // The first dimension of each key, which alone messages are to name.
  std::vector<const Dimension*> keys() const;
  // Whether the point at these coordinates has each of the dimensions.
  std::vector<bool> active(std::span<const double> unit) const;
  // The dimensions by their conditions: those of a group are all in a point, or none of them is.
  std::vector<std::vector<std::size_t>> groups() const;

  // `unit` has a coordinate for each dimension. Coordinates of dimensions that the point does not
  // have mean nothing.
  SearchPoint point(std::span<const double> unit) const;
  // The coordinates of a point, whose pairs may have any order. Throws Error when a key is
  // missing, a key is none of the space or one that the point cannot have, or a value none of its
  // dimension.
  std::vector<double> unit(const SearchPoint& point) const;

 private:
  struct Condition {
    std::size_t of = 0;  // dimension
    std::vector<Value> values{};

    friend bool operator==(const Condition&, const Condition&) = default;
  };
  using Conditions = std::vector<Condition>;

  template <class ValueOf>
  bool holds(std::size_t dimension, const std::vector<bool>& active, const ValueOf& value_of) const;

  std::vector<Dimension> dimensions_;
  std::vector<Conditions> conditions_;  // of each dimension
  std::vector<std::size_t> order_;      // of the dimensions, after those of their conditions
  bool conditional_ = false;
};

}  // namespace trivet::search
