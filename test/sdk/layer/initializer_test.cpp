// SPDX-License-Identifier: Apache-2.0
// Initial values: their distributions against the published bounds and deviations, orthogonal ones
// against a QR decomposition by reflections.
#include "trivet/layer/initializer.h"

#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "trivet/error.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/tensor/meta_device.h"

namespace initializer_test {
namespace {

using Catch::Contains;
using trivet::Init;
using trivet::RngKey;
using trivet::Shape;

std::vector<float> drawn(Init method, double scale, const Shape& shape, std::int64_t fan_in = 0,
                         std::int64_t fan_out = 0) {
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  trivet::initialize({method, scale}, RngKey(3), shape, fan_in, fan_out, values);
  return values;
}

std::vector<float> part_drawn(Init method, const Shape& shape, std::int64_t first,
                              std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  trivet::initialize({method, 2}, RngKey(3), shape, 0, 0, values, first);
  return values;
}

double largest(const std::vector<float>& values) {
  double most = 0;
  for (const float value : values) most = std::max(most, std::abs(static_cast<double>(value)));
  return most;
}

double mean(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(values.size());
}

double deviation(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

using Column = std::vector<double>;
using Columns = std::vector<Column>;

// The first columns of Q in A = Q R by reflections (Householder), R's diagonal positive.
Columns q_of(Columns a) {
  const std::size_t count = a.size(), length = a[0].size();
  Columns reflections, q;
  std::vector<double> signs;
  const auto reflect = [](const Column& v, Column& x) {
    double product = 0;
    for (std::size_t i = 0; i < x.size(); ++i) product += v[i] * x[i];
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= 2 * product * v[i];
  };
  for (std::size_t k = 0; k < count; ++k) {
    for (const Column& v : reflections) reflect(v, a[k]);
    Column v(length, 0);
    double norm = 0, square = 0;
    for (std::size_t i = k; i < length; ++i) norm += a[k][i] * a[k][i];
    norm = std::sqrt(norm);
    for (std::size_t i = k; i < length; ++i) v[i] = a[k][i];
    // The reflection takes the column to -sign * norm, which is R's diagonal.
    signs.push_back(a[k][k] > 0 ? -1 : 1);
    v[k] -= signs.back() * norm;
    for (const double x : v) square += x * x;
    for (double& x : v) x /= std::sqrt(square);
    reflections.push_back(v);
  }
  for (std::size_t k = 0; k < count; ++k) {
    Column unit(length, 0);
    unit[k] = signs[k];
    for (std::size_t r = count; r-- > 0;) reflect(reflections[r], unit);
    q.push_back(unit);
  }
  return q;
}

// What an orthogonal start makes of the same normal values, scaled.
std::vector<double> orthogonal(const std::vector<float>& normal, std::size_t rows,
                               std::size_t columns, double scale) {
  const bool tall = rows >= columns;
  Columns a(std::min(rows, columns), Column(std::max(rows, columns)));
  for (std::size_t i = 0; i < rows * columns; ++i) {
    const std::size_t row = i / columns, column = i % columns;
    (tall ? a[column][row] : a[row][column]) = static_cast<double>(normal[i]);
  }
  const Columns q = q_of(a);
  std::vector<double> matrix;
  for (std::size_t i = 0; i < rows * columns; ++i) {
    const std::size_t row = i / columns, column = i % columns;
    matrix.push_back(scale * (tall ? q[column][row] : q[row][column]));
  }
  return matrix;
}

double largest_difference(const float* got, const std::vector<double>& want) {
  double most = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(got[i]) - want[i]));
  }
  return most;
}

}  // namespace

TEST_CASE("a constant start is that constant everywhere") {
  const std::vector<float> values = drawn(Init::constant, 0.25, {3, 5});
  CHECK(values == std::vector<float>(15, 0.25f));
}

TEST_CASE("uniform starts fill their published bounds") {
  // 60,000 draws: the largest lies within 0.1 % of the bound except with probability e^-60.
  const Shape shape{200, 300};
  const auto [method, bound] = GENERATE(table<Init, double>({
      {Init::uniform, 1.0},
      {Init::xavier_uniform, std::sqrt(6.0 / 500)},
      {Init::he_uniform, std::sqrt(6.0 / 200)},
      {Init::lecun_uniform, std::sqrt(3.0 / 200)},
      {Init::fan_in_uniform, 1 / std::sqrt(200.0)},
      {Init::fan_out_uniform, 1 / std::sqrt(300.0)},
  }));
  const std::vector<float> values = drawn(method, 1, shape);
  CHECK(largest(values) <= bound);
  CHECK(largest(values) > 0.999 * bound);
  CHECK(std::abs(mean(values)) < 0.02 * bound);
  CHECK(deviation(values) == Approx(bound / std::sqrt(3.0)).epsilon(0.02));
}

