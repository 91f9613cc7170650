// SPDX-License-Identifier: Apache-2.0
// The conformance kit for compute backends: runs every function of a tv_backend against plain loops
// in double.
//
// Example (sdk/examples/snippets/backend.cpp#conformance):
//
//   const auto report = trivet::testing::check_backend(my_backend());
//   INFO(report.text());
//   REQUIRE(report.passed());
//
// It opens the backend with a host of its own, once for each thread count, and checks for every
// function: the values over empty, single, odd and large shapes, strided and broadcast where the
// header allows it; that inputs and the bytes around outputs stay as they were; that two calls, and
// calls with 1, 2 and 3 threads, give the same bits; that TV_UNSUPPORTED writes nothing; and the
// rules on NaN, slopes at 0, in place, accumulation and indices. Device memory is touched through
// alloc and transfer only. Null optional kernels are listed, not failed.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "trivet/backend/backend.h"

namespace trivet::testing {

struct BackendCheckOptions {
  int device = 0;
  std::vector<std::pair<std::string, std::string>> options;  // given to tv_backend.open
  std::vector<int> threads{1, 2, 3};                         // the host is opened once for each
  std::string only;  // when not empty, only functions whose name contains this text
};

struct BackendCheck {
  std::string function;  // "matmul", "conv2d_fwd/1"
  std::string subject;   // what was tried, e.g. "m=5 n=3 k=7 trans_a"
  double max_error = 0;  // largest |got - want| / (|want| + 1)
  bool passed = false;
  bool unsupported = false;  // answered TV_UNSUPPORTED, which is allowed for this function
  std::string message;       // what is wrong, empty when passed
};

struct BackendReport {
  std::vector<BackendCheck> checks;
  std::vector<std::string> absent;  // optional functions the backend does not have

  bool passed() const;  // at least one check, and none failed
  std::size_t failures() const;
  // One line a function (checks, unsupported, largest error), then every failure in full.
  std::string text() const;
};

// The report lists the errors of the backend. Throws only what its own memory needs make it throw.
// [any-thread]
BackendReport check_backend(const tv_backend* backend, const BackendCheckOptions& options = {});

}  // namespace trivet::testing
