// SPDX-License-Identifier: Apache-2.0
// Processes that compare their variables; threads act as the processes.
#include "train/replica_check.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/thread_group.h"
#include "train_parts.h"
#include "trivet/error.h"
#include "trivet/layer/scope.h"

namespace replica_check_test {
namespace {

using namespace trivet;

// Changes what a process holds.
using Fault = std::function<void(int rank, ParameterStore& store)>;

// What each of so many processes reports after a step, nothing where all are equal.
std::vector<std::string> reports(int processes, const Fault& fault, std::int64_t step = 10,
                                 std::int64_t interval = 5) {
  std::vector<std::string> texts(static_cast<std::size_t>(processes));
  test::on_ranks(processes, [&](ProcessGroup& group) {
    const auto device = test::open_tiny();
    ParameterStore store(*device, RngKey(1));
    Scope scope(store);
    scope.parameter("first", {3}, {.init = {Init::normal, 1}});
    scope.parameter("second", {5, 7}, {.init = {Init::normal, 1}});
    scope.parameter("mean", {2}, {.init = {Init::constant, 0}, .trainable = false});
    store.build();
    fault(group.rank(), store);
    const ReplicaCheck check(&group, store, interval);
    try {
      check.end_step(step);
    } catch (const RunError& different) {
      texts[static_cast<std::size_t>(group.rank())] = different.message();
    }
  });
  return texts;
}

std::vector<std::string> on_all(int processes, const std::string& text) {
  return std::vector<std::string>(static_cast<std::size_t>(processes), text);
}

void flip(ParameterStore& store, const char* path, std::size_t at) {
  Tensor value = store.find(path)->value();
  float& element = value.mutable_span<float>()[at];
  element = std::nextafter(element, 9.0F);  // the last bit
}

}  // namespace

TEST_CASE("processes that hold the same report nothing") {
  CHECK(reports(3, [](int, ParameterStore&) {}) == on_all(3, ""));
  // Numbers that are unequal to themselves are no difference.
  const auto nan = [](int, ParameterStore& store) {
    Tensor value = store.find("second")->value();
    value.mutable_span<float>()[4] = std::numeric_limits<float>::quiet_NaN();
  };
  CHECK(reports(2, nan) == on_all(2, ""));
}

TEST_CASE("all processes report which of them differs in which variable") {
  const auto last_of = [](const char* path) {
    return [path](int rank, ParameterStore& store) {
      const auto count = static_cast<std::size_t>(store.find(path)->shape().size());
      if (rank == 1) flip(store, path, count - 1);
    };
  };
  CHECK(reports(2, last_of("first")) ==
        on_all(2, "process 1 of 2 differs from process 0 in 'first' after step 10"));
  CHECK(reports(2, last_of("second")) ==
        on_all(2, "process 1 of 2 differs from process 0 in 'second' after step 10"));
  CHECK(reports(3, last_of("mean")) ==
        on_all(3, "process 1 of 3 differs from the others in 'mean' after step 10"));
  const auto negative_zero = [](int rank, ParameterStore& store) {
    Tensor value = store.find("mean")->value();
    value.mutable_span<float>()[0] = rank == 0 ? -0.0F : 0.0F;
  };
  CHECK(reports(3, negative_zero) ==
        on_all(3, "process 0 of 3 differs from the others in 'mean' after step 10"));
}

TEST_CASE("processes that differ from most are named, or from process 0 where there is no most") {
  const auto each = [](int rank, ParameterStore& store) {
    if (rank == 1) flip(store, "mean", 0);
    if (rank == 3) flip(store, "first", 0);
  };
  CHECK(reports(5, each) ==
        on_all(5,
               "processes 1, 3 of 5 differ from the others in 'first' and 1 other variable "
               "after step 10"));
  CHECK(reports(4, each) ==
        on_all(4,
               "processes 1, 3 of 4 differ from process 0 in 'first' and 1 other variable "
               "after step 10"));
  const auto halves = [](int rank, ParameterStore& store) {
    if (rank < 2) flip(store, "second", 0);
  };
  CHECK(reports(4, halves) ==
        on_all(4, "processes 2, 3 of 4 differ from process 0 in 'second' after step 10"));
}

TEST_CASE("processes compare at each multiple of the interval, and before each checkpoint") {
  const auto fault = [](int rank, ParameterStore& store) {
    if (rank == 0) flip(store, "mean", 1);
  };
  for (const std::int64_t step : {1, 4, 6, 9}) CHECK(reports(2, fault, step) == on_all(2, ""));
  CHECK(reports(2, fault, 5) ==
        on_all(2, "process 1 of 2 differs from process 0 in 'mean' after step 5"));
  CHECK(reports(2, fault, 10, 0) == on_all(2, ""));

  std::vector<int> refused(2);
  test::on_ranks(2, [&](ProcessGroup& group) {
    const auto device = test::open_tiny();
    ParameterStore store(*device, RngKey(1));
    Scope(store).parameter("mean", {2}, {.init = {Init::constant, 0}});
    store.build();
    fault(group.rank(), store);
    try {
      ReplicaCheck(&group, store, 1000).before_save(3);
    } catch (const RunError&) {
      refused[static_cast<std::size_t>(group.rank())] = 1;
    }
    ReplicaCheck(&group, store, 0).before_save(3);
    ReplicaCheck(nullptr, store, 1).before_save(3);
  });
  CHECK(refused == std::vector{1, 1});
}

}  // namespace replica_check_test