TEST_CASE("normal starts have their published deviations") {
  // The deviation of 60,000 draws is off by 0.3 % on average; 2 % is seven times that.
  const Shape shape{200, 300};
  const auto [method, stddev] = GENERATE(table<Init, double>({
      {Init::normal, 1.0},
      {Init::xavier_normal, std::sqrt(2.0 / 500)},
      {Init::he_normal, std::sqrt(2.0 / 200)},
      {Init::lecun_normal, std::sqrt(1.0 / 200)},
      {Init::fan_out_normal, std::sqrt(1.0 / 300)},
  }));
  const std::vector<float> values = drawn(method, 1, shape);
  CHECK(std::abs(mean(values)) < 0.03 * stddev);
  CHECK(deviation(values) == Approx(stddev).epsilon(0.02));
  CHECK(largest(values) > 3 * stddev);
}

TEST_CASE("a truncated normal start stays within two deviations") {
  const auto [method, stddev] = GENERATE(table<Init, double>({
      {Init::truncated_normal, 0.5},
      {Init::fan_in_truncated_normal, 0.5 / std::sqrt(200.0)},
      {Init::fan_out_truncated_normal, 0.5 / std::sqrt(300.0)},
  }));
  const std::vector<float> values = drawn(method, 0.5, {200, 300});
  CHECK(largest(values) <= 2.000001 * stddev);
  CHECK(largest(values) > 1.99 * stddev);
  // Deviation of a normal cut at 2: 0.8796 (Johnson, Kotz, Balakrishnan 1994, 13.10.1).
  CHECK(deviation(values) == Approx(stddev * 0.8796).epsilon(0.02));
}

TEST_CASE("parts of a start are those of the whole") {
  const Shape shape{7, 30};
  for (const Init method :
       {Init::constant, Init::uniform, Init::uniform_positive, Init::normal, Init::truncated_normal,
        Init::xavier_uniform, Init::xavier_normal, Init::he_normal, Init::lecun_uniform,
        Init::lecun_normal, Init::fan_in_uniform, Init::fan_out_truncated_normal}) {
    const std::vector<float> whole = part_drawn(method, shape, 0, shape.size());
    for (const std::int64_t first : {0, 1, 64, 209}) {
      const std::int64_t count = std::min<std::int64_t>(63, shape.size() - first);
      const std::vector<float> part = part_drawn(method, shape, first, count);
      CHECK(std::equal(part.begin(), part.end(), whole.begin() + first));
    }
  }
  CHECK_THROWS_WITH(part_drawn(Init::normal, shape, 200, 11), Contains("11 values from 200"));
  CHECK_THROWS_WITH(part_drawn(Init::normal, shape, -1, 1), Contains("1 values from -1"));
  CHECK_THROWS_WITH(part_drawn(Init::orthogonal, shape, 1, 209), Contains("209 values from 1"));
}

TEST_CASE("fans of filters count the receptive field, and explicit fans win") {
  // [3, 3, 16, 32]: fan_in 9 * 16, fan_out 9 * 32.
  const Shape filters{3, 3, 16, 32};
  CHECK(largest(drawn(Init::xavier_uniform, 1, filters)) ==
        Approx(std::sqrt(6.0 / (9 * 48))).epsilon(0.01));
  CHECK(largest(drawn(Init::xavier_uniform, 1, filters, 3, 9)) ==
        Approx(std::sqrt(6.0 / 12)).epsilon(0.01));
  CHECK(largest(drawn(Init::he_uniform, 2, {4096})) ==
        Approx(2 * std::sqrt(6.0 / 4096)).epsilon(0.01));
}

TEST_CASE("an unresolved layer_default is an error") {
  CHECK_THROWS_AS(drawn(Init::layer_default, 1, {2}), trivet::Error);
}

TEST_CASE("no values are drawn for an empty shape") {
  CHECK(drawn(Init::xavier_uniform, 1, {0, 4}).empty());
}

