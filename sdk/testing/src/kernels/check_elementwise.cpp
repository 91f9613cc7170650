// SPDX-License-Identifier: Apache-2.0
// Conformance of unary, binary and select.

#include <algorithm>
#include <cmath>
#include <limits>

#include "conformance.h"

namespace trivet::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct UnaryCase {
  tv_unary_op op;
  const char* name;
  double (*want)(double);
  double low, high;  // of random arguments
  double tolerance;
  Values special;  // arguments tried besides
};

const UnaryCase kUnary[] = {
    {TV_NEG, "neg", [](double x) { return -x; }, -9, 9, 0, {0, kInf, -kInf, NAN}},
    {TV_ABS, "abs", [](double x) { return std::fabs(x); }, -9, 9, 0, {-0.0, kInf, -kInf, NAN}},
    {TV_EXP,
     "exp",
     [](double x) { return std::exp(x); },
     -20,
     20,
     2e-6,
     {0, -0.0, 80, -80, 89, 200, -200, -kInf, kInf, NAN}},
    {TV_LOG,
     "log",
     [](double x) { return std::log(x); },
     1e-6,
     50,
     1e-6,
     {1, 0, 1e-30, 1e30, kInf, -1, NAN}},
    {TV_SQRT,
     "sqrt",
     [](double x) { return std::sqrt(x); },
     0,
     50,
     1e-6,
     {0, 1, 4, 1e30, kInf, -1, NAN}},
    {TV_RSQRT,
     "rsqrt",
     [](double x) { return 1 / std::sqrt(x); },
     1e-3,
     50,
     1e-6,
     {1, 4, 1e30, 1e-30, kInf, NAN}},
    {TV_TANH,
     "tanh",
     [](double x) { return std::tanh(x); },
     -5,
     5,
     1e-6,
     {0, 1e-4, -1e-4, 30, -30, 1e30, kInf, -kInf, NAN}},
    {TV_SIGMOID,
     "sigmoid",
     [](double x) { return 1 / (1 + std::exp(-x)); },
     -9,
     9,
     1e-6,
     {0, 40, -40, 200, -200, kInf, -kInf, NAN}},
    {TV_SIN, "sin", [](double x) { return std::sin(x); }, -100, 100, 1e-6, {0, 1e-4, 1000, NAN}},
    {TV_COS, "cos", [](double x) { return std::cos(x); }, -100, 100, 1e-6, {0, 1e-4, 1000, NAN}},
    {TV_FLOOR,
     "floor",
     [](double x) { return std::floor(x); },
     -9,
     9,
     0,
     {0, -0.5, 2, -2, 8388609, 3e9, -3e9, kInf, -kInf, NAN}},
};

double larger(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
}
double smaller(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
}

struct BinaryCase {
  tv_binary_op op;
  const char* name;
  double (*want)(double, double);
  bool integers;  // taken for i32 too
  double tolerance;
};

const BinaryCase kBinary[] = {
    {TV_ADD, "add", [](double a, double b) { return a + b; }, true, 1e-7},
    {TV_SUB, "sub", [](double a, double b) { return a - b; }, true, 1e-7},
    {TV_MUL, "mul", [](double a, double b) { return a * b; }, true, 1e-7},
    {TV_DIV, "div", [](double a, double b) { return a / b; }, false, 1e-6},
    {TV_MAX, "max", larger, true, 0},
    {TV_MIN, "min", smaller, true, 0},
    {TV_POW, "pow", [](double a, double b) { return std::pow(std::fabs(a), b); }, false, 2e-6},
    {TV_LT, "lt", [](double a, double b) { return a < b ? 1.0 : 0.0; }, true, 0},
    {TV_EQ, "eq", [](double a, double b) { return a == b ? 1.0 : 0.0; }, true, 0},
};

struct Operands {
  const char* name;
  Extents shape, a_stride, b_stride;
};

const Operands kOperands[] = {
    {"scalars", {}, {}, {}},
    {"empty", {3, 0}, {0, 1}, {0, 1}},
    {"one", {1}, {1}, {1}},
    {"odd", {3, 7}, {7, 1}, {7, 1}},
    {"large", {70001}, {1}, {1}},
    {"b a scalar", {9, 13}, {13, 1}, {0, 0}},
    {"a a scalar", {9, 13}, {0, 0}, {13, 1}},
    {"b a row", {9, 13}, {13, 1}, {0, 1}},
    {"b a row, many", {300, 130}, {130, 1}, {0, 1}},
    {"b a column", {9, 13}, {13, 1}, {1, 0}},
    {"a a column", {150, 260}, {1, 0}, {260, 1}},
    {"a a column, b a row", {9, 13}, {1, 0}, {0, 1}},
    {"b without its middle axis", {4, 5, 6}, {30, 6, 1}, {6, 0, 1}},
    {"b with its middle axis only", {4, 5, 6}, {30, 6, 1}, {0, 1, 0}},
    {"six axes that collapse to three",
     {2, 2, 3, 1, 2, 2},
     {24, 12, 4, 4, 2, 1},
     {2, 1, 0, 0, 0, 0}},
    {"both scalars", {5, 3}, {0, 0}, {0, 0}},
};

std::int64_t elements(const Extents& shape, const Extents& stride) {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) return 0;
    last += (shape[axis] - 1) * stride[axis];
  }
  return last + 1;
}

// The values of a strided operand in row-major order.
Values spread(const Values& values, const Extents& shape, const Extents& stride) {
  Values out;
  for (std::int64_t i = 0, n = product(shape); i < n; ++i) {
    std::int64_t rest = i, at = 0;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      at += rest % shape[axis] * stride[axis];
      rest /= shape[axis];
    }
    out.push_back(values[static_cast<std::size_t>(at)]);
  }
  return out;
}

