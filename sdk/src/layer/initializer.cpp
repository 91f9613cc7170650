// SPDX-License-Identifier: Apache-2.0
// Starting values of parameters. Bounds and standard deviations are computed in double.
#include "trivet/layer/initializer.h"

#include <algorithm>
#include <cmath>

#include "layer/orthogonal.h"
#include "trivet/error.h"

namespace trivet {
namespace {

struct Fans {
  double in = 1;
  double out = 1;
};

// As TensorFlow counts them: a vector's fans are both its length; else the last two axes, times the
// receptive field in front of them. A fan of 0 would divide by zero; nothing is drawn then anyway.
Fans fans_of(const Shape& shape, std::int64_t fan_in, std::int64_t fan_out) {
  Fans fans;
  if (shape.rank() == 1) {
    fans = {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  } else if (shape.rank() > 1) {
    double field = 1;
    for (int axis = 0; axis < shape.rank() - 2; ++axis) field *= static_cast<double>(shape[axis]);
    fans = {field * static_cast<double>(shape[-2]), field * static_cast<double>(shape[-1])};
  }
  if (fan_in > 0) fans.in = static_cast<double>(fan_in);
  if (fan_out > 0) fans.out = static_cast<double>(fan_out);
  return {std::max(fans.in, 1.0), std::max(fans.out, 1.0)};
}

}  // namespace

bool is_drawn_in_parts(Init method) {
  return method != Init::orthogonal && method != Init::delta_orthogonal;
}

void initialize(const InitConfig& init, RngKey key, const Shape& shape, std::int64_t fan_in,
                std::int64_t fan_out, std::span<float> out, std::int64_t first) {
  const std::int64_t count = std::ssize(out);
  const bool fits = is_drawn_in_parts(init.method)
                        ? first >= 0 && first <= shape.size() && count <= shape.size() - first
                        : first == 0 && count == shape.size();
  if (!fits) {
    throw Error("[initialize] room for " + std::to_string(count) + " values from " +
                std::to_string(first) + ", the shape is " + shape.to_string());
  }
  const auto from = static_cast<std::uint64_t>(first);
  const auto uniform = [&](double bound) { random_uniform(key, -bound, bound, out, from); };
  const auto normal = [&](double deviation) { random_normal(key, 0, deviation, out, from); };
  const auto truncated = [&](double deviation) {
    random_truncated_normal(key, 0, deviation, out, from);
  };
  const double scale = init.scale;
  const Fans fans = fans_of(shape, fan_in, fan_out);
  switch (init.method) {
    case Init::layer_default:
      throw Error("[initialize] layer_default means a layer's own default, and none was given",
                  {.hint = "set ParameterOptions::fallback to another method"});
    case Init::constant:
      return std::fill(out.begin(), out.end(), static_cast<float>(scale));
    case Init::uniform:
      return uniform(scale);
    case Init::uniform_positive:
      return random_uniform(key, 0, scale, out, from);
    case Init::normal:
      return normal(scale);
    case Init::truncated_normal:
      return truncated(scale);
    case Init::xavier_uniform:
      return uniform(scale * std::sqrt(6 / (fans.in + fans.out)));
    case Init::xavier_normal:
      return normal(scale * std::sqrt(2 / (fans.in + fans.out)));
    case Init::he_uniform:
      return uniform(scale * std::sqrt(6 / fans.in));
    case Init::he_normal:
      return normal(scale * std::sqrt(2 / fans.in));
    case Init::lecun_uniform:
      return uniform(scale * std::sqrt(3 / fans.in));
    case Init::lecun_normal:
      return normal(scale * std::sqrt(1 / fans.in));
    case Init::fan_in_uniform:
      return uniform(scale / std::sqrt(fans.in));
    case Init::fan_in_truncated_normal:
      return truncated(scale / std::sqrt(fans.in));
    case Init::fan_out_uniform:
      return uniform(scale / std::sqrt(fans.out));
    case Init::fan_out_normal:
      return normal(scale / std::sqrt(fans.out));
    case Init::fan_out_truncated_normal:
      return truncated(scale / std::sqrt(fans.out));
    case Init::orthogonal:
    case Init::delta_orthogonal:
      return fill_orthogonal(init, key, shape, fan_in, out);
  }
  throw Error("[initialize] unknown method");
}

}  // namespace trivet