TEST_CASE("an orthogonal start is Q of a normal matrix, whose R has a positive diagonal") {
  const auto [rows, columns] = GENERATE(
      table<std::size_t, std::size_t>({{6, 6}, {9, 4}, {4, 9}, {1, 5}, {5, 1}, {1, 1}, {33, 40}}));
  const Shape shape{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
  const std::vector<float> values = drawn(Init::orthogonal, 1.5, shape);
  const std::vector<double> want = orthogonal(drawn(Init::normal, 1, shape), rows, columns, 1.5);
  CHECK(largest_difference(values.data(), want) < 1e-6);
  // Columns, or rows if these are fewer, are orthogonal and have length 1.5.
  const std::size_t count = std::min(rows, columns), length = std::max(rows, columns);
  double worst = 0;
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < count; ++b) {
      double product = 0;
      for (std::size_t i = 0; i < length; ++i) {
        const auto at = [&](std::size_t v) {
          return static_cast<double>(rows >= columns ? values[i * columns + v]
                                                     : values[v * columns + i]);
        };
        product += at(a) * at(b);
      }
      worst = std::max(worst, std::abs(product - (a == b ? 2.25 : 0)));
    }
  }
  CHECK(worst < 1e-6);
}

TEST_CASE("orthogonal filters have the rows of all axes before the last, experts one matrix each") {
  // As TensorFlow's Orthogonal flattens them: 2 * 3 * 2 rows, 5 columns.
  const std::vector<float> normal = drawn(Init::normal, 1, {2, 3, 2, 5});
  const std::vector<float> filters = drawn(Init::orthogonal, 1, {2, 3, 2, 5});
  CHECK(largest_difference(filters.data(), orthogonal(normal, 12, 5, 1)) < 1e-6);
  const std::vector<float> experts = drawn(Init::orthogonal, 1, {3, 4, 5}, 4, 5);
  for (const std::size_t expert : {0, 1, 2}) {
    const auto begin = normal.begin() + static_cast<std::ptrdiff_t>(expert * 20);
    const std::vector<float> part(begin, begin + 20);
    CHECK(largest_difference(experts.data() + expert * 20, orthogonal(part, 4, 5, 1)) < 1e-6);
  }
}

TEST_CASE("a delta-orthogonal start has an orthogonal matrix in its center and 0 elsewhere") {
  // The matrix is number (k - 1) / 2 along each axis: Xiao et al. 2018, algorithm 1.
  const auto [shape, center] = GENERATE(table<Shape, std::size_t>({{Shape{4, 2}, 0},
                                                                   {Shape{5, 4, 2}, 2},
                                                                   {Shape{3, 3, 2, 4}, 4},
                                                                   {Shape{4, 1, 2, 4}, 1},
                                                                   {Shape{3, 2, 5, 4, 2}, 12}}));
  const auto rows = static_cast<std::size_t>(shape[-2]),
             columns = static_cast<std::size_t>(shape[-1]);
  std::vector<float> values = drawn(Init::delta_orthogonal, 2, shape);
  const std::vector<double> want =
      orthogonal(drawn(Init::normal, 1, {shape[-2], shape[-1]}), rows, columns, 2);
  float* matrix = values.data() + center * rows * columns;
  CHECK(largest_difference(matrix, want) < 1e-6);
  std::fill(matrix, matrix + rows * columns, 0.0f);
  CHECK(values == std::vector<float>(values.size(), 0.0f));
}

TEST_CASE("starts that need a matrix refuse other shapes") {
  CHECK_THROWS_WITH(drawn(Init::orthogonal, 1, {5}),
                    Contains("init.method = \"orthogonal\" cannot start [5], which is no matrix") &&
                        Contains("choose another method"));
  CHECK_THROWS_WITH(drawn(Init::delta_orthogonal, 1, {}), Contains("\"delta_orthogonal\""));
  CHECK_THROWS_WITH(drawn(Init::orthogonal, 1, {3, 4, 5}, 5),
                    Contains("[3, 4, 5], which does not divide into matrices of fan_in = 5 rows"));
  CHECK_THROWS_WITH(drawn(Init::delta_orthogonal, 1, {3, 4, 5}, 4),
                    Contains("[3, 4, 5], whose first axes are no height and width"));
  CHECK(drawn(Init::orthogonal, 1, {0, 4}).empty());
  CHECK(drawn(Init::delta_orthogonal, 1, {3, 3, 4, 0}).empty());
  // A model finds it when it is made, before it has memory, and names the parameter.
  const auto device = trivet::open_meta_device(trivet::test::any_backend());
  trivet::ParameterStore store(*device, RngKey(1));
  CHECK_THROWS_WITH(store.add("cell/b", {4}, {.init = {Init::orthogonal, 1}}),
                    Contains("cannot start 'cell/b' of shape [4]"));
  CHECK(store.add("cell/w", {4, 4}, {.init = {Init::orthogonal, 1}}).shape() == Shape{4, 4});
}

}  // namespace initializer_test
