// SPDX-License-Identifier: Apache-2.0
// rng_bits and dropout: Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw: Parallel Random
// Numbers: As Easy as 1, 2, 3, SC 2011), many counters at a time.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/random.cpp"
#include <hwy/foreach_target.h>

#include "cpu/support/context.h"
#include "cpu/support/kernels.h"
#include "cpu/support/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cpu {
namespace HWY_NAMESPACE {

using U32 = hn::ScalableTag<std::uint32_t>;
using U = hn::Vec<U32>;

template <int kBits>
HWY_INLINE void mix(U& x0, U& x1) {
  x0 = hn::Add(x0, x1);
  x1 = hn::Xor(hn::RotateRight<32 - kBits>(x1), x0);
}

HWY_INLINE void inject(U& x0, U& x1, std::uint32_t a, std::uint32_t b) {
  x0 = hn::Add(x0, hn::Set(U32(), a));
  x1 = hn::Add(x1, hn::Set(U32(), b));
}

HWY_INLINE void threefry(std::uint32_t k0, std::uint32_t k1, U& x0, U& x1) {
  const std::uint32_t k2 = 0x1BD11BDAu ^ k0 ^ k1;
  const auto even = [&] { mix<13>(x0, x1), mix<15>(x0, x1), mix<26>(x0, x1), mix<6>(x0, x1); };
  const auto odd = [&] { mix<17>(x0, x1), mix<29>(x0, x1), mix<16>(x0, x1), mix<24>(x0, x1); };
  inject(x0, x1, k0, k1);
  even(), inject(x0, x1, k1, k2 + 1);
  odd(), inject(x0, x1, k2, k0 + 2);
  even(), inject(x0, x1, k0, k1 + 3);
  odd(), inject(x0, x1, k1, k2 + 4);
  even(), inject(x0, x1, k2, k0 + 5);
}

// The low and high words of counter, counter + 1, ...
HWY_INLINE void load_counters(std::uint64_t counter, U& low, U& high) {
  const auto first = static_cast<std::uint32_t>(counter);
  low = hn::Add(hn::Set(U32(), first), hn::Iota(U32(), 0));
  high = hn::Set(U32(), static_cast<std::uint32_t>(counter >> 32));
  if (first + static_cast<std::uint32_t>(lanes() - 1) < first) {  // the low words wrap around
    high = hn::Sub(high, hn::VecFromMask(U32(), hn::Lt(low, hn::Set(U32(), first))));
  }
}

// Elements of one vector of counters: counter, counter + 1, ...; two words each.
HWY_INLINE void block(std::uint64_t key, std::uint64_t counter, std::uint32_t* out) {
  U x0, x1;
  load_counters(counter, x0, x1);
  threefry(static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32), x0, x1);
  hn::StoreInterleaved2(x0, x1, U32(), out);
}

void bits_run(std::uint64_t key, std::uint64_t offset, std::int64_t count, std::uint32_t* out) {
  const auto n = static_cast<std::uint64_t>(count);
  const std::uint64_t width = 2 * lanes();
  HWY_ALIGN std::uint32_t words[2 * kMaxLanes];
  std::uint64_t done = 0;
  while (done < n) {
    const std::uint64_t element = offset + done, skip = element % 2;
    if (skip == 0 && n - done >= width) {
      block(key, element / 2, out + done);
      done += width;
      continue;
    }
    block(key, element / 2, words);
    const std::uint64_t take = std::min(n - done, width - skip);
    std::copy_n(words + skip, take, out + done);
    done += take;
  }
}

// out[i] = bits[i] >= threshold ? x[i] * scale : 0
void keep_run(std::int64_t count, const std::uint32_t* bits, std::uint32_t threshold, float scale,
              const float* x, float* out) {
  const auto n = static_cast<std::size_t>(count), step = lanes();
  const U bound = hn::Set(U32(), threshold);
  std::size_t i = 0;
  for (; i + step <= n; i += step) {
    const U drawn = hn::LoadU(U32(), bits + i);
    const auto kept = hn::RebindMask(F32(), hn::Eq(hn::Max(drawn, bound), drawn));
    store(hn::IfThenElseZero(kept, hn::Mul(load(x + i), set(scale))), out + i);
  }
  for (; i < n; ++i) out[i] = bits[i] >= threshold ? x[i] * scale : 0.0f;
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpu {
namespace {

HWY_EXPORT(bits_run);
HWY_EXPORT(keep_run);

constexpr std::int64_t kChunk = 1024;  // random words at a time, on the stack

}  // namespace

tv_status rng_bits(tv_ctx* ctx, const tv_view* out, std::uint64_t key, std::uint64_t offset) {
  if (out->dtype != TV_U32) return TV_UNSUPPORTED;
  parallel(ctx, element_count(*out), kGrain, [&](std::int64_t begin, std::int64_t end, auto) {
    HWY_DYNAMIC_DISPATCH(bits_run)
    (key, offset + static_cast<std::uint64_t>(begin), end - begin,
     data<std::uint32_t>(*out) + begin);
  });
  return TV_OK;
}

tv_status dropout(tv_ctx* ctx, const tv_dropout* d) {
  if (d->dtype != TV_F32) return TV_UNSUPPORTED;
  const auto* x = static_cast<const float*>(d->x);
  auto* out = static_cast<float*>(d->out);
  const auto threshold = static_cast<std::uint32_t>(static_cast<double>(d->p) * 0x1p32);
  const float scale = 1 / (1 - d->p);
  parallel(ctx, d->n, kGrain, [&](std::int64_t begin, std::int64_t end, auto) {
    std::uint32_t bits[kChunk];
    for (std::int64_t at = begin; at < end; at += kChunk) {
      const std::int64_t n = std::min(kChunk, end - at);
      HWY_DYNAMIC_DISPATCH(bits_run)(d->key, d->offset + static_cast<std::uint64_t>(at), n, bits);
      HWY_DYNAMIC_DISPATCH(keep_run)(n, bits, threshold, scale, x + at, out + at);
    }
  });
  return TV_OK;
}

}  // namespace cpu
#endif
