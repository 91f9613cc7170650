// SPDX-License-Identifier: Apache-2.0
// Conformance of reduce, gather_rows and scatter_add_rows.

#include <cmath>
#include <limits>

#include "conformance.h"

namespace trivet::testing {
namespace {

Values reduced(tv_reduce_op op, const Values& x, const Extents& s) {
  Values out;
  for (std::int64_t o = 0; o < s[0]; ++o) {
    for (std::int64_t i = 0; i < s[2]; ++i) {
      double sum = 0, most = -std::numeric_limits<double>::infinity(), where = s[1] ? 0 : -1;
      for (std::int64_t j = 0; j < s[1]; ++j) {
        const double value = x[static_cast<std::size_t>((o * s[1] + j) * s[2] + i)];
        sum += value;
        if (value > most || (std::isnan(value) && !std::isnan(most))) {
          most = value;
          where = static_cast<double>(j);
        }
      }
      out.push_back(op == TV_REDUCE_SUM ? sum : op == TV_REDUCE_MAX ? most : where);
    }
  }
  return out;
}

struct RowCase {
  std::int64_t rows, width, count;
};
const RowCase kRowCases[] = {{1, 1, 1},  {5, 3, 0},      {5, 0, 4},
                             {7, 3, 20}, {50, 33, 1000}, {9, 300, 7}};

std::string case_text(const RowCase& c) {
  return std::to_string(c.count) + " of " + std::to_string(c.rows) + "x" + std::to_string(c.width);
}

using RowCall = tv_status (*)(Run& run, const tv_view* rows, const tv_view* table,
                              const tv_view* which);

void check_bad_indices(Kit& kit, const char* function, RowCall call) {
  for (const double bad : {-1.0, 5.0, 2147483647.0, -2147483648.0}) {
    const std::string subject = "index " + std::to_string(static_cast<std::int64_t>(bad)) + " of 5";
    kit.check_error(function, subject, [&](Run& run) {
      const tv_view rows = run.in_out(Values(12, 1)).view({4, 3});
      const tv_view table = run.in_out(Values(15, 1)).view({5, 3});
      const tv_view which = run.input({0, 4, bad, 1}, TV_I32).view({4});
      return call(run, &rows, &table, &which);
    });
  }
}

}  // namespace

void check_reduce(Kit& kit) {
  const std::pair<tv_reduce_op, const char*> ops[] = {
      {TV_REDUCE_SUM, "sum"}, {TV_REDUCE_MAX, "max"}, {TV_REDUCE_ARGMAX, "argmax"}};
  const Extents shapes[] = {{1, 1, 1},      {0, 5, 3},      {5, 0, 3},   {5, 3, 0},
                            {4, 7, 1},      {1, 7, 5},      {3, 17, 19}, {1, 1000, 3},
                            {70000, 3, 1},  {1, 300, 1031}, {2, 1, 100}, {9, 1001, 1},
                            {1, 200003, 1}, {1, 70001, 2}};
  for (const auto& [op, name] : ops) {
    for (const Extents& shape : shapes) {
      for (const bool nan : {false, true}) {
        // Whole numbers give ties, and sums that are exact in any order.
        Values x = random_integers(51, product(shape), -8, 9);
        if (nan && (x.size() < 20 || x.size() > 1000)) continue;
        if (nan) x[x.size() / 3] = x[x.size() / 2] = NAN;
        const std::string subject = std::string(name) + " " + to_text(shape) + (nan ? " NaN" : "");
        const std::int64_t n = shape[0] * shape[2];
        kit.check("reduce", subject, 0, {reduced(op, x, shape)}, [&, op = op](Run& run) {
          const int dtype = op == TV_REDUCE_ARGMAX ? TV_I32 : TV_F32;
          const tv_view out = run.output(n, dtype).view({shape[0], shape[2]});
          const tv_view in = run.input(x).view(shape);
          return run.table().reduce(run.context(), op, &out, &in);
        });
      }
    }
  }
  const Values x = random_values(52, 100003);
  kit.check("reduce", "sum of 100003 fractions", 2e-5, {reduced(TV_REDUCE_SUM, x, {1, 100003, 1})},
            [&](Run& run) {
              const tv_view out = run.output(1).view({1, 1});
              const tv_view in = run.input(x).view({1, 100003, 1});
              return run.table().reduce(run.context(), TV_REDUCE_SUM, &out, &in);
            });
}

void check_gather_rows(Kit& kit) {
  for (const int dtype : {TV_F32, TV_I32, TV_BF16, TV_U8}) {
    if (!kit.stores(dtype)) continue;
    for (const RowCase& c : kRowCases) {
      const Values table = random_integers(61, c.rows * c.width, 0, 100);
      const Values idx = random_integers(62, c.count, 0, static_cast<int>(c.rows));
      Values want;
      for (const double row : idx) {
        const auto from = table.begin() + static_cast<std::ptrdiff_t>(row) * c.width;
        want.insert(want.end(), from, from + c.width);
      }
      kit.check("gather_rows", std::string(dtype_name(dtype)) + " " + case_text(c), 0, {want},
                [&](Run& run) {
                  const tv_view out = run.output(c.count * c.width, dtype).view({c.count, c.width});
                  const tv_view from = run.input(table, dtype).view({c.rows, c.width});
                  const tv_view which = run.input(idx, TV_I32).view({c.count});
                  return run.table().gather_rows(run.context(), &out, &from, &which);
                });
    }
  }
  check_bad_indices(kit, "gather_rows", [](Run& run, auto* rows, auto* table, auto* which) {
    return run.table().gather_rows(run.context(), rows, table, which);
  });
}

void check_scatter_add_rows(Kit& kit) {
  for (const RowCase& c : kRowCases) {
    const Values start = random_values(63, c.rows * c.width);
    const Values src = random_values(64, c.count * c.width);
    const Values idx = random_integers(65, c.count, 0, static_cast<int>(c.rows));
    // In float and in the order of i: the header fixes the order, so the bits are fixed too.
    std::vector<float> sum(start.begin(), start.end());
    for (std::int64_t i = 0; i < c.count; ++i) {
      for (std::int64_t j = 0; j < c.width; ++j) {
        const auto to = static_cast<std::int64_t>(idx[static_cast<std::size_t>(i)]) * c.width + j;
        sum[static_cast<std::size_t>(to)] +=
            static_cast<float>(src[static_cast<std::size_t>(i * c.width + j)]);
      }
    }
    kit.check("scatter_add_rows", case_text(c), 0, {Values(sum.begin(), sum.end())}, [&](Run& run) {
      const tv_view table = run.in_out(start).view({c.rows, c.width});
      const tv_view from = run.input(src).view({c.count, c.width});
      const tv_view which = run.input(idx, TV_I32).view({c.count});
      return run.table().scatter_add_rows(run.context(), &table, &which, &from);
    });
  }
  check_bad_indices(kit, "scatter_add_rows", [](Run& run, auto* rows, auto* table, auto* which) {
    return run.table().scatter_add_rows(run.context(), table, which, rows);
  });
}

}  // namespace trivet::testing
