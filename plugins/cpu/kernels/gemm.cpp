// SPDX-License-Identifier: Apache-2.0
// How products are cut. The depth is cut into blocks by its length alone; the sums of a block are
// added to C in order. The rows of the left factor are packed once and shared by all tasks. A
// thread packs the columns of the right factor that it multiplies, while they are in its cache.
#include "cpu/kernels/gemm.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "cpu/support/kernels.h"

namespace cpu {
namespace {

constexpr std::int64_t kBlockColumns = 128;      // 192 KiB of a right factor with a depth of 384
constexpr std::int64_t kOwnRows = 480;           // of a left factor that a thread packs for itself
constexpr std::int64_t kSharedRows = 2400;       // of a left factor that all threads share
constexpr std::int64_t kSharedFloats = 1 << 20;  // of it that are packed at a time
constexpr std::int64_t kPackedRows = 120;        // by a task
constexpr std::int64_t kTaskRows = 240;          // of a task whose columns are packed already
constexpr std::int64_t kInPlaceBlock = 512;      // columns of a right factor that is not packed
constexpr double kTaskFlops = 1e6;               // some 10 us of one core
constexpr std::int64_t kTasksPerWorker = 4;

// Without depth, the factors may be null.
const float* left_at(const Gemm& g, std::int64_t row, std::int64_t k) {
  if (g.k == 0) return g.a;
  return g.a + (g.trans_a == Transpose::yes ? k * g.lda + row : row * g.lda + k);
}

const float* right_at(const Gemm& g, std::int64_t k, std::int64_t column) {
  if (g.k == 0) return g.b;
  return g.b + (g.trans_b == Transpose::yes ? column * g.ldb + k : k * g.ldb + column);
}

// The left factor from a row and a position along the depth, where it lies.
Factor left_in_place(const Gemm& g, std::int64_t row, std::int64_t k) {
  return {left_at(g, row, k), g.lda, g.trans_a == Transpose::yes ? Layout::columns : Layout::rows};
}

// Whether the right factor is read where it lies: few rows do not repay packing it.
bool reads_right_in_place(const Gemm& g) {
  return g.m <= kThinRows && (g.trans_b == Transpose::yes || g.n % kColumnStep == 0);
}

bool packs_left(const Gemm& g) {
  return g.k > 0 && !reads_right_in_place(g) && g.n > most_columns_in_place(g.trans_a);
}

struct Span {
  std::int64_t begin, size;
};

// Columns that a task multiplies.
std::int64_t block_columns(const Gemm& g, std::int32_t workers) {
  if (!reads_right_in_place(g)) return kBlockColumns;
  // Tasks are as long as memory is slow, and there are few: all have the same size.
  const std::int64_t parts = ceil_div(ceil_div(g.n, kInPlaceBlock), workers) * workers;
  return whole_columns(ceil_div(g.n, std::max<std::int64_t>(parts, kTasksPerWorker / 2 * workers)));
}

// Columns of the right factor, packed into `memory` if that is worth it.
Factor right_factor(const Gemm& g, Span columns, Span depth, float* memory) {
  if (depth.size == 0) return {memory, 0, Layout::packed};
  const float* const from = right_at(g, depth.begin, columns.begin);
  if (reads_right_in_place(g)) {
    return {from, g.ldb, g.trans_b == Transpose::yes ? Layout::columns : Layout::rows};
  }
  pack_right(g.trans_b, depth.size, columns.size, from, g.ldb, memory);
  return {memory, depth.size, Layout::packed};
}

// The part of C of some rows and columns, from one block of the depth of both factors.
void multiply_part(const Gemm& g, Span rows, Span columns, Span depth, const Factor& left,
                   const Factor& right) {
  BlockProduct p;
  p.m = rows.size, p.n = columns.size, p.k = depth.size;
  p.left = depth.size > 0 ? left : right, p.right = right;
  const std::int64_t offset = rows.begin * g.ldc + columns.begin;
  p.c = g.c + offset, p.ldc = g.ldc;
  p.alpha = g.alpha, p.beta = depth.begin == 0 ? g.beta : 1;
  multiply_block(p);
  if (depth.begin + depth.size < g.k || g.epilogue.empty()) return;
  apply_epilogue(g.epilogue.at(offset, columns.begin), p.m, p.n, p.c, p.ldc);
}

std::int64_t right_memory(const Gemm& g) {
  if (reads_right_in_place(g)) return 0;
  return whole_columns(std::min(g.n, kBlockColumns)) * DepthBlocks(g.k).largest();
}

// Calls f(span) for pieces of [0, n) of at most `most`.
template <typename F>
void each_span(std::int64_t n, std::int64_t most, const F& f) {
  for (std::int64_t begin = 0; begin < n; begin += most) f(Span{begin, std::min(most, n - begin)});
}

// Names the columns that a thread has packed last, at the start of its memory. So its tasks of the
// same columns, which follow on each other, pack them once.
struct PackedColumns {
  const void* product = nullptr;
  std::int64_t round = 0, column = 0;

