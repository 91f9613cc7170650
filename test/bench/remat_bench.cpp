// SPDX-License-Identifier: Apache-2.0
// What checkpoint policies cost and save: the time and the memory of a training step of a small
// Transformer with each policy, as ratios to save_everything in the same run. The policies take
// turns, so that other load disturbs all of them. The seconds are this machine's.
//
//   remat_bench

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/ops.h"
#include "trivet/tape.h"
#include "trivet/tensor/device.h"

namespace {

using namespace trivet;

constexpr int kRounds = 9;
constexpr std::int64_t kBatch = 8, kLength = 128, kDims = 256;

const std::vector<std::string> kPolicies{"save_everything",
                                         "save_dot_only",
                                         "save_dot_with_no_batch_dims",
                                         "save_dot_except_logits_ffn1",
                                         "save_dot_for_mlperf_200b",
                                         "save_context",
                                         "save_nothing"};

class Stack {
 public:
  Stack(const std::string& backend, const std::string& policy)
      : stack_(backend, {"nn/StackedTransformer", config(policy)}) {
    const Shape shape{kBatch, kLength, kDims};
    x_ = stack_.tensor(test::random_values(shape.size(), 1), shape);
  }

  void time_step() {
    const auto start = std::chrono::steady_clock::now();
    step();
    const auto time = std::chrono::steady_clock::now() - start;
    best_ = std::min(best_, std::chrono::duration<double>(time).count());
  }
  void step() {
    Device& device = stack_.device();
    device.begin_step();
    {
      Tape tape;
      Tensor loss;
      {
        Tape::Recording recording(tape);
        loss = ops::mean(ops::square(stack_.fprop(x_, true)));
      }
      stack_.store().begin_gradients();
      tape.backward(loss);
      stack_.store().end_gradients();
    }
    device.end_step();
    device.sync();
  }
  double seconds() const { return best_; }
  double bytes() const { return static_cast<double>(stack_.device().memory().lower_bound_bytes); }

 private:
  static Value config(const std::string& policy) {
    const Value block = Value::table({{"type", "nn/TransformerBlock"},
                                      {"input_dims", kDims},
                                      {"num_heads", 4},
                                      {"causal", true}});
    return Value::table({{"num_layers", 6},
                         {"transformer_layer_params_tpl", block},
                         {"checkpoint_policy", policy}});
  }

  test::LayerFixture stack_;
  Tensor x_;
  double best_ = 1e9;
};

void run(const std::string& backend) {
  std::vector<std::unique_ptr<Stack>> stacks;
  for (const std::string& policy : kPolicies) {
    stacks.push_back(std::make_unique<Stack>(backend, policy));
    for (int i = 0; i < 2; ++i) stacks.back()->step();  // the second step is planned
  }
  for (int round = 0; round < kRounds; ++round) {
    for (const auto& stack : stacks) stack->time_step();
  }
  std::printf("%s, %.1f ms and %.1f MB with save_everything\n", backend.c_str(),
              stacks[0]->seconds() * 1e3, stacks[0]->bytes() * 1e-6);
  for (std::size_t i = 0; i < kPolicies.size(); ++i) {
    std::printf("  %-28s time %.2f  memory %.2f\n", kPolicies[i].c_str(),
                stacks[i]->seconds() / stacks[0]->seconds(),
                stacks[i]->bytes() / stacks[0]->bytes());
  }
}

}  // namespace

int main() {
  try {
    run(test::backends().back());
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "remat_bench: %s\n", failure.what());
    return 1;
  }
}
