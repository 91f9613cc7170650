// SPDX-License-Identifier: Apache-2.0
#include "trivet/testing/metric_check.h"

#include <algorithm>
#include <cmath>

#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet::testing {
namespace {

class MetricCheck {
 public:
  MetricCheck(const std::function<std::unique_ptr<Metric>()>& make,
              std::span<const MetricBatch> batches, const MetricCheckOptions& options)
      : make_(make), batches_(batches), options_(options) {
    if (batches.size() < 2) throw Error("check_metric needs two batches or more");
    const auto metric = seen(batches_);
    whole_ = metric->result();
    if (whole_.empty()) problems_ += "result() has no number\n";
  }

  std::string run() {
    check_reset();
    check_padding();
    for (std::size_t cut = 0; cut <= batches_.size(); ++cut) {
      check_restore(cut);
      if (options_.merges) check_merge(cut);
    }
    return problems_;
  }

 private:
  std::unique_ptr<Metric> seen(std::span<const MetricBatch> batches) const {
    std::unique_ptr<Metric> metric = make_();
    update(*metric, batches);
    return metric;
  }
  static void update(Metric& metric, std::span<const MetricBatch> batches) {
    for (const MetricBatch& each : batches) metric.update_state(each.batch, each.outputs);
  }
  // As a checkpoint has it.
  static Value stored(const Metric& metric) {
    return value_from_json(to_json(metric.save_state()), "the state of a metric");
  }

  void check_reset() {
    const auto metric = seen(batches_);
    metric->reset_state();
    compare("after reset_state() the result is not that of a new metric", metric->result(),
            make_()->result(), 0);
    update(*metric, batches_);
    compare("after reset_state() the same batches have another result", metric->result(), whole_,
            0);
  }

  // One batch at a time: a mean that counted all of them twice would be the same.
  void check_padding() {
    for (MetricBatch each : batches_) {
      const Tensor* weight = each.batch.find("weight");
      if (weight == nullptr) continue;
      Tensor zeros = Tensor::host(weight->shape());
      std::ranges::fill(zeros.mutable_span<float>(), 0.0F);
      each.batch.set("weight", weight->on_host() ? zeros : zeros.to(weight->device()));
      const auto metric = seen(batches_);
      metric->update_state(each.batch, each.outputs);
      compare("examples of weight 0 count", metric->result(), whole_, 0);
    }
  }

  void check_restore(std::size_t cut) {
    const auto first = seen(batches_.first(cut));
    const std::unique_ptr<Metric> second = make_();
    second->restore_state(stored(*first));
    update(*second, batches_.subspan(cut));
    compare("restored after " + batch_count(cut) + " the result is another one", second->result(),
            whole_, 0);
  }

  void check_merge(std::size_t cut) {
    const auto first = seen(batches_.first(cut)), second = seen(batches_.subspan(cut));
    first->merge(stored(*second));
    const bool is_part = cut > 0 && cut < batches_.size();
    compare("merged after " + batch_count(cut) + " the result is another one", first->result(),
            whole_, is_part ? options_.relative : 0);
  }

  static std::string batch_count(std::size_t cut) {
    return std::to_string(cut) + (cut == 1 ? " batch" : " batches");
  }

  void compare(const std::string& what, const Logs& got, const Logs& wanted, double relative) {
    std::string differences;
    for (const auto& [name, value] : wanted) {
      const double* found = got.find(name);
      if (found == nullptr) {
        differences += " " + name + " is missing;";
      } else if (!equal(*found, value, relative)) {
        differences += " " + name + " is " + to_json(*found) + ", expected " + to_json(value) + ";";
      }
    }
    for (const auto& [name, value] : got) {
      if (wanted.find(name) == nullptr) differences += " " + name + " is new;";
    }
    if (differences.empty()) return;
    differences.pop_back();
    problems_ += what + ":" + differences + "\n";
  }

  static bool equal(double a, double b, double relative) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return a == b || std::fabs(a - b) <= relative * std::max(std::fabs(a), std::fabs(b));
  }

  const std::function<std::unique_ptr<Metric>()>& make_;
  const std::span<const MetricBatch> batches_;
  const MetricCheckOptions& options_;
  Logs whole_;
  std::string problems_;
};

}  // namespace

std::string check_metric(const std::function<std::unique_ptr<Metric>()>& make,
                         std::span<const MetricBatch> batches, const MetricCheckOptions& options) {
  return MetricCheck(make, batches, options).run();
}

}  // namespace trivet::testing
