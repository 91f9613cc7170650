// SPDX-License-Identifier: Apache-2.0
// Conformance of rope.

#include <cmath>

#include "conformance.h"

namespace trivet::testing {
namespace {

struct RopeCase {
  std::int64_t batch, positions, heads, width, rotary;
  std::int64_t most;  // positions are drawn below it
  float theta = 10000, sign = 1;
  bool in_place = false;
};

const RopeCase kRopeCases[] = {
    {1, 1, 1, 2, 2, 10},
    {2, 5, 3, 8, 8, 5},
    {2, 5, 3, 8, 8, 5, 10000, -1},
    {1, 70, 2, 38, 38, 70},
    {2, 9, 2, 12, 6, 9, 100},
    {2, 9, 2, 12, 6, 9, 100, -1, true},
    {1, 3, 4, 16, 16, 1 << 20},  // far apart
    {3, 4, 2, 4, 0, 9},          // nothing turns
    {2, 33, 5, 64, 64, 33, 500000, 1, true},
    {0, 4, 2, 8, 8, 9},
    {2, 0, 2, 8, 8, 9},
};

std::string case_text(const RopeCase& c) {
  const auto n = [](std::int64_t x) { return std::to_string(x); };
  return n(c.batch) + " of " + n(c.positions) + " positions, " + n(c.heads) + " heads of " +
         n(c.width) + ", " + n(c.rotary) + " of them turned, positions below " + n(c.most) +
         (c.sign < 0 ? ", back" : "") + (c.in_place ? ", in place" : "");
}

Values turned(const RopeCase& c, const Values& x, const Values& positions) {
  Values y = x;
  const std::int64_t half = c.rotary / 2;
  for (std::int64_t row = 0; row < c.batch * c.positions * c.heads; ++row) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double share = 2 * static_cast<double>(i) / static_cast<double>(c.rotary);
      const double angle = static_cast<double>(c.sign) *
                           positions[static_cast<std::size_t>(row / c.heads)] *
                           std::pow(static_cast<double>(c.theta), -share);
      const auto first = static_cast<std::size_t>(row * c.width + i);
      const auto second = first + static_cast<std::size_t>(half);
      y[first] = x[first] * std::cos(angle) - x[second] * std::sin(angle);
      y[second] = x[second] * std::cos(angle) + x[first] * std::sin(angle);
    }
  }
  return y;
}

}  // namespace

void check_rope(Kit& kit) {
  for (const RopeCase& c : kRopeCases) {
    const Extents shape = {c.batch, c.positions, c.heads, c.width};
    const Values x = random_values(181, product(shape), -2, 2);
    const Values positions = random_integers(182, c.batch * c.positions, 0, c.most);
    // An angle below 2^20 in f32 is rounded to a sixteenth.
    const double tolerance = c.most > 1000 ? 0.2 : 1e-5;
    kit.check("rope", case_text(c), tolerance, {turned(c, x, positions)}, [&](Run& run) {
      tv_rope d = {};
      d.struct_size = sizeof(d);
      const Array out = c.in_place ? run.in_out(x) : run.output(product(shape));
      d.x = c.in_place ? out.view(shape) : run.input(x).view(shape);
      d.out = out.view(shape);
      d.positions = run.input(positions, TV_I32);
      d.rotary = c.rotary;
      d.theta = c.theta;
      d.sign = c.sign;
      return run.table().rope(run.context(), &d);
    });
  }
}

}  // namespace trivet::testing
