// SPDX-License-Identifier: Apache-2.0
// Shampoo against its formula in double, whose inverse roots come from Jacobi's rotations, and
// against numbers worked out by hand.
#include "optim/shampoo/shampoo.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "optim/shampoo/inverse_root.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"
#include "trivet/tensor/random.h"
#include "trivet/train/learner.h"

namespace optim_shampoo_test {

using namespace trivet;
using Catch::Contains;

namespace {

using Doubles = std::vector<double>;

std::vector<float> numbers(std::size_t size, std::uint64_t seed) {
  std::vector<float> out(size);
  std::uint64_t state = seed * 2654435761 + 1;
  for (float& x : out) {
    state = state * 6364136223846793005 + 1442695040888963407;
    x = static_cast<float>(static_cast<double>(state >> 40) / (1 << 23) - 1);
  }
  return out;
}

// A variable "w" with Shampoo and a learning rate of 0.1.
struct Variable {
  Variable(const std::string& backend, const Shape& shape, const std::vector<float>& start,
           Value fields)
      : device(test::open_device(backend)), store(*device, RngKey(1)) {
    test::use_plugin("optim");
    w = &store.add("w", shape, {.init = {Init::constant, 1}});
    store.build();
    Tensor value = w->value();
    value.assign_bytes(std::as_bytes(std::span(start)));
    learner = std::make_unique<Learner>(
        store, make(ConfigOf<Optimizer>("optim/Shampoo", std::move(fields))),
        make(ConfigOf<Schedule>("optim/Constant", Value::table({{"value", 0.1}}))));
  }
  std::vector<float> update(const std::vector<float>& gradient) {
    std::ranges::copy(gradient, w->gradient().mutable_span<float>().begin());
    learner->begin().apply_gradients();
    return w->value().to_host<float>();
  }

  std::unique_ptr<Device> device;
  ParameterStore store;
  Parameter* w = nullptr;
  std::unique_ptr<Learner> learner;
};

void check(const std::vector<float>& values, const Doubles& expected) {
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(static_cast<double>(values[i]) == Approx(expected[i]).epsilon(2e-5).margin(1e-6));
  }
}

struct Matrix {
  explicit Matrix(std::size_t extent) : n(extent), x(extent * extent, 0.0) {}
  double& at(std::size_t i, std::size_t j) { return x[i * n + j]; }
  double at(std::size_t i, std::size_t j) const { return x[i * n + j]; }
  Matrix operator*(const Matrix& other) const {
    Matrix out(n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = 0; k < n; ++k) out.at(i, j) += at(i, k) * other.at(k, j);
      }
    }
    return out;
  }
  std::size_t n;
  Doubles x;
};

// The eigenvalues of a symmetric matrix, left on the diagonal of `a`, and its eigenvectors:
// Jacobi's rotations (Golub and Van Loan, section 8.5).
Matrix diagonalize(Matrix& a) {
  Matrix vectors(a.n);
  for (std::size_t i = 0; i < a.n; ++i) vectors.at(i, i) = 1;
  for (int sweep = 0; sweep < 60; ++sweep) {
    for (std::size_t p = 0; p < a.n; ++p) {
      for (std::size_t q = p + 1; q < a.n; ++q) {
        if (a.at(p, q) == 0) continue;
        const double angle = 0.5 * std::atan2(2 * a.at(p, q), a.at(q, q) - a.at(p, p));
        Matrix turn(a.n), back(a.n);
        for (std::size_t i = 0; i < a.n; ++i) turn.at(i, i) = 1;
        turn.at(p, p) = turn.at(q, q) = std::cos(angle);
        turn.at(p, q) = std::sin(angle);
        turn.at(q, p) = -std::sin(angle);
        for (std::size_t i = 0; i < a.n; ++i) {
          for (std::size_t j = 0; j < a.n; ++j) back.at(i, j) = turn.at(j, i);
        }
        a = back * a * turn;
        vectors = vectors * turn;
      }
    }
  }
  return vectors;
}

// (a + ridge I)^(-1/p), where the ridge is a share of the largest eigenvalue.
Matrix inverse_pth_root(Matrix a, double ridge, int p) {
  const Matrix vectors = diagonalize(a);
  double largest = 0;
  for (std::size_t i = 0; i < a.n; ++i) largest = std::max(largest, a.at(i, i));
  Matrix root(a.n);
  for (std::size_t k = 0; k < a.n; ++k) {
    const double power = std::pow(std::max(a.at(k, k), 0.0) + ridge * largest, -1.0 / p);
    for (std::size_t i = 0; i < a.n; ++i) {
      for (std::size_t j = 0; j < a.n; ++j) {
        root.at(i, j) += vectors.at(i, k) * power * vectors.at(j, k);
      }
    }
  }
  return root;
}