void check_binary_operands(Kit& kit, const BinaryCase& c, const Operands& o, int dtype) {
  const bool integers = dtype == TV_I32;
  const std::int64_t na = elements(o.shape, o.a_stride), nb = elements(o.shape, o.b_stride);
  Values a = integers ? random_integers(31, na, -5, 6) : random_values(31, na, -4, 4);
  Values b = integers ? random_integers(32, nb, -5, 6) : random_values(32, nb, -4, 4);
  if (!integers && na > 20) a[3] = NAN, a[5] = kInf, a[6] = -kInf;
  if (!integers && nb > 20) b[4] = NAN, b[5] = kInf, b[9] = kInf;
  if (!integers && na == nb && na > 20) a[8] = b[8];
  if (c.op == TV_POW) {
    for (double& value : a) value = std::fabs(value);
  }
  const Values left = spread(a, o.shape, o.a_stride), right = spread(b, o.shape, o.b_stride);
  Values want;
  for (std::size_t i = 0; i < left.size(); ++i) want.push_back(c.want(left[i], right[i]));
  const int out_dtype = c.op == TV_LT || c.op == TV_EQ ? static_cast<int>(TV_BOOL) : dtype;
  const std::string subject = std::string(c.name) + " " + dtype_name(dtype) + ", " + o.name;
  kit.check("binary", subject, c.tolerance, {want}, [&](Run& run) {
    const tv_view out = run.output(product(o.shape), out_dtype).view(o.shape);
    const tv_view va = run.input(a, dtype).strided(o.shape, o.a_stride);
    const tv_view vb = run.input(b, dtype).strided(o.shape, o.b_stride);
    return run.table().binary(run.context(), c.op, &out, &va, &vb);
  });
}

void check_binary_in_place(Kit& kit, const BinaryCase& c) {
  const Values a = random_values(33, 39, 0.5, 4), row = random_values(34, 13, 0.5, 4);
  const Extents shape{3, 13}, contiguous{13, 1}, broadcast{0, 1};
  const Values wide = spread(row, shape, broadcast);
  Values on_a, on_b;
  for (std::size_t i = 0; i < a.size(); ++i) {
    on_a.push_back(c.want(a[i], wide[i]));
    on_b.push_back(c.want(wide[i], a[i]));
  }
  for (const bool first : {true, false}) {
    const std::string subject = std::string(c.name) + " in place on " + (first ? "a" : "b");
    kit.check("binary", subject, c.tolerance, {first ? on_a : on_b}, [&](Run& run) {
      const tv_view out = run.in_out(a).view(shape);
      const tv_view other = run.input(row).strided(shape, broadcast);
      return run.table().binary(run.context(), c.op, &out, first ? &out : &other,
                                first ? &other : &out);
    });
  }
}

}  // namespace

void check_unary(Kit& kit) {
  for (const UnaryCase& c : kUnary) {
    for (const std::int64_t n : {0, 1, 7, 64, 1003, 70001}) {
      Values x = random_values(21, n, c.low, c.high);
      if (n == 1003) std::copy(c.special.begin(), c.special.end(), x.begin() + 500);
      for (double& value : x) value = static_cast<float>(value);
      Values want;
      for (const double value : x) want.push_back(static_cast<float>(c.want(value)));
      const std::string subject = std::string(c.name) + " of " + std::to_string(n);
      kit.check("unary", subject, c.tolerance, {want}, [&](Run& run) {
        const tv_view in = run.input(x).view({n}), out = run.output(n).view({n});
        return run.table().unary(run.context(), c.op, &out, &in);
      });
    }
  }
}

void check_binary(Kit& kit) {
  for (const BinaryCase& c : kBinary) {
    for (const Operands& o : kOperands) {
      check_binary_operands(kit, c, o, TV_F32);
      if (c.integers) check_binary_operands(kit, c, o, TV_I32);
    }
    if (c.op != TV_LT && c.op != TV_EQ) check_binary_in_place(kit, c);
  }
}

void check_select(Kit& kit) {
  for (const int dtype : {TV_F32, TV_I32, TV_BOOL, TV_BF16, TV_U8}) {
    if (!kit.stores(dtype)) continue;
    for (const Operands& o : kOperands) {
      const std::int64_t n = product(o.shape);
      const int high = dtype == TV_BOOL ? 2 : 100;
      const Values cond = random_integers(41, n, 0, 2);
      const Values a = random_integers(42, elements(o.shape, o.a_stride), 0, high);
      const Values b = random_integers(43, elements(o.shape, o.b_stride), 0, high);
      const Values left = spread(a, o.shape, o.a_stride), right = spread(b, o.shape, o.b_stride);
      Values want;
      for (std::size_t i = 0; i < cond.size(); ++i) {
        want.push_back(cond[i] != 0 ? left[i] : right[i]);
      }
      const std::string subject = std::string(dtype_name(dtype)) + " " + o.name;
      kit.check("select", subject, 0, {want}, [&](Run& run) {
        const tv_view out = run.output(n, dtype).view(o.shape);
        const tv_view vc = run.input(cond, TV_BOOL).view(o.shape);
        const tv_view va = run.input(a, dtype).strided(o.shape, o.a_stride);
        const tv_view vb = run.input(b, dtype).strided(o.shape, o.b_stride);
        return run.table().select(run.context(), &out, &vc, &va, &vb);
      });
    }
  }
}

}  // namespace trivet::testing
