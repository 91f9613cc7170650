// SPDX-License-Identifier: Apache-2.0
// The check of inputs finds each broken promise, and nothing in an input that keeps them.
#include "trivet/testing/input_check.h"

#include <memory>
#include <optional>
#include <string>

#include <catch2/catch.hpp>

#include "trivet/error.h"

namespace input_check_test {

using namespace trivet;
using Catch::Contains;

namespace {

enum class Fault {
  none,
  empty,
  random,
  no_reset,
  half_saved,
  half_restored,
  more_after_end,
  wrong_count,
  rows,
  weight_shape,
  negative_weight,
};

int made = 0;  // inputs so far

// Three batches of one number: 0, 1, 3 (the sum of the positions before).
class Sums final : public Input {
 public:
  explicit Sums(Fault fault) : fault_(fault), number_(made++) {}

  std::optional<Batch> get_next() override {
    if (fault_ == Fault::empty) return std::nullopt;
    if (position_ == 3) {
      if (fault_ == Fault::more_after_end) position_ = 0;
      return std::nullopt;
    }
    Tensor x = Tensor::host({fault_ == Fault::rows && position_ == 2 ? 1 : 2});
    for (float& value : x.mutable_span<float>()) {
      value = static_cast<float>(sum_ + (fault_ == Fault::random ? number_ : 0));
    }
    Tensor weight = fault_ == Fault::weight_shape ? Tensor::host({2, 1}) : Tensor::host({2});
    for (float& value : weight.mutable_span<float>()) {
      value = fault_ == Fault::negative_weight ? -1.0F : 1.0F;
    }
    sum_ += ++position_;
    return Batch{{"x", x}, {"weight", weight}};
  }
  void reset() override {
    position_ = 0;
    if (fault_ != Fault::no_reset) sum_ = 0;
  }
  Value save_state() const override {
    return Value::table({{"position", position_}, {"sum", fault_ == Fault::half_saved ? 0 : sum_}});
  }
  void restore_state(const Value& state) override {
    position_ = state.at("position", "sums").as_integer();
    if (fault_ == Fault::half_restored) {
      sum_ += state.at("sum", "sums").as_integer();
    } else {
      sum_ = state.at("sum", "sums").as_integer();
    }
  }
  std::optional<std::int64_t> batches_per_epoch() const override {
    return fault_ == Fault::wrong_count ? 4 : 3;
  }

 private:
  Fault fault_;
  std::int64_t number_, position_ = 0, sum_ = 0;
};

std::string problems(Fault fault, const testing::InputCheckOptions& options = {}) {
  return testing::check_input([fault] { return std::make_unique<Sums>(fault); }, 2, options);
}

}  // namespace

TEST_CASE("an input that keeps its promises passes the check, whole or in part") {
  CHECK(problems(Fault::none) == "");
  CHECK(problems(Fault::none, {.batches = 2}) == "");
  CHECK(problems(Fault::no_reset, {.resets = false}) == "");
}

TEST_CASE("each broken promise of an input is named") {
  CHECK_THROWS_AS(problems(Fault::empty), Error);
  CHECK_THAT(problems(Fault::random), Contains("another input of the config has another batch 0"));
  CHECK_THAT(problems(Fault::no_reset), Contains("after reset() there is another batch 0"));
  CHECK_THAT(problems(Fault::half_saved), Contains("restored after 2 there is another batch 2"));
  const std::string used = problems(Fault::half_restored);
  CHECK_THAT(used, Contains("in a used input, restored after 1 there is another batch 1"));
  CHECK_THAT(used, !Contains("\nrestored after"));
  CHECK_THAT(problems(Fault::more_after_end), Contains("a batch follows the end of the data"));
  CHECK_THAT(problems(Fault::wrong_count), Contains("batches_per_epoch() is 4, but there are 3"));
  CHECK_THAT(problems(Fault::rows), Contains("batch 2: 'x' is f32 [1]"));
  CHECK_THAT(problems(Fault::weight_shape), Contains("batch 0: 'weight' is f32 [2, 1]"));
  CHECK_THAT(problems(Fault::negative_weight), Contains("negative values"));
}

}  // namespace input_check_test
