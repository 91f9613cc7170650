// SPDX-License-Identifier: Apache-2.0
// Orthogonal matrices by Gram-Schmidt of normal ones. That is their QR decomposition whose R has a
// positive diagonal, and such a Q is distributed uniformly (Mezzadri 2007).
#include "layer/orthogonal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "trivet/config/enums.h"
#include "trivet/error.h"

namespace trivet {
namespace {

// Four sums, so that additions need not wait for each other.
double dot(std::span<const double> a, std::span<const double> b) {
  std::array<double, 4> sums{};
  const std::size_t whole = a.size() / 4 * 4;
  for (std::size_t i = 0; i < whole; i += 4) {
    for (std::size_t k = 0; k < 4; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (std::size_t i = whole; i < a.size(); ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// `matrix` holds rows x columns normal values. One pass leaves products of about 1e-16 times the
// condition of the matrix, which is far below what a float can show.
void orthogonalize(std::span<float> matrix, std::size_t columns, double scale) {
  const std::size_t rows = matrix.size() / columns;
  const std::size_t count = std::min(rows, columns), length = std::max(rows, columns);
  const auto element = [&](std::size_t vector, std::size_t i) -> float& {
    return rows >= columns ? matrix[i * columns + vector] : matrix[vector * columns + i];
  };
  std::vector<double> vectors(count * length);
  for (std::size_t v = 0; v < count; ++v) {
    const std::span<double> mine(vectors.data() + v * length, length);
    for (std::size_t i = 0; i < length; ++i) mine[i] = static_cast<double>(element(v, i));
    for (std::size_t u = 0; u < v; ++u) {
      const std::span<const double> earlier(vectors.data() + u * length, length);
      const double share = dot(earlier, mine);
      for (std::size_t i = 0; i < length; ++i) mine[i] -= share * earlier[i];
    }
    const double norm = std::sqrt(dot(mine, mine));
    for (double& value : mine) value /= norm;
    for (std::size_t i = 0; i < length; ++i) element(v, i) = static_cast<float>(scale * mine[i]);
  }
}

// All axes but the last: what a filter sees of its input.
std::int64_t counted_fan_in(const Shape& shape) {
  std::int64_t rows = 1;
  for (int axis = 0; axis < shape.rank() - 1; ++axis) rows *= shape[axis];
  return rows;
}

}  // namespace

void check_orthogonal(Init method, std::string_view what, const Shape& shape, std::int64_t fan_in) {
  if (method != Init::orthogonal && method != Init::delta_orthogonal) return;
  const std::string cannot = "init.method = \"" + std::string(enum_name(method)) +
                             "\" cannot start " + std::string(what) + shape.to_string();
  if (shape.rank() < 2) {
    throw Error(cannot + ", which is no matrix",
                {.hint = "choose another method, such as normal, where weights have one axis"});
  }
  if (fan_in == 0 || fan_in == counted_fan_in(shape)) return;
  if (method == Init::delta_orthogonal) {
    throw Error(cannot + ", whose first axes are no height and width",
                {.hint = "orthogonal makes a matrix of each part"});
  }
  if (counted_fan_in(shape) % fan_in != 0) {
    throw Error(cannot + ", which does not divide into matrices of fan_in = " +
                std::to_string(fan_in) + " rows");
  }
}

void fill_orthogonal(const InitConfig& init, RngKey key, const Shape& shape, std::int64_t fan_in,
                     std::span<float> out) {
  check_orthogonal(init.method, "", shape, fan_in);
  if (out.empty()) return;
  const auto columns = static_cast<std::size_t>(shape[-1]);
  const std::int64_t rows = fan_in > 0 ? fan_in : counted_fan_in(shape);
  if (init.method == Init::orthogonal) {
    random_normal(key, 0, 1, out);
    const std::size_t size = static_cast<std::size_t>(rows) * columns;
    for (std::size_t at = 0; at < out.size(); at += size) {
      orthogonalize(out.subspan(at, size), columns, init.scale);
    }
    return;
  }
  std::int64_t center = 0;
  for (int axis = 0; axis < shape.rank() - 2; ++axis) {
    center = center * shape[axis] + (shape[axis] - 1) / 2;
  }
  const std::size_t size = static_cast<std::size_t>(shape[-2]) * columns;
  std::fill(out.begin(), out.end(), 0.0f);
  const std::span<float> matrix = out.subspan(static_cast<std::size_t>(center) * size, size);
  random_normal(key, 0, 1, matrix);
  orthogonalize(matrix, columns, init.scale);
}

}  // namespace trivet