  bool operator==(const PackedColumns&) const = default;
};
constexpr std::int64_t kNoteFloats = 16;  // of a cache line
static_assert(sizeof(PackedColumns) <= kNoteFloats * sizeof(float));

// A product that all threads share, in rounds: in each, some rows of the left factor are packed for
// some blocks of the depth, and then tasks multiply them with columns of the right factor.
class SharedGemm {
 public:
  SharedGemm() = default;
  SharedGemm(const Gemm& g, std::int32_t workers)
      : g_(g), workers_(workers), block_columns_(block_columns(g, workers)) {
    const DepthBlocks blocks(g.k);
    block_ = blocks.size();
    round_rows_ = std::min(g.m, whole_rows(ceil_div(g.m, ceil_div(g.m, kSharedRows))));
    const std::int64_t many = std::max<std::int64_t>(1, kSharedFloats / (round_rows_ * block_));
    round_depth_ = std::min(many * block_, std::max<std::int64_t>(g.k, 1));
    depth_rounds_ = std::max<std::int64_t>(1, ceil_div(g.k, round_depth_));
  }

  std::int64_t rounds() const { return ceil_div(g_.m, round_rows_) * depth_rounds_; }
  std::int64_t packed_memory() const {
    return packs_left(g_) ? whole_rows(round_rows_) * round_depth_ : 0;
  }
  void set_memory(float* packed) { packed_ = packed; }

  void start_round(std::int64_t round) {
    round_ = round;
    const std::int64_t row = round / depth_rounds_ * round_rows_;
    const std::int64_t k = round % depth_rounds_ * round_depth_;
    rows_ = {row, round < rounds() ? std::min(round_rows_, g_.m - row) : 0};
    depth_ = {k, std::min(round_depth_, g_.k - k)};
    const double work = flops(g_) * static_cast<double>(rows_.size * depth_.size) /
                        std::max(1.0, static_cast<double>(g_.m) * static_cast<double>(g_.k));
    const double tasks =
        std::min(static_cast<double>(kTasksPerWorker * workers_), work / kTaskFlops);
    column_parts_ = ceil_div(g_.n, block_columns_);
    const auto row_parts = static_cast<std::int64_t>(tasks / static_cast<double>(column_parts_));
    part_rows_ = whole_rows(ceil_div(rows_.size, std::max<std::int64_t>(1, row_parts)));
    if (keeps_columns()) part_rows_ = std::min(part_rows_, task_rows());
  }
  std::int64_t pack_tasks() const { return packs_left(g_) ? ceil_div(rows_.size, kPackedRows) : 0; }
  std::int64_t tasks() const {
    return rows_.size == 0 ? 0 : ceil_div(rows_.size, part_rows_) * column_parts_;
  }

  void pack(std::int64_t task) const {
    const std::int64_t row = task * kPackedRows, count = std::min(kPackedRows, rows_.size - row);
    each_span(depth_.size, block_, [&](Span block) {
      const float* from = left_at(g_, rows_.begin + row, depth_.begin + block.begin);
      pack_left(g_.trans_a, count, block.size, from, g_.lda, packed_at(block, row));
    });
  }

  // Consecutive tasks have the same columns. `memory` starts with a PackedColumns.
  void multiply(std::int64_t task, float* memory) const {
    const std::int64_t row_parts = ceil_div(rows_.size, part_rows_);
    const std::int64_t row = task % row_parts * part_rows_;
    const std::int64_t step = block_columns_, column = task / row_parts * step;
    const Span rows = {rows_.begin + row, std::min(part_rows_, rows_.size - row)};
    const Span columns = {column, std::min(step, g_.n - column)};
    const auto block_product = [&](Span block) {
      const Span depth = {depth_.begin + block.begin, block.size};
      const Factor left = packs_left(g_) ? Factor{packed_at(block, row), block.size, Layout::packed}
                                         : left_in_place(g_, rows.begin, depth.begin);
      multiply_part(g_, rows, columns, depth, left, right_columns(columns, depth, memory));
    };
    if (depth_.size == 0) block_product({0, 0});
    each_span(depth_.size, block_, block_product);
  }

 private:
  // Whether a thread has memory for all that a round needs of some columns.
  bool keeps_columns() const { return depth_.size <= block_ && !reads_right_in_place(g_); }

  // Few enough that threads finish at about the same time.
  std::int64_t task_rows() const {
    const double of_row = flops(g_) / static_cast<double>(g_.m) / static_cast<double>(g_.k) *
                          static_cast<double>(depth_.size) / static_cast<double>(column_parts_);
    const auto worth = static_cast<std::int64_t>(kTaskFlops / std::max(1.0, of_row));
    return whole_rows(std::max(kTaskRows, worth));
  }