// The documented formula of one variable without merged axes, in double.
struct Reference {
  Reference(Shape extents, const std::vector<float>& start, const optim::ShampooConfig& fields)
      : shape(extents),
        config(fields),
        blocks(optim::blocks_of(shape, config.block_size)),
        w(start.begin(), start.end()),
        v(start.size(), 0.0),
        m(start.size(), 0.0) {
    for (const optim::Block& block : blocks) {
      for (std::size_t axis = 0; axis < block.begin.size(); ++axis) {
        statistics.emplace_back(static_cast<std::size_t>(block.extent(axis)));
      }
    }
  }

  // Calls `visit` with the flat index and the position of each element of a block.
  void each(const optim::Block& block,
            const std::function<void(std::size_t, const std::vector<std::int64_t>&)>& visit) const {
    std::vector<std::int64_t> at = block.begin;
    while (true) {
      std::int64_t flat = 0;
      for (std::size_t i = 0; i < at.size(); ++i) flat = flat * shape[static_cast<int>(i)] + at[i];
      visit(static_cast<std::size_t>(flat), at);
      std::size_t axis = at.size();
      while (axis > 0 && ++at[axis - 1] == block.end[axis - 1]) {
        at[axis - 1] = block.begin[axis - 1];
        --axis;
      }
      if (axis == 0) return;
    }
  }

  std::size_t neighbor(std::size_t flat, std::size_t axis, std::int64_t distance) const {
    std::int64_t stride = 1;
    for (int i = static_cast<int>(axis) + 1; i < shape.rank(); ++i) stride *= shape[i];
    return static_cast<std::size_t>(static_cast<std::int64_t>(flat) + distance * stride);
  }

  Doubles step(const std::vector<float>& gradient) {
    const Doubles g(gradient.begin(), gradient.end());
    Doubles d = g;
    const double b = config.beta2, old_share = b, new_share = b == 1 ? 1 : 1 - b;
    if (config.graft_type == optim::Graft::rmsprop) {
      for (std::size_t i = 0; i < g.size(); ++i) {
        v[i] = b * v[i] + (1 - b) * g[i] * g[i];
        d[i] = g[i] / (std::sqrt(v[i]) + config.diagonal_epsilon);
      }
    } else if (config.graft_type == optim::Graft::sqrt_n) {
      for (double& x : d) x = x > 0 ? 1 : x < 0 ? -1 : 0;
    }
    Doubles x = g;
    std::size_t next = 0;
    for (const optim::Block& block : blocks) {
      const std::size_t first = next;
      for (std::size_t axis = 0; axis < block.begin.size(); ++axis, ++next) {
        Matrix& l = statistics[next];
        for (double& y : l.x) y *= old_share;
        each(block, [&](std::size_t flat, const std::vector<std::int64_t>& at) {
          const std::int64_t row = at[axis] - block.begin[axis];
          for (std::int64_t other = 0; other < block.extent(axis); ++other) {
            l.at(static_cast<std::size_t>(row), static_cast<std::size_t>(other)) +=
                new_share * g[flat] * g[neighbor(flat, axis, other - row)];
          }
        });
      }
      for (std::size_t axis = 0; axis < block.begin.size(); ++axis) {
        const Matrix root = inverse_pth_root(statistics[first + axis], config.matrix_epsilon,
                                             2 * static_cast<int>(block.begin.size()));
        const Doubles before = x;
        each(block, [&](std::size_t flat, const std::vector<std::int64_t>& at) {
          const std::int64_t row = at[axis] - block.begin[axis];
          x[flat] = 0;
          for (std::int64_t other = 0; other < block.extent(axis); ++other) {
            x[flat] += root.at(static_cast<std::size_t>(row), static_cast<std::size_t>(other)) *
                       before[neighbor(flat, axis, other - row)];
          }
        });
      }
    }
    const auto norm = [](const Doubles& values) {
      double sum = 0;
      for (const double y : values) sum += y * y;
      return std::sqrt(sum);
    };
    const double length = norm(d) / norm(x);
    for (std::size_t i = 0; i < g.size(); ++i) {
      const double u = x[i] * length * (config.moving_average_for_momentum ? 1 - config.beta1 : 1);
      m[i] = config.beta1 * m[i] + u;
      const double change = config.nesterov ? config.beta1 * m[i] + u : m[i];
      w[i] -= 0.1 * (change + config.weight_decay * w[i]);
    }
    return w;
  }

