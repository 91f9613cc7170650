// SPDX-License-Identifier: Apache-2.0
// The table of cpu/OpenBlas and its device functions.

#include <cblas.h>
#include <hwy/targets.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "cpu/backend.h"
#include "cpu/context.h"
#include "cpu/kernels.h"

namespace cpu {
namespace {

const char* vector_target() {
  const std::int64_t best = hwy::SupportedTargets() & -hwy::SupportedTargets();
  return hwy::TargetName(best);
}

// "OpenBLAS 0.3.21 ..." starts the configuration text; the rest of it is build options.
tv_status info(tv_info* out) {
  const std::string config = openblas_get_config();
  const std::string release = config.substr(0, config.find(' ', config.find(' ') + 1));
  trivet::backends::describe_processor(
      *out, release + " " + openblas_get_corename() + " + " + vector_target());
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

// OpenBLAS keeps a buffer for every thread that multiplies, and asks for it without end where the
// process may not have it (ulimit -v).
std::string memory_problem(std::int32_t threads) {
  constexpr std::size_t kBuffer = std::size_t{128} << 20;
  const std::size_t size = static_cast<std::size_t>(std::max(threads, 1)) * kBuffer;
  void* room = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    return "OpenBLAS reserves " + std::to_string(size >> 20) +
           " MiB of address space for its threads, and the process may not have that much: raise "
           "ulimit -v, or set fewer runtime.threads";
  }
  ::munmap(room, size);
  return {};
}

tv_status open(std::int32_t device, const tv_option* options, std::size_t option_count,
               const tv_host* host, tv_ctx** out) {
  const tv_status status =
      trivet::backends::expect_plain_open("cpu", device, options, option_count, host);
  if (status != TV_OK) return status;
  std::string problem = blas_problem();
  if (problem.empty()) problem = memory_problem(host->max_workers);
  if (!problem.empty()) return trivet::backends::fail(host, problem);
  *out = new tv_ctx{host};
  return TV_OK;
}

void close(tv_ctx* ctx) {
  delete ctx;
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
  if (wanted == TV_CONV2D_FWD) return reinterpret_cast<const void*>(&conv2d_fwd);
  if (wanted == TV_CONV2D_BWD) return reinterpret_cast<const void*>(&conv2d_bwd);
  if (wanted == TV_POOL2D_FWD) return reinterpret_cast<const void*>(&pool2d_fwd);
  if (wanted == TV_POOL2D_BWD) return reinterpret_cast<const void*>(&pool2d_bwd);
  if (wanted == TV_BATCH_NORM_FWD) return reinterpret_cast<const void*>(&batch_norm_fwd);
  if (wanted == TV_BATCH_NORM_BWD) return reinterpret_cast<const void*>(&batch_norm_bwd);
  return nullptr;
}

tv_backend make_table() {
  tv_backend t = trivet::backends::empty_table();
  trivet::backends::use_ordinary_memory(t);
  t.info = info;
  t.open = open;
  t.close = close;
  t.transfer = transfer;
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
  t.norm_fwd = norm_fwd;
  t.norm_bwd = norm_bwd;
  t.act_fwd = act_fwd;
  t.act_bwd = act_bwd;
  t.attention_fwd = attention_fwd;
  t.attention_bwd = attention_bwd;
  t.rope = rope;
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
