// SPDX-License-Identifier: Apache-2.0
// The smallest complete backend: the 16 mandatory functions of <trivet/backend/backend.h> in plain
// loops, and nothing else.
//
// Copy this file to write a backend of your own. Get the conformance kit
// (<trivet/testing/backend_conformance.h>) green after every function you replace; then fill
// optional kernels one by one, those first that the run summary counts most. The functions below
// are in the order of the table. "Device memory" is ordinary memory here; its functions come from
// <trivet/backend/backend_support.h>. The loops run on the calling thread; use tv_host.parallel_for
// for more threads.

#include "backend.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include <trivet/backend/backend_support.h>
#include <trivet/backend/half.h>

// Your state of one opened device. Every call gets it back.
struct tv_ctx {
  const tv_host* host;
};

namespace tiny {
namespace {

using trivet::backends::data;
using trivet::backends::dtype_size;
using trivet::backends::element_count;

// --- Views

// Calls visit(offset of each view...) for every element, in row-major order of the first view's
// shape.
template <typename Visit, typename... View>
void for_each_element(Visit visit, const tv_view& first, const View&... others) {
  int64_t index[TV_MAX_RANK] = {};
  const auto offset = [&](const tv_view& v) {
    int64_t at = 0;
    for (int axis = 0; axis < v.rank; ++axis) at += index[axis] * v.stride[axis];
    return at;
  };
  for (int64_t n = element_count(first); n > 0; --n) {
    visit(offset(first), offset(others)...);
    for (int axis = first.rank - 1; axis >= 0; --axis) {
      if (++index[axis] < first.shape[axis]) break;
      index[axis] = 0;
    }
  }
}

// A double holds every value of every type exactly, so fill and copy convert through it.
double load(const tv_view& v, int64_t at) {
  switch (v.dtype) {
    case TV_F32:
      return data<float>(v)[at];
    case TV_BF16:
      return trivet::float_from_bf16(data<uint16_t>(v)[at]);
    case TV_F16:
      return trivet::float_from_f16(data<uint16_t>(v)[at]);
    case TV_I32:
      return data<int32_t>(v)[at];
    case TV_U32:
      return data<uint32_t>(v)[at];
    default:
      return data<uint8_t>(v)[at];
  }
}

// What a value was before.
enum class From { floats, integers };

// Out-of-range conversions are undefined in C++, so the ends of the range are written out.
template <typename Integer>
Integer to_integer(double value, From from) {
  if (from == From::integers) return static_cast<Integer>(static_cast<int64_t>(value));
  if (std::isnan(value)) return 0;
  const double low = std::numeric_limits<Integer>::min(),
               high = std::numeric_limits<Integer>::max();
  return static_cast<Integer>(std::clamp(value, low, high));
}

void store(const tv_view& v, int64_t at, double value, From from) {
  switch (v.dtype) {
    case TV_F32:
      data<float>(v)[at] = static_cast<float>(value);
      break;
    case TV_BF16:
      data<uint16_t>(v)[at] = trivet::bf16_from_float(static_cast<float>(value));
      break;
    case TV_F16:
      data<uint16_t>(v)[at] = trivet::f16_from_float(static_cast<float>(value));
      break;
    case TV_I32:
      data<int32_t>(v)[at] = to_integer<int32_t>(value, from);
      break;
    case TV_U32:
      data<uint32_t>(v)[at] = to_integer<uint32_t>(value, from);
      break;
    case TV_BOOL:
      data<uint8_t>(v)[at] = value != 0;
      break;
    default:
      data<uint8_t>(v)[at] = to_integer<uint8_t>(value, from);
      break;
  }
}

bool is_float(int dtype) {
  return dtype == TV_F32 || dtype == TV_BF16 || dtype == TV_F16;
}

// --- Device

tv_status info(tv_info* out) {
  trivet::backends::describe_processor(*out, "tiny (plain loops)");
  return TV_OK;
}

tv_status open(int32_t device, const tv_option* options, size_t option_count, const tv_host* host,
               tv_ctx** out) {
  const tv_status status =
      trivet::backends::expect_plain_open("tiny", device, options, option_count, host);
  if (status == TV_OK) *out = new tv_ctx{host};
  return status;
}

void close(tv_ctx* ctx) {
  delete ctx;
}

// --- Compute

tv_status fill(tv_ctx*, const tv_view* dst, double value) {
  for_each_element([&](int64_t at) { store(*dst, at, value, From::floats); }, *dst);
  return TV_OK;
}

tv_status copy(tv_ctx*, const tv_view* dst, const tv_view* src) {
  const From kind = is_float(src->dtype) ? From::floats : From::integers;
  const auto move = [&](int64_t to, int64_t from) { store(*dst, to, load(*src, from), kind); };
  for_each_element(move, *dst, *src);
  return TV_OK;
}

float apply(tv_unary_op op, float x) {
  switch (op) {
    case TV_NEG:
      return -x;
    case TV_ABS:
      return std::fabs(x);
    case TV_EXP:
      return std::exp(x);
    case TV_LOG:
      return std::log(x);
    case TV_SQRT:
      return std::sqrt(x);
    case TV_RSQRT:
      return 1.0f / std::sqrt(x);
    case TV_TANH:
      return std::tanh(x);
    case TV_SIGMOID:
      return 1.0f / (1.0f + std::exp(-x));
    case TV_SIN:
      return std::sin(x);
    case TV_COS:
      return std::cos(x);
    case TV_FLOOR:
      return std::floor(x);
  }
  return x;
}

tv_status unary(tv_ctx*, tv_unary_op op, const tv_view* out, const tv_view* x) {
  if (x->dtype != TV_F32 || out->dtype != TV_F32 || op < TV_NEG || op > TV_FLOOR) {
    return TV_UNSUPPORTED;
  }
  for (int64_t i = 0, n = element_count(*x); i < n; ++i) {
    data<float>(*out)[i] = apply(op, data<float>(*x)[i]);
  }
  return TV_OK;
}

float apply(tv_binary_op op, float a, float b) {
  switch (op) {
    case TV_ADD:
      return a + b;
    case TV_SUB:
      return a - b;
    case TV_MUL:
      return a * b;
    case TV_DIV:
      return a / b;
    case TV_MAX:
      return a > b || std::isnan(a) ? a : b;  // false for a NaN b, so b is returned
    case TV_MIN:
      return a < b || std::isnan(a) ? a : b;
    default:
      return std::pow(a, b);
  }
}

int32_t apply(tv_binary_op op, int32_t a, int32_t b) {
  const auto ua = static_cast<uint32_t>(a),
             ub = static_cast<uint32_t>(b);  // unsigned: overflow wraps, defined
  switch (op) {
    case TV_ADD:
      return static_cast<int32_t>(ua + ub);
    case TV_SUB:
      return static_cast<int32_t>(ua - ub);
    case TV_MUL:
      return static_cast<int32_t>(ua * ub);
    case TV_MAX:
      return std::max(a, b);
    default:
      return std::min(a, b);
  }
}

template <typename T>
tv_status binary_of(tv_binary_op op, const tv_view& out, const tv_view& a, const tv_view& b) {
  const bool compares = op == TV_LT || op == TV_EQ;
  const int out_dtype = compares ? static_cast<int>(TV_BOOL) : a.dtype;
  if (out.dtype != out_dtype) return TV_UNSUPPORTED;
  const auto visit = [&](int64_t to, int64_t ia, int64_t ib) {
    const T x = data<T>(a)[ia], y = data<T>(b)[ib];
    if (compares) {
      data<uint8_t>(out)[to] = op == TV_LT ? x < y : x == y;
    } else {
      data<T>(out)[to] = apply(op, x, y);
    }
  };
  for_each_element(visit, out, a, b);
  return TV_OK;
}

tv_status binary(tv_ctx*, tv_binary_op op, const tv_view* out, const tv_view* a, const tv_view* b) {
  if (a->dtype != b->dtype || op < TV_ADD || op > TV_EQ) return TV_UNSUPPORTED;
  if (a->dtype == TV_F32) return binary_of<float>(op, *out, *a, *b);
  if (a->dtype == TV_I32 && op != TV_DIV && op != TV_POW) {
    return binary_of<int32_t>(op, *out, *a, *b);
  }
  return TV_UNSUPPORTED;
}

tv_status select(tv_ctx*, const tv_view* out, const tv_view* cond, const tv_view* a,
                 const tv_view* b) {
  if (cond->dtype != TV_BOOL || a->dtype != out->dtype || b->dtype != out->dtype) {
    return TV_UNSUPPORTED;
  }
  const uint64_t size = dtype_size(out->dtype);
  const auto visit = [&](int64_t to, int64_t ic, int64_t ia, int64_t ib) {
    const bool first = data<uint8_t>(*cond)[ic] != 0;
    const char* from = first ? data<char>(*a) + ia * size : data<char>(*b) + ib * size;
    std::memmove(data<char>(*out) + to * size, from, size);
  };
  for_each_element(visit, *out, *cond, *a, *b);
  return TV_OK;
}

tv_status reduce(tv_ctx*, tv_reduce_op op, const tv_view* out, const tv_view* x) {
  const int out_dtype = op == TV_REDUCE_ARGMAX ? TV_I32 : TV_F32;
  if (x->dtype != TV_F32 || out->dtype != out_dtype || x->rank != 3) return TV_UNSUPPORTED;
  const int64_t outer = x->shape[0], n = x->shape[1], inner = x->shape[2];
  for (int64_t i = 0; i < outer * inner; ++i) {
    const float* from = data<float>(*x) + i / inner * n * inner + i % inner;
    double sum = 0;
    float largest = -std::numeric_limits<float>::infinity();
    int32_t where = n > 0 ? 0 : -1;
    for (int64_t j = 0; j < n; ++j) {
      const float value = from[j * inner];
      sum += value;
      if (value > largest || (std::isnan(value) && !std::isnan(largest))) {
        largest = value;
        where = static_cast<int32_t>(j);
      }
    }
    if (op == TV_REDUCE_SUM) data<float>(*out)[i] = static_cast<float>(sum);
    if (op == TV_REDUCE_MAX) data<float>(*out)[i] = largest;
    if (op == TV_REDUCE_ARGMAX) data<int32_t>(*out)[i] = where;
  }
  return TV_OK;
}

// One row of C at a time. The inner loop runs along rows of C and op(B), which a compiler
// vectorizes if B is not transposed.
void matmul_row(const tv_matmul& d, int64_t i, const float* a, const float* b, float* c) {
  for (int64_t j = 0; j < d.n; ++j) c[j] = d.beta == 0 ? 0.0f : d.beta * c[j];
  for (int64_t p = 0; p < d.k; ++p) {
    const float factor = d.alpha * (d.trans_a ? a[p * d.lda + i] : a[i * d.lda + p]);
    if (d.trans_b) {
      for (int64_t j = 0; j < d.n; ++j) c[j] += factor * b[j * d.ldb + p];
    } else {
      for (int64_t j = 0; j < d.n; ++j) c[j] += factor * b[p * d.ldb + j];
    }
  }
}

tv_status matmul(tv_ctx*, const tv_matmul* d) {
  if (d->dtype != TV_F32) return TV_UNSUPPORTED;
  for (int64_t batch = 0; batch < d->batch; ++batch) {
    const float* a = static_cast<const float*>(d->a) + batch * d->stride_a;
    const float* b = static_cast<const float*>(d->b) + batch * d->stride_b;
    float* c = static_cast<float*>(d->c) + batch * d->stride_c;
    for (int64_t i = 0; i < d->m; ++i) matmul_row(*d, i, a, b, c + i * d->ldc);
  }
  return TV_OK;
}

// All indices are checked before the first write, so that a table is never half updated.
tv_status check_indices(tv_ctx* ctx, const char* function, const tv_view& idx, int64_t rows) {
  for (int64_t i = 0, n = element_count(idx); i < n; ++i) {
    const int32_t row = data<int32_t>(idx)[i];
    if (row >= 0 && row < rows) continue;
    return trivet::backends::fail(ctx->host, std::string(function) + ": index " +
                                                 std::to_string(row) + " at position " +
                                                 std::to_string(i) + " is outside a table of " +
                                                 std::to_string(rows) + " rows");
  }
  return TV_OK;
}

tv_status gather_rows(tv_ctx* ctx, const tv_view* out, const tv_view* table, const tv_view* idx) {
  if (out->dtype != table->dtype || idx->dtype != TV_I32) return TV_UNSUPPORTED;
  const tv_status status = check_indices(ctx, "gather_rows", *idx, table->shape[0]);
  if (status != TV_OK) return status;
  const uint64_t row_bytes = static_cast<uint64_t>(table->shape[1]) * dtype_size(table->dtype);
  for (int64_t i = 0, n = element_count(*idx); i < n && row_bytes > 0; ++i) {
    const int64_t row = data<int32_t>(*idx)[i];
    std::memcpy(data<char>(*out) + i * row_bytes, data<char>(*table) + row * row_bytes, row_bytes);
  }
  return TV_OK;
}

tv_status scatter_add_rows(tv_ctx* ctx, const tv_view* table, const tv_view* idx,
                           const tv_view* src) {
  if (table->dtype != TV_F32 || src->dtype != TV_F32 || idx->dtype != TV_I32) return TV_UNSUPPORTED;
  const tv_status status = check_indices(ctx, "scatter_add_rows", *idx, table->shape[0]);
  if (status != TV_OK) return status;
  const int64_t width = table->shape[1];
  for (int64_t i = 0, n = element_count(*idx); i < n; ++i) {
    float* row = data<float>(*table) + data<int32_t>(*idx)[i] * width;
    for (int64_t j = 0; j < width; ++j) row[j] += data<float>(*src)[i * width + j];
  }
  return TV_OK;
}

}  // namespace

// [table]
// Kernels that are not named stay null: the SDK falls back to the functions above.
const tv_backend* get() {
  static const tv_backend table = [] {
    tv_backend t = trivet::backends::empty_table();
    trivet::backends::use_ordinary_memory(t);
    t.info = info;
    t.open = open;
    t.close = close;
    t.fill = fill;
    t.copy = copy;
    t.unary = unary;
    t.binary = binary;
    t.select = select;
    t.reduce = reduce;
    t.matmul = matmul;
    t.gather_rows = gather_rows;
    t.scatter_add_rows = scatter_add_rows;
    return t;
  }();
  return &table;
}
// [/table]

}  // namespace tiny
