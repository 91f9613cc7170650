// SPDX-License-Identifier: Apache-2.0
// The function table of cpu/Highway and its device functions.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include <hwy/highway.h>  // version
#include <hwy/targets.h>

#include "cpu/backend.h"
#include "cpu/support/context.h"
#include "cpu/support/kernels.h"

namespace cpu {
namespace {

const char* vector_target() {
  const std::int64_t best = hwy::SupportedTargets() & -hwy::SupportedTargets();
  return hwy::TargetName(best);
}

tv_status info(tv_info* out) {
  const std::string version =
      std::to_string(HWY_MAJOR) + "." + std::to_string(HWY_MINOR) + "." + std::to_string(HWY_PATCH);
  trivet::backends::describe_processor(*out, "Highway " + version + " " + vector_target());
  return TV_OK;
}

tv_status open(std::int32_t device, const tv_option* options, std::size_t option_count,
               const tv_host* host, tv_ctx** out) {
  const tv_status status =
      trivet::backends::expect_plain_open("cpu", device, options, option_count, host);
  if (status != TV_OK) return status;
  *out = new tv_ctx{host};
  return TV_OK;
}

void close(tv_ctx* ctx) {
  delete ctx;
}

// Large memory is in huge pages where the system gives them: a run touches a page for the first
// time 512 times less often, and finds more of them in the TLB.
tv_status alloc(tv_ctx*, std::uint64_t bytes, void** out) {
  constexpr std::uint64_t kHugePage = 2 << 20;
  *out = nullptr;
  if (bytes > std::numeric_limits<std::uint64_t>::max() - kHugePage) return TV_OUT_OF_MEMORY;
  const std::uint64_t huge = bytes / kHugePage * kHugePage;
  const std::uint64_t alignment = huge > 0 ? kHugePage : trivet::backends::kAlignment;
  *out = std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);  // never nothing
  if (*out == nullptr) return TV_OUT_OF_MEMORY;
  // A hint. A last page that is not filled would be memory that nobody uses.
  if (huge > 0) ::madvise(*out, huge, MADV_HUGEPAGE);
  return TV_OK;
}

tv_status transfer(tv_ctx* ctx, void* dst, const void* src, std::uint64_t bytes, tv_direction) {
  constexpr std::int64_t kPiece = 1 << 20;
  parallel(ctx, static_cast<std::int64_t>(bytes), kPiece, [&](auto begin, auto end, auto) {
    std::memcpy(static_cast<char*>(dst) + begin, static_cast<const char*>(src) + begin,
                static_cast<std::size_t>(end - begin));
  });
  return TV_OK;
}

const void* extension(tv_ctx*, const char* name) {
  const std::string_view wanted = name;
  if (wanted == TV_PEAK_FLOPS) return reinterpret_cast<const void*>(&peak_flops);
  if (wanted == TV_PEAK_BANDWIDTH) return reinterpret_cast<const void*>(&peak_bandwidth);
#define TRIVET_OFFER(id, function, arguments) \
  if (wanted == id) return reinterpret_cast<const void*>(&function);
  TV_FOR_EACH_EXTENSION_KERNEL(TRIVET_OFFER)
#undef TRIVET_OFFER
  return nullptr;
}

tv_backend make_table() {
  tv_backend t = trivet::backends::empty_table();
  trivet::backends::use_ordinary_memory(t);
  t.info = info;
  t.open = open;
  t.close = close;
  t.alloc = alloc;
  t.transfer = transfer;
#define TRIVET_USE(kernel) t.kernel = kernel;
  TV_FOR_EACH_KERNEL(TRIVET_USE)
#undef TRIVET_USE
  t.extension = extension;
  return t;
}

}  // namespace

const tv_backend* get() {
  static const tv_backend table = make_table();
  return &table;
}

}  // namespace cpu
