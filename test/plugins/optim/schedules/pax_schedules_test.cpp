// SPDX-License-Identifier: Apache-2.0
// The schedules of Praxis, written as docs/coming-from-pax.md says, against the formulas of
// praxis/schedules.py in double.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numbers>
#include <vector>

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "trivet/plugin/registry.h"
#include "trivet/schedule.h"

namespace pax_schedules_test {

using trivet::Value;

namespace {

constexpr double kMax = 0.02, kMinRatio = 0.1;
constexpr int kWarmup = 10, kDecayStart = 25, kDecayEnd = 85;

Value typed(const std::string& type, Value fields) {
  fields.set("type", "optim/" + type);
  return fields;
}

void check_equal(const Value& config, const std::function<double(double)>& formula) {
  trivet::test::use_plugin("optim");
  Value fields = config;
  const std::string type = fields.find("type")->as_string();
  fields.erase("type");
  const auto schedule = trivet::make(trivet::ConfigOf<trivet::Schedule>(type, std::move(fields)));
  for (int step = 0; step < 130; ++step) {
    INFO(type << " at step " << step);
    CHECK(schedule->value(step) == Approx(formula(step)).epsilon(1e-12).margin(1e-15));
  }
}

// A rise to kMax, kMax up to kDecayStart, then `decay` of the share of the decay that is done.
std::function<double(double)> ramped(const std::function<double(double)>& decay) {
  return [decay](double step) {
    if (step < kWarmup) return kMax * step / kWarmup;
    return decay(std::clamp((step - kDecayStart) / (kDecayEnd - kDecayStart), 0.0, 1.0));
  };
}

Value decaying() {
  return Value::table({{"initial_value", kMax},
                       {"offset", kDecayStart},
                       {"decay_steps", kDecayEnd - kDecayStart},
                       {"warmup", Value::table({{"steps", kWarmup}})}});
}

}  // namespace

TEST_CASE("Pax' ramps with a cosine, exponential or polynomial decay") {
  Value cosine = decaying();
  cosine.set("final_value", kMax * kMinRatio);
  check_equal(typed("Cosine", cosine), ramped([](double done) {
                const double least = kMax * kMinRatio;
                return least + 0.5 * (kMax - least) * (1 + std::cos(std::numbers::pi * done));
              }));
  Value exponential = decaying();
  exponential.set("decay_rate", kMinRatio);
  exponential.set("minimum", kMax * kMinRatio);
  check_equal(typed("Exponential", exponential),
              ramped([](double done) { return kMax * std::pow(kMinRatio, done); }));
  Value polynomial = decaying();
  polynomial.set("final_value", kMax * kMinRatio);
  polynomial.set("power", 3.0);
  polynomial.set("origin", "start");
  check_equal(typed("Polynomial", polynomial), ramped([](double done) {
                return kMax + std::pow(done, 3) * (kMax * kMinRatio - kMax);
              }));
}

TEST_CASE("Pax' ramp with constant pieces") {
  // boundaries = [10, 40, 70], values = [0.3, 0.2, 0]
  Value pieces = Value::table({{"boundaries", Value::array({40, 70})},
                               {"values", Value::array({0.3, 0.2, 0.0})},
                               {"warmup", Value::table({{"steps", 10}})}});
  check_equal(typed("Piecewise", pieces), [](double step) {
    return step < 10 ? 0.3 * step / 10 : step < 40 ? 0.3 : step < 70 ? 0.2 : 0.0;
  });
}

TEST_CASE("Pax' schedules by roots of the step") {
  // SqrtDecay with decay_start = 20, multiplier = 0.7, offset = 5.
  Value flat = typed("Constant", Value::table({{"value", 0.7 / std::sqrt(20.0)}}));
  Value falling = typed("Power", Value::table({{"initial_value", 0.7}, {"offset", 5}}));
  Value decay = Value::table({{"count_from", "start"},
                              {"boundaries", Value::array({25})},
                              {"schedules", Value::array({flat, falling})}});
  check_equal(typed("Sequence", decay),
              [](double step) { return 0.7 / std::sqrt(std::max(step - 5, 20.0)); });
  // Transformer with warmup_steps = 30, model_dim = 512, decay_end = 100.
  constexpr int kSteps = 30, kEnd = 100;
  const double scale = 1 / std::sqrt(512.0);
  Value rising = Value::table({{"steps", kSteps - 1}, {"start", scale * std::pow(kSteps, -1.5)}});
  Value power = typed("Power", Value::table({{"initial_value", scale}, {"offset", -1}}));
  power.set("warmup", rising);
  Value end = typed("Constant", Value::table({{"value", scale / std::sqrt(kEnd + 1.0)}}));
  Value transformer = Value::table({{"count_from", "start"},
                                    {"boundaries", Value::array({kEnd})},
                                    {"schedules", Value::array({power, end})}});
  check_equal(typed("Sequence", transformer), [&](double step) {
    const double count = std::min<double>(step, kEnd) + 1;
    return scale * std::min(count * std::pow(kSteps, -1.5), 1 / std::sqrt(count));
  });
}

}  // namespace pax_schedules_test