  Factor right_columns(Span columns, Span depth, float* memory) const {
    float* const packed = memory + kNoteFloats;
    auto* const note = reinterpret_cast<PackedColumns*>(memory);
    const PackedColumns wanted = {this, round_, columns.begin};
    if (keeps_columns() && *note == wanted) return {packed, depth.size, Layout::packed};
    *note = keeps_columns() ? wanted : PackedColumns();
    return right_factor(g_, columns, depth, packed);
  }

  float* packed_at(Span block, std::int64_t row) const {
    return packed_ + block.begin * whole_rows(round_rows_) + row * block.size;
  }

  Gemm g_;
  std::int32_t workers_ = 1;
  std::int64_t block_columns_ = kBlockColumns;
  std::int64_t block_ = 1, round_rows_ = 1, round_depth_ = 1, depth_rounds_ = 1, round_ = 0;
  float* packed_ = nullptr;
  Span rows_ = {0, 0}, depth_ = {0, 0};  // of this round
  std::int64_t part_rows_ = 1, column_parts_ = 1;
};

}  // namespace

double flops(const Gemm& g) {
  return 2 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
}

std::int64_t gemm_memory(const Gemm& g) {
  const std::int64_t left = whole_rows(std::min(g.m, kOwnRows)) * DepthBlocks(g.k).largest();
  return right_memory(g) + (packs_left(g) ? left : 0);
}

void multiply(const Gemm& g, float* memory) {
  float* const packed = memory + right_memory(g);
  DepthBlocks(g.k).each([&](std::int64_t begin, std::int64_t size) {
    each_span(g.m, kOwnRows, [&](Span rows) {
      Factor left = left_in_place(g, rows.begin, begin);
      if (packs_left(g)) {
        pack_left(g.trans_a, rows.size, size, left.data, g.lda, packed);
        left = {packed, size, Layout::packed};
      }
      each_span(g.n, block_columns(g, 1), [&](Span columns) {
        const Span depth = {begin, size};
        multiply_part(g, rows, columns, depth, left, right_factor(g, columns, depth, memory));
      });
    });
  });
}

void GemmGroup::add(const Gemm& g) {
  if (g.m > 0 && g.n > 0) products_[count_++] = g;
}

// Whether one thread is done before others have woken.
bool GemmGroup::is_small() const {
  double work = 0;
  for (std::size_t i = 0; i < count_; ++i) work += flops(products_[i]);
  return work < kTaskFlops;
}

std::int64_t GemmGroup::memory(const tv_ctx* ctx) const {
  const std::int32_t workers = ctx->host->max_workers;
  const bool small = is_small();
  std::int64_t packed = 0, own = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (small) {
      own = std::max(own, gemm_memory(products_[i]));
    } else {
      packed += SharedGemm(products_[i], workers).packed_memory();
      own = std::max(own, kNoteFloats + right_memory(products_[i]));
    }
  }
  return small ? own : packed + own * workers;
}

void GemmGroup::run(tv_ctx* ctx, float* memory) const {
  if (is_small()) {
    for (std::size_t i = 0; i < count_; ++i) multiply(products_[i], memory);
    return;
  }
  std::array<SharedGemm, kMost> shared;
  std::int64_t rounds = 0, own_memory = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    shared[i] = SharedGemm(products_[i], ctx->host->max_workers);
    shared[i].set_memory(memory);
    memory += shared[i].packed_memory();
    rounds = std::max(rounds, shared[i].rounds());
    own_memory = std::max(own_memory, kNoteFloats + right_memory(products_[i]));
  }
  for (std::int32_t worker = 0; worker < ctx->host->max_workers; ++worker) {
    new (memory + worker * own_memory) PackedColumns();
  }
  // Calls f(product, its task, memory) for the tasks of all products.
  const auto share = [&](auto count, const auto& f) {
    std::int64_t tasks = 0;
    for (const SharedGemm& g : shared) tasks += count(g);
    parallel(ctx, tasks, 1, [&](std::int64_t begin, std::int64_t end, std::int32_t worker) {
      for (std::int64_t task = begin; task < end; ++task) {
        std::int64_t at = task;
        const SharedGemm* g = shared.data();
        for (; at >= count(*g); ++g) at -= count(*g);
        f(*g, at, memory + worker * own_memory);
      }
    });
  };
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < count_; ++i) shared[i].start_round(round);
    share([](const SharedGemm& g) { return g.pack_tasks(); },
          [](const SharedGemm& g, std::int64_t task, float*) { g.pack(task); });
    share([](const SharedGemm& g) { return g.tasks(); },
          [](const SharedGemm& g, std::int64_t task, float* own) { g.multiply(task, own); });
  }
}

tv_status GemmGroup::run(tv_ctx* ctx) const {
  float* const space = scratch(ctx, memory(ctx));
  if (space == nullptr) return TV_OUT_OF_MEMORY;
  run(ctx, space);
  return TV_OK;
}

}  // namespace cpu
