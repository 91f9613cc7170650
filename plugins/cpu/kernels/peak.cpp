// SPDX-License-Identifier: Apache-2.0
// What the processor reaches at most: bursts of multiply-adds in registers, and one pass over
// memory.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/peak.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

#include "cpu/support/context.h"
#include "cpu/support/kernels.h"
#include "cpu/support/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cpu {
namespace HWY_NAMESPACE {

// More sums than the units and the latency of an instruction need, and no more than registers.
inline constexpr int kSums = 2 * kRows;

float burst(std::int64_t rounds) {
  // The sums stay near 1: no denormals and no infinities.
  const V scale = set(0.5f), step = set(0.5f);
  V sums[kSums];
  unrolled<kSums>([&](auto i) TRIVET_CPU_INLINE { sums[i] = set(static_cast<float>(i)); });
  for (std::int64_t round = 0; round < rounds; ++round) {
    unrolled<kSums>([&](auto i) TRIVET_CPU_INLINE { sums[i] = hn::MulAdd(sums[i], scale, step); });
  }
  unrolled<kSums - 1>([&](auto i) TRIVET_CPU_INLINE { sums[0] = hn::Add(sums[0], sums[i + 1]); });
  return hn::GetLane(sums[0]);
}

float read_all(const float* from, std::int64_t count) {
  constexpr std::int64_t kStep = 8;
  const auto width = static_cast<std::int64_t>(lanes());
  V sums[kStep];
  unrolled<kStep>([&](auto i) TRIVET_CPU_INLINE { sums[i] = set(0); });
  for (std::int64_t at = 0; at + kStep * width <= count; at += kStep * width) {
    unrolled<kStep>([&](auto i) TRIVET_CPU_INLINE {
      sums[i] = hn::Add(sums[i], load(from + at + static_cast<std::int64_t>(i) * width));
    });
  }
  unrolled<kStep - 1>([&](auto i) TRIVET_CPU_INLINE { sums[0] = hn::Add(sums[0], sums[i + 1]); });
  return hn::GetLane(sums[0]);
}

std::int32_t flop_of_instruction() {
  return 2 * static_cast<std::int32_t>(lanes());
}

std::int64_t flop_of_round() {
  return kSums * std::int64_t{flop_of_instruction()};
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpu {
namespace {

HWY_EXPORT(burst);
HWY_EXPORT(read_all);
HWY_EXPORT(flop_of_instruction);
HWY_EXPORT(flop_of_round);

constexpr std::int64_t kRounds = 400'000;  // some 2 ms
constexpr std::int64_t kCycles = 1'000'000;
constexpr std::int64_t kPiece = 1 << 18;  // floats

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Of the calling thread alone: other work on its core does not count.
double thread_seconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Nothing reads it, but the compiler must compute what is written.
std::atomic<float> result = 0;

// Each instruction needs the result of the one before it, which takes one cycle.
double cycles_per_second() {
  const double start = thread_seconds();
  std::uint64_t chain = 1, other = 3;
  for (std::int64_t i = 0; i < kCycles / 8; ++i) {
    for (int step = 0; step < 8; ++step) {
      chain ^= other;
      __asm__ volatile("" : "+r"(chain), "+r"(other));
    }
  }
  const double seconds = thread_seconds() - start;
  result = static_cast<float>(chain);
  return static_cast<double>(kCycles) / seconds;
}

}  // namespace

tv_status peak_flops(tv_ctx* ctx, tv_peak_flops* d) {
  if (d->dtype != TV_F32) return TV_UNSUPPORTED;
  const std::int32_t threads = ctx->host->max_workers;
  const auto cores = static_cast<std::int32_t>(std::thread::hardware_concurrency());
  d->cores = cores > 0 ? std::min(threads, cores) : threads;
  d->width = HWY_DYNAMIC_DISPATCH(flop_of_instruction)();
  const auto flop = static_cast<double>(kRounds * HWY_DYNAMIC_DISPATCH(flop_of_round)());
  std::atomic<double> of_core = 0, clock = 0;  // of the thread of the first piece
  const auto start = Clock::now();
  parallel(ctx, threads, 1, [&](std::int64_t begin, std::int64_t end, std::int32_t) {
    for (; begin < end; ++begin) {
      const double before = thread_seconds();
      result = HWY_DYNAMIC_DISPATCH(burst)(kRounds);
      if (begin == 0) of_core = flop / (thread_seconds() - before);
    }
  });
  d->flops = flop * threads / seconds_since(start);
  parallel(ctx, threads, 1, [&](std::int64_t begin, std::int64_t, std::int32_t) {
    const double own = cycles_per_second();
    if (begin == 0) clock = own;
  });
  d->clock = clock;
  d->core_flops = of_core;
  return TV_OK;
}

tv_status peak_bandwidth(tv_ctx* ctx, tv_peak_bandwidth* d) {
  const auto* const from = static_cast<const float*>(d->data);
  const auto count = static_cast<std::int64_t>(d->bytes / sizeof(float));
  const auto start = Clock::now();
  parallel(ctx, count, kPiece, [&](std::int64_t begin, std::int64_t end, std::int32_t) {
    result = HWY_DYNAMIC_DISPATCH(read_all)(from + begin, end - begin);
  });
  d->bytes_per_second = static_cast<double>(d->bytes) / seconds_since(start);
  return TV_OK;
}

}  // namespace cpu
#endif
