// SPDX-License-Identifier: Apache-2.0
// Measures the cost of tracing every call of a plugin's method (trivet/plugin/plugin_call.h): a
// call inside in_plugin() against a bare call in the same run, and the total in a training step of
// a small Transformer, which computes little between two calls. Prints ratios; the seconds are this
// machine's.
//
//   plugin_call_bench

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/ops.h"
#include "trivet/plugin/plugin_call.h"
#include "trivet/plugin/registry.h"
#include "trivet/tape.h"

namespace {

using namespace trivet;

constexpr int kRounds = 7;
constexpr std::int64_t kCalls = 2'000'000;
constexpr int kSteps = 20;
constexpr double kPromised = 0.1;  // percent of a step

double now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

// The best of several rounds: other load only adds time.
template <class Body>
double best_seconds(Body&& body) {
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const double start = now();
    body();
    best = std::min(best, now() - start);
  }
  return best;
}

// Like a plugin's method: opaque to the compiler.
int (*volatile method)(int) = [](int x) { return x + 1; };
volatile int result = 0;

struct CallCost {
  double bare, guarded;  // seconds per call
};

CallCost cost_of_call() {
  RegistryItem item{.kind = "layer", .key = "acme/Scale"};
  item.plugin = std::make_shared<const PluginInfo>(PluginInfo{.name = "acme"});
  const std::string path = "task.model.layers[3]";
  const auto calls = [&](auto&& call) {
    return best_seconds([&] {
             for (std::int64_t i = 0; i < kCalls; ++i) result = call(result);
           }) /
           static_cast<double>(kCalls);
  };
  return {calls([](int x) { return method(x); }),
          calls([&](int x) { return in_plugin(&item, "fprop", path, [&] { return method(x); }); })};
}

struct Step {
  double seconds;
  std::size_t ops;  // on the tape; the gradient of each is a guarded call, too
};

Step cost_of_step(const std::string& backend) {
  const test::LayerFixture stack(
      backend,
      {"nn/StackedTransformer",
       Value::table({{"num_layers", 2},
                     {"transformer_layer_params_tpl", Value::table({{"type", "nn/TransformerBlock"},
                                                                    {"input_dims", 64},
                                                                    {"hidden_dims", 256},
                                                                    {"num_heads", 4}})}})});
  const Shape shape{8, 32, 64};
  const Tensor x = stack.tensor(test::random_values(shape.size(), 1), shape);
  Step step{};
  Device& device = stack.device();
  const double seconds = best_seconds([&] {
    for (int i = 0; i < kSteps; ++i) {
      device.begin_step();
      {
        Tape tape;
        Tensor loss;
        {
          Tape::Recording recording(tape);
          loss = ops::mean(ops::square(stack.fprop(x, true)));
        }
        step.ops = tape.size();
        stack.store().begin_gradients();
        tape.backward(loss);
        stack.store().end_gradients();
      }
      device.end_step();
    }
  });
  step.seconds = seconds / kSteps;
  return step;
}

void run() {
  const CallCost call = cost_of_call();
  const double more = std::max(0.0, call.guarded - call.bare);
  std::printf("call       %.2f ns inside in_plugin, %.2f ns bare: %.1f times, %.2f ns more\n",
              call.guarded * 1e9, call.bare * 1e9, call.guarded / call.bare, more * 1e9);
  for (const std::string& backend : test::backends()) {
    const Step step = cost_of_step(backend);
    // One for each gradient; layers, with all that contain them, are called less than twice as
    // often.
    const double calls = 3 * static_cast<double>(step.ops);
    const double percent = 100 * calls * more / step.seconds;
    std::printf("step       %.3f ms on %s, at most %.0f such calls: %.4f %% of it, promised %.1f\n",
                step.seconds * 1e3, backend.c_str(), calls, percent, kPromised);
  }
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "plugin_call_bench: %s\n", failure.what());
    return 1;
  }
}