  Shape shape;
  optim::ShampooConfig config;
  std::vector<optim::Block> blocks;
  Doubles w, v, m;
  std::vector<Matrix> statistics;
};

Value fields_of(const optim::ShampooConfig& config) {
  return Value::table({{"block_size", config.block_size},
                       {"beta2", config.beta2},
                       {"matrix_epsilon", config.matrix_epsilon},
                       {"start_preconditioning_step", config.start_preconditioning_step},
                       {"preconditioning_compute_steps", config.preconditioning_compute_steps},
                       {"graft_type", config.graft_type == optim::Graft::rmsprop  ? "rmsprop"
                                      : config.graft_type == optim::Graft::sqrt_n ? "sqrt_n"
                                                                                  : "sgd"},
                       {"nesterov", config.nesterov},
                       {"moving_average_for_momentum", config.moving_average_for_momentum},
                       {"merge_small_dims_block_size", config.merge_small_dims_block_size},
                       {"weight_decay", config.weight_decay}});
}

}  // namespace

TEST_CASE("Shampoo makes the directions of a diagonal gradient equally long") {
  const std::string backend = GENERATE(from_range(test::backends()));
  // By hand: L = R = diag(4, 1), so x = diag(2 / (4^(1/4))^2, 1) = I, of the length sqrt(2); the
  // gradient's is sqrt(5). The ridge of 1e-12 is below the last digit.
  Variable variable(backend, {2, 2}, {0, 0, 0, 0},
                    Value::table({{"beta1", 0.0},
                                  {"beta2", 1.0},
                                  {"matrix_epsilon", 1e-12},
                                  {"graft_type", "sgd"},
                                  {"nesterov", false},
                                  {"merge_small_dims_block_size", 0},
                                  {"start_preconditioning_step", 0}}));
  const double step = -0.1 * std::sqrt(2.5);
  check(variable.update({2, 0, 0, 1}), {step, 0, 0, step});
}

TEST_CASE("Shampoo takes the steps of its formula") {
  const std::string backend = GENERATE(from_range(test::backends()));
  optim::ShampooConfig config;
  config.start_preconditioning_step = 0;
  config.preconditioning_compute_steps = 1;
  config.merge_small_dims_block_size = 0;
  config.matrix_epsilon = 0.02;
  config.graft_type = optim::Graft::sgd;
  const std::string kind = GENERATE("sums", "blocks", "three axes", "one axis");
  CAPTURE(kind);
  Shape shape{3, 4};
  config.beta2 = 1;
  if (kind == "blocks") {  // the last ones are smaller
    shape = {5, 3};
    config.block_size = 2;
    config.beta2 = 0.9;
    config.graft_type = optim::Graft::rmsprop;
  } else if (kind == "three axes") {
    shape = {2, 3, 2};
    config.block_size = 2;
    config.beta2 = 0.5;
    config.nesterov = false;
    config.moving_average_for_momentum = true;
    config.graft_type = optim::Graft::sqrt_n;
  } else if (kind == "one axis") {
    shape = {6};
    config.beta2 = 0.8;
    config.weight_decay = 0.1;
  }
  const auto size = static_cast<std::size_t>(shape.size());
  const std::vector<float> start = numbers(size, 1);
  Variable variable(backend, shape, start, fields_of(config));
  Reference reference(shape, start, config);
  for (std::uint64_t step = 0; step < 4; ++step) {
    CAPTURE(step);
    const std::vector<float> gradient = numbers(size, 10 + step);
    check(variable.update(gradient), reference.step(gradient));
  }
}

