// SPDX-License-Identifier: Apache-2.0
// The table of cpu/OpenBlas and its device functions.

#include <cblas.h>
#include <hwy/targets.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>

#include "cpu/backend.h"
#include "cpu/context.h"
#include "cpu/kernels.h"

namespace cpu {
namespace {

constexpr std::uint64_t kAlignment = 64;

const char* vector_target() {
  const std::int64_t best = hwy::SupportedTargets() & -hwy::SupportedTargets();
  return hwy::TargetName(best);
}

// "OpenBLAS 0.3.21 ..." starts the configuration text; the rest of it is build options.
tv_status info(tv_info* out) {
  *out = {};
  out->struct_size = sizeof(tv_info);
  const std::string config = openblas_get_config();
  const std::string release = config.substr(0, config.find(' ', config.find(' ') + 1));
  std::snprintf(out->name, sizeof(out->name), "%s %s + %s", release.c_str(),
                openblas_get_corename(), vector_target());
  for (const int dtype : {TV_F32, TV_BF16, TV_F16, TV_I32, TV_U8, TV_BOOL, TV_U32}) {
    out->storage_dtypes |= 1u << dtype;
  }
  out->compute_dtypes = 1u << TV_F32;
  out->host_visible = 1;
  out->alignment = kAlignment;
  out->device_count = 1;
  return TV_OK;
}

// Work is split by the host's pool, so OpenBLAS must run every product on the calling thread. Its
// OpenMP build forgets that setting on new threads, its pthread build keeps it.
std::string blas_problem() {
  if (openblas_get_parallel() == OPENBLAS_OPENMP) {
    return "OpenBLAS is the OpenMP build, which starts threads of its own. Install "
           "libopenblas0-pthread and choose it: update-alternatives --config "
           "libopenblas.so.0-x86_64-linux-gnu";
  }
  openblas_set_num_threads(1);
  if (openblas_get_num_threads() == 1) return {};
  return "OpenBLAS does not accept to run on one thread";
}

tv_status open(std::int32_t device, const tv_option* options, std::size_t option_count,
               const tv_host* host, tv_ctx** out) {
  auto* ctx = new tv_ctx{host};
  std::string problem;
  if (device != 0) problem = "cpu has one device, number 0, not " + std::to_string(device);
  if (option_count > 0) problem = std::string("cpu knows no option '") + options[0].key + "'";
  if (problem.empty()) problem = blas_problem();
  if (problem.empty()) {
    *out = ctx;
    return TV_OK;
  }
  const tv_status status = fail(ctx, problem);
  delete ctx;
  return status;
}

void close(tv_ctx* ctx) {
  delete ctx;
}

tv_status alloc(tv_ctx*, std::uint64_t bytes, void** out) {
  *out = nullptr;
  if (bytes > std::numeric_limits<std::uint64_t>::max() - kAlignment) return TV_OUT_OF_MEMORY;
  *out = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
  return *out ? TV_OK : TV_OUT_OF_MEMORY;
}

void release(tv_ctx*, void* memory) {
  std::free(memory);
}

tv_status transfer(tv_ctx* ctx, void* dst, const void* src, std::uint64_t bytes, tv_direction) {
  constexpr std::int64_t kPiece = 1 << 20;
  parallel(ctx, static_cast<std::int64_t>(bytes), kPiece, [&](auto begin, auto end, auto) {
    std::memcpy(static_cast<char*>(dst) + begin, static_cast<const char*>(src) + begin,
                static_cast<std::size_t>(end - begin));
  });
  return TV_OK;
}

tv_status sync(tv_ctx*) {
  return TV_OK;
}

const void* extension(tv_ctx*, const char* name) {
  const std::string_view wanted = name;
  if (wanted == TV_CONV2D_FWD) return reinterpret_cast<const void*>(&conv2d_fwd);
  if (wanted == TV_CONV2D_BWD) return reinterpret_cast<const void*>(&conv2d_bwd);
  if (wanted == TV_POOL2D_FWD) return reinterpret_cast<const void*>(&pool2d_fwd);
  if (wanted == TV_POOL2D_BWD) return reinterpret_cast<const void*>(&pool2d_bwd);
  return nullptr;
}

tv_backend make_table() {
  tv_backend t = {};
  t.struct_size = sizeof(tv_backend);
  t.api_version = TV_BACKEND_API_VERSION;
  t.info = info;
  t.open = open;
  t.close = close;
  t.alloc = alloc;
  t.free = release;
  t.transfer = transfer;
  t.sync = sync;
  t.fill = fill;
  t.copy = copy;
  t.unary = unary;
  t.binary = binary;
  t.select = select;
  t.reduce = reduce;
  t.matmul = matmul;
  t.gather_rows = gather_rows;
  t.scatter_add_rows = scatter_add_rows;
  t.linear_fwd = linear_fwd;
  t.linear_bwd = linear_bwd;
  t.act_fwd = act_fwd;
  t.act_bwd = act_bwd;
  t.softmax_xent = softmax_xent;
  t.dropout = dropout;
  t.optim = optim;
  t.sumsq = sumsq;
  t.rng_bits = rng_bits;
  t.extension = extension;
  return t;
}

}  // namespace

const tv_backend* get() {
  static const tv_backend table = make_table();
  return &table;
}

}  // namespace cpu
