// SPDX-License-Identifier: Apache-2.0
// Conformance of fill and copy: every type, every pair of types, strides of every kind.

#include <cmath>
#include <limits>

#include "conformance.h"

namespace trivet::testing {
namespace {

constexpr int kDtypes[] = {TV_F32, TV_BF16, TV_F16, TV_I32, TV_U8, TV_BOOL, TV_U32};

bool is_float(int dtype) {
  return dtype == TV_F32 || dtype == TV_BF16 || dtype == TV_F16;
}

// What a value becomes in another type, by the rules of the header; encode() has the conversions
// from a float, integers that narrow keep their low bits.
double converted(double value, int from, int to) {
  if (!is_float(from) && to == TV_U8) {
    return static_cast<double>(static_cast<std::int64_t>(value) & 255);
  }
  if (!is_float(from) && to == TV_I32) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(value)));
  }
  if (!is_float(from) && to == TV_U32) {
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(value));
  }
  return decode(encode({value}, to), to)[0];
}

Values samples(int dtype) {
  const double inf = std::numeric_limits<double>::infinity();
  Values values;
  if (is_float(dtype)) {
    values = {0,      -0.0, 1,      -1,         0.5,         1.5,   2.5,     -0.75,
              255.9,  256,  300,    -3.25,      1e6,         65504, 65519.9, 65520,
              -70000, 3e9,  -3e9,   5e9,        inf,         -inf,  3e-5,    6e-8,
              2e-8,   1e-7, 1.0009, 1.00048828, 1.001464844, 0.1,   1.0 / 3, std::nan("")};
  } else {
    values = {0,     1,  2,    127,  128,      255,          256,           257,         65535,
              65537, -1, -128, -300, 16777217, 2147483647.0, -2147483648.0, 4294967295.0};
  }
  return decode(encode(values, dtype), dtype);
}

void check_casts(Kit& kit) {
  for (const int from : kDtypes) {
    for (const int to : kDtypes) {
      if (!kit.stores(from) || !kit.stores(to)) continue;
      Values values = samples(from), want;
      for (const double value : values) want.push_back(converted(value, from, to));
      const auto n = static_cast<std::int64_t>(values.size());
      const std::string subject = std::string(dtype_name(from)) + " to " + dtype_name(to);
      kit.check("copy", subject, 0, {want}, [&](Run& run) {
        const tv_view src = run.input(values, from).view({n});
        const tv_view dst = run.output(n, to).view({n});
        return run.table().copy(run.context(), &dst, &src);
      });
    }
  }
}

struct Layout {
  const char* name;
  Extents shape, src_stride, dst_stride;
  std::int64_t src_offset, dst_offset;
};

const Layout kLayouts[] = {
    {"scalar", {}, {}, {}, 0, 0},
    {"empty", {3, 0, 2}, {0, 2, 1}, {0, 2, 1}, 0, 0},
    {"one", {1, 1}, {1, 1}, {1, 1}, 0, 0},
    {"contiguous", {3, 5}, {5, 1}, {5, 1}, 0, 0},
    {"transpose", {37, 53}, {1, 37}, {53, 1}, 0, 0},
    {"large transpose", {300, 257}, {1, 300}, {257, 1}, 0, 0},
    {"transpose written", {53, 37}, {37, 1}, {1, 53}, 0, 0},
    {"swap of middle axes", {3, 4, 5, 6}, {120, 6, 24, 1}, {120, 30, 6, 1}, 0, 0},
    {"slice", {4, 3}, {10, 1}, {3, 1}, 23, 0},
    {"every second", {9}, {2}, {1}, 1, 0},
    {"into a slice", {4, 3}, {3, 1}, {11, 1}, 0, 5},
    {"broadcast rows", {6, 7}, {0, 1}, {7, 1}, 0, 0},
    {"broadcast columns", {6, 7}, {1, 0}, {7, 1}, 0, 0},
    {"broadcast a scalar", {6, 7}, {0, 0}, {7, 1}, 0, 0},
    {"rank 6", {2, 3, 2, 2, 3, 2}, {1, 2, 6, 12, 24, 72}, {72, 24, 12, 6, 2, 1}, 0, 0},
    {"patches", {4, 3, 3, 3, 2}, {12, 2, 12, 2, 1}, {54, 18, 6, 2, 1}, 0, 0},
    {"long rows", {3, 40001}, {40001, 1}, {40001, 1}, 0, 0},
};

std::int64_t reach(const Extents& shape, const Extents& stride, std::int64_t offset) {
  std::int64_t last = offset;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) return offset;
    last += (shape[axis] - 1) * stride[axis];
  }
  return last + 1;
}

Values copied(const Layout& l, const Values& src, Values dst) {
  Extents index(l.shape.size(), 0);
  for (std::int64_t n = product(l.shape); n > 0; --n) {
    std::int64_t from = l.src_offset, to = l.dst_offset;
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      from += index[axis] * l.src_stride[axis];
      to += index[axis] * l.dst_stride[axis];
    }
    dst[static_cast<std::size_t>(to)] = src[static_cast<std::size_t>(from)];
    for (std::size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < l.shape[axis]) break;
      index[axis] = 0;
    }
  }
  return dst;
}

void check_layouts(Kit& kit) {
  for (const int dtype : kDtypes) {
    if (!kit.stores(dtype)) continue;
    for (const Layout& layout : kLayouts) {
      const int low = dtype == TV_BOOL ? 0 : 1, high = dtype == TV_BOOL ? 2 : 200;
      const Values src =
          random_integers(11, reach(layout.shape, layout.src_stride, layout.src_offset), low, high);
      const Values start(
          static_cast<std::size_t>(reach(layout.shape, layout.dst_stride, layout.dst_offset)), 1);
      const std::string subject = std::string(dtype_name(dtype)) + " " + layout.name;
      kit.check("copy", subject, 0, {copied(layout, src, start)}, [&](Run& run) {
        const tv_view from =
            run.input(src, dtype).strided(layout.shape, layout.src_stride, layout.src_offset);
        const tv_view to =
            run.in_out(start, dtype).strided(layout.shape, layout.dst_stride, layout.dst_offset);
        return run.table().copy(run.context(), &to, &from);
      });
    }
  }
}

}  // namespace

void check_fill(Kit& kit) {
  for (const int dtype : kDtypes) {
    if (!kit.stores(dtype)) continue;
    for (const Extents& shape : {Extents{}, Extents{0}, Extents{3, 7}, Extents{70001}}) {
      const double value = dtype == TV_BOOL ? 1 : is_float(dtype) ? -2.5 : 7;
      const std::string subject = std::string(dtype_name(dtype)) + " " + to_text(shape);
      const Values want(static_cast<std::size_t>(product(shape)), value);
      kit.check("fill", subject, 0, {want}, [&](Run& run) {
        const tv_view out = run.output(product(shape), dtype).view(shape);
        return run.table().fill(run.context(), &out, value);
      });
    }
  }
  kit.check("fill", "f32 with NaN", 0, {Values(5, std::nan(""))}, [&](Run& run) {
    const tv_view out = run.output(5).view({5});
    return run.table().fill(run.context(), &out, std::nan(""));
  });
}

void check_copy(Kit& kit) {
  check_casts(kit);
  check_layouts(kit);
}

}  // namespace trivet::testing
