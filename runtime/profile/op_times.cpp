// SPDX-License-Identifier: Apache-2.0
#include "profile/op_times.h"

#include <chrono>
#include <memory>
#include <utility>

#include "trivet/tensor/profile.h"

namespace trivet {
namespace {

constexpr int kLeastRounds = 3, kMostRounds = 300;
constexpr double kSeconds = 0.25;  // of all rounds of a device, if there are more than the least

PassTime sum_of(std::span<const Profile::Kernel> kernels) {
  PassTime pass;
  for (const Profile::Kernel& kernel : kernels) {
    pass.seconds += kernel.seconds;
    pass.flops += kernel.flops;
    pass.bytes += kernel.bytes;
    pass.kernels.emplace_back(kernel.name);
  }
  return pass;
}

void keep(PassTime pass, PassTime& best) {
  if (best.kernels.empty() || pass.seconds < best.seconds) best = std::move(pass);
}

// An op with its operands on a device.
class OpTimer {
 public:
  OpTimer(const OpCase& op, Device& device)
      : operands_(std::make_unique<Operands>(device)), run_(op.open(*operands_)) {}

  // Runs it once; keeps the fastest of all times.
  void round() {
    Profile profile(operands_->device());
    operands_->clear_gradients();
    Tape tape;
    Tensor y;
    {
      const Tape::Recording recording(tape);
      y = run_();
    }
    const std::size_t forward = profile.kernels().size();
    keep(sum_of(std::span(profile.kernels()).first(forward)), best_.forward);
    if (tape.size() == 0) return;
    if (!seed_.defined()) seed_ = Tensor::full(y.device(), y.shape(), 1);
    const std::size_t begin = profile.kernels().size();
    tape.backward(y, seed_);
    if (!best_.backward) best_.backward.emplace();
    keep(sum_of(std::span(profile.kernels()).subspan(begin)), *best_.backward);
  }

  const OpTime& best() const { return best_; }

 private:
  std::unique_ptr<Operands> operands_;
  std::function<Tensor()> run_;
  Tensor seed_;
  OpTime best_;
};

}  // namespace

std::vector<OpTime> time_op(const OpCase& op, std::span<Device* const> devices) {
  std::vector<OpTimer> timers;
  for (Device* const device : devices) timers.emplace_back(op, *device);
  const auto begin = std::chrono::steady_clock::now();
  const std::chrono::duration<double> most(kSeconds * static_cast<double>(devices.size()));
  for (int round = 0; round < kMostRounds; ++round) {
    if (round >= kLeastRounds && std::chrono::steady_clock::now() - begin > most) break;
    for (OpTimer& timer : timers) timer.round();
  }
  std::vector<OpTime> times;
  for (const OpTimer& timer : timers) times.push_back(timer.best());
  return times;
}

}  // namespace trivet