TEST_CASE("Shampoo is its grafted step before the start, and for large variables") {
  const std::vector<float> start = numbers(12, 1);
  const auto updates = [&](const Value& fields) {
    Variable variable(test::backends().front(), {3, 4}, start, fields);
    std::vector<std::vector<float>> values;
    for (std::uint64_t step = 0; step < 3; ++step) {
      values.push_back(variable.update(numbers(12, 10 + step)));
    }
    return values;
  };
  const auto fields = [](std::int64_t start_step, std::int64_t largest, std::int64_t rank) {
    return Value::table({{"graft_type", "adagrad"},
                         {"merge_small_dims_block_size", 0},
                         {"start_preconditioning_step", start_step},
                         {"skip_preconditioning_dim_size_gt", largest},
                         {"skip_preconditioning_rank_lt", rank}});
  };
  const auto grafted = updates(fields(100, 4096, 1));
  CHECK(updates(fields(0, 3, 1)) == grafted);
  CHECK(updates(fields(0, 4096, 3)) == grafted);
  const auto late = updates(fields(2, 4096, 1));
  CHECK(late[0] == grafted[0]);
  CHECK(late[1] == grafted[1]);
  CHECK(late[2] != grafted[2]);
  // Adagrad's first step is the sign of the gradient, times 1 + beta1 with Nesterov's momentum.
  const std::vector<float> gradient = numbers(12, 10);
  for (std::size_t i = 0; i < start.size(); ++i) {
    CHECK(grafted[0][i] == Approx(start[i] - (gradient[i] > 0 ? 0.19 : -0.19)).margin(1e-6));
  }
}

TEST_CASE("preconditioners are as old as their interval says") {
  const std::vector<float> start = numbers(12, 1);
  const auto last = [&](std::int64_t interval) {
    Variable variable(test::backends().front(), {3, 4}, start,
                      Value::table({{"merge_small_dims_block_size", 0},
                                    {"start_preconditioning_step", 0},
                                    {"preconditioning_compute_steps", interval}}));
    std::vector<std::vector<float>> values;
    for (std::uint64_t step = 0; step < 4; ++step) {
      values.push_back(variable.update(numbers(12, 10 + step)));
    }
    return values;
  };
  const auto each = last(1), third = last(3), never = last(100);
  CHECK(each[0] == third[0]);
  CHECK(each[1] != third[1]);
  CHECK(third[2] == never[2]);
  CHECK(third[3] != never[3]);
}

TEST_CASE("neighboring axes merge up to a product") {
  // The example of the authors' implementation, without two of its axes of extent 1.
  CHECK(optim::merged_axes({2, 512, 1, 2048, 3, 4}, 1024) == Shape{1024, 2048, 12});
  CHECK(optim::merged_axes({3, 3, 16, 32}, 4096) == Shape{144, 32});
  CHECK(optim::merged_axes({1, 1}, 10) == Shape{1});
  CHECK(optim::merged_axes({}, 10) == Shape{1});
  CHECK(optim::merged_axes({2, 3}, 0) == Shape{2, 3});
  const auto blocks = optim::blocks_of({5, 3}, 2);
  REQUIRE(blocks.size() == 6);
  CHECK(blocks[1].begin == std::vector<std::int64_t>{0, 2});
  CHECK(blocks[1].end == std::vector<std::int64_t>{2, 3});
  CHECK(blocks[5].begin == std::vector<std::int64_t>{4, 2});
  CHECK(optim::matrix_elements(blocks) == 2 * (8 + 5) + (1 + 4) + (1 + 1));
}

TEST_CASE("the inverse root of a matrix is refused where it is not finite") {
  std::vector<float> root(4, 7);
  const auto of = [&](std::vector<float> matrix) {
    return optim::inverse_root(matrix, 2, {.order = 4, .epsilon = 0, .is_relative = true}, root);
  };
  CHECK_FALSE(of({NAN, 0, 0, 1}));
  CHECK_FALSE(of({INFINITY, 0, 0, 1}));
  CHECK_FALSE(of({1, 0, 0, 0}));  // no ridge: 0^(-1/4)
  CHECK(root == std::vector<float>(4, 7));
  CHECK(of({0, 0, 0, 0}));
  CHECK(root == std::vector<float>{1, 0, 0, 1});
  CHECK(of({16, 0, 0, 81}));
  CHECK(root[0] == Approx(0.5));
  CHECK(root[3] == Approx(1.0 / 3));
}

TEST_CASE("a bound that the grafted step of Shampoo ignores is refused") {
  test::use_plugin("optim");
  const auto made = [](const char* graft) {
    return make(ConfigOf<Optimizer>(
        "optim/Shampoo",
        Value::table({{"graft_type", graft}, {"clip_by_scaled_gradient_norm", 1.0}})));
  };
  CHECK_NOTHROW(made("rmsprop"));
  CHECK_THROWS_WITH(made("sgd"), Contains("clip_by_scaled_gradient_norm") &&
                                     Contains("has no effect") && Contains("rmsprop"));
}

}  // namespace optim_shampoo_test
