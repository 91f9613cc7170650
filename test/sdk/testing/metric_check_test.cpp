// SPDX-License-Identifier: Apache-2.0
// The check of metrics finds each broken promise, and nothing in a metric that keeps them.
#include "trivet/testing/metric_check.h"

#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace metric_check_test {

using namespace trivet;
using Catch::Contains;

namespace {

enum class Fault { none, mean_of_means, half_saved, no_reset, padding, half_merged, replaced };

// The weighted mean of x.
class Mean final : public Metric {
 public:
  explicit Mean(Fault fault) : fault_(fault) {}

  void update_state(const Batch& batch, const NestedMap& outputs) override {
    const std::vector<float> x = outputs.at("x").to_host<float>();
    const std::vector<float> weights = batch.at("weight").to_host<float>();
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double weight = fault_ == Fault::padding ? 1 : static_cast<double>(weights[i]);
      sum += weight * static_cast<double>(x[i]);
      count += weight;
    }
    if (fault_ == Fault::mean_of_means) sum /= count, count = 1;
    sum_ += sum;
    count_ += count;
  }
  Logs result() const override {
    Logs logs;
    logs.set("mean", count_ > 0 ? sum_ / count_ : 0);
    return logs;
  }
  void reset_state() override {
    sum_ = 0;
    if (fault_ != Fault::no_reset) count_ = 0;
  }
  Value save_state() const override {
    return Value::table({{"sum", sum_}, {"count", fault_ == Fault::half_saved ? 0.0 : count_}});
  }
  void restore_state(const Value& state) override {
    sum_ = state.at("sum", "mean").as_float();
    count_ = state.at("count", "mean").as_float();
  }
  void merge(const Value& state) override {
    if (fault_ == Fault::replaced) return restore_state(state);
    sum_ += state.at("sum", "mean").as_float();
    if (fault_ != Fault::half_merged) count_ += state.at("count", "mean").as_float();
  }

 private:
  Fault fault_;
  double sum_ = 0, count_ = 0;
};

testing::MetricBatch batch_of(const std::vector<float>& x, const std::vector<float>& weights) {
  const auto tensor = [](const std::vector<float>& values) {
    Tensor out = Tensor::host({std::ssize(values)});
    std::ranges::copy(values, out.mutable_span<float>().begin());
    return out;
  };
  return {Batch{{"weight", tensor(weights)}}, NestedMap{{"x", tensor(x)}}};
}

const std::vector<testing::MetricBatch> kBatches = {
    batch_of({1, 2, 4}, {1, 1, 1}), batch_of({8}, {0.5F}), batch_of({3, -7}, {2, 1})};

std::string faults_of(Fault fault) {
  return testing::check_metric([=] { return std::make_unique<Mean>(fault); }, kBatches);
}

}  // namespace

TEST_CASE("a metric that keeps its promises passes") {
  CHECK(faults_of(Fault::none) == "");
}

TEST_CASE("each broken promise is named") {
  CHECK_THAT(faults_of(Fault::half_saved),
             Contains("restored after 1 batch the result is another one: mean is"));
  CHECK_THAT(faults_of(Fault::no_reset),
             Contains("after reset_state() the same batches have another result"));
  CHECK_THAT(faults_of(Fault::padding), Contains("examples of weight 0 count"));
  CHECK_THAT(faults_of(Fault::half_merged), Contains("merged after 2 batches"));
  CHECK_THAT(faults_of(Fault::replaced), Contains("merged after 1 batch"));
  // It keeps all of them: the cuts are between batches. The formula needs a test of its own.
  CHECK_THAT(faults_of(Fault::mean_of_means), Contains("examples of weight 0 count"));
}

TEST_CASE("one batch is too few to cut") {
  CHECK_THROWS_WITH(testing::check_metric([] { return std::make_unique<Mean>(Fault::none); },
                                          std::span(kBatches).first(1)),
                    Contains("two batches or more"));
}

}  // namespace metric_check_test
