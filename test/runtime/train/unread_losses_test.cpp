// SPDX-License-Identifier: Apache-2.0
// trainer.loss_upper_bound on a device whose memory the CPU cannot read: the loss of each step is
// not awaited, and a step above the bound is found at the end of its loop.
#include <memory>
#include <utility>

#include <catch2/catch.hpp>

#include "host/item_collector.h"
#include "tiny/backend.h"
#include "train/default_trainer.h"
#include "train_parts.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/plugin.h"
#include "trivet/testing/backend_wrappers.h"
#include "trivet/train/optim_update.h"

namespace train_unread_losses_test {

using namespace trivet;
using Catch::Contains;

namespace {

// w - rate * gradient, only with ops.
class Plain final : public Optimizer {
 public:
  using Config = OptimizerConfig;
  explicit Plain(Config) {}
  std::vector<std::string> slots() const override { return {}; }
  void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) override {
    for (OptimizerSegment& segment : segments) {
      const Tensor change =
          ops::mul(segment.gradient, static_cast<float>(step.learning_rate) * step.gradient_scale);
      assign(segment.value, ops::sub(segment.value, change));
    }
  }
};

void register_plain() {
  static const bool done = [] {
    constexpr About about{.name = "unread", .version = "1.0.0", .license = "Apache-2.0"};
    ItemCollector items;
    detail::register_item(items, about, optimizer<Plain>("Plain", "In ops."));
    registry().add({.name = "unread", .version = "1.0.0"}, std::move(items.items));
    return true;
  }();
  (void)done;
}

struct Unwatched final : test::TestObserver {
  bool wants_loss() const override { return false; }
};

// Weights hardly change, so the losses are those of w = 0.5 for y = 3 x: 6.25 mean(x^2), from 1.4
// for the first batch to 254 for the seventh, 97 in the mean of the seven; then from 1.4 again.
struct Bench {
  explicit Bench(double bound, std::int64_t begin_steps = 0, std::int64_t trials = 0) {
    test::register_parts();
    register_plain();
    DeviceOptions options;
    options.key = "hidden";
    options.pool = std::make_shared<ThreadPool>(1);
    device = Device::open(testing::fake_device(tiny::get()), std::move(options));
    TrainerConfig config = test::trainer_config();
    config.optimizer = ConfigOf<Optimizer>("unread/Plain");
    config.learning_rate = ConfigOf<Schedule>("parts/Falling", Value::table({{"value", 1e-9}}));
    config.loss_upper_bound = bound;
    config.recovery_begin_steps = begin_steps;
    config.recovery_max_trials = trials;
    TaskContext task_context{*device, {}};
    task = make(test::task_config(), task_context);
    TrainerContext context{
        .task = *task, .device = *device, .key = RngKey(1), .eval = false, .observer = observer};
    trainer = std::make_unique<DefaultTrainer>(config, context);
    REQUIRE_FALSE(device->host_visible());
  }

  std::unique_ptr<Device> device;
  std::unique_ptr<Task> task;
  Unwatched observer;
  std::unique_ptr<DefaultTrainer> trainer;
};

}  // namespace

TEST_CASE("a step above the bound is found at the end of its loop, whatever the mean") {
  Bench bench(200);
  bench.trainer->initialize();
  bench.trainer->train(7);
  CHECK_THROWS_WITH(
      bench.trainer->train_logs(),
      Contains("the training loss is 254.") &&
          Contains("at one of the steps 1 to 7, above trainer.loss_upper_bound = 200"));
  Bench high(300);
  high.trainer->initialize();
  high.trainer->train(7);
  CHECK(*high.trainer->train_logs().find("training_loss") == Approx(96.6).epsilon(0.01));
}

TEST_CASE("a step above the bound is found after a checkpoint in the middle of its loop") {
  Bench first(200), second(200);
  first.trainer->initialize();
  first.trainer->train(7);
  test::MemoryCheckpoint checkpoint;
  first.trainer->save(checkpoint);
  second.trainer->restore(checkpoint);
  second.trainer->train(8);
  CHECK_THROWS_WITH(second.trainer->train_logs(), Contains("at one of the steps 1 to 8"));
}

TEST_CASE("losses before recovery_begin_steps are not compared with the bound") {
  for (const std::int64_t trials : {0, 1}) {
    Bench bench(50, 8, trials);
    bench.trainer->initialize();
    bench.trainer->train(8);
    CHECK(*bench.trainer->train_logs().find("training_loss") == Approx(84.7).epsilon(0.01));
  }
}

}  // namespace train_unread_losses_test
