// SPDX-License-Identifier: Apache-2.0
// Processes of a test, started as the program starts those of an engine without a launcher.
//
// Example (sdk/examples/snippets/checks.cpp#processes):
//
//   const auto results =
//       trivet::testing::run_processes(3, [&] { return trivet::testing::check_collective(engine); });
//   REQUIRE(results.text() == "");
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace trivet::testing {

struct ProcessResult {
  int status = 0;      // exit code; 128 + N when signal N ended it
  std::string text{};  // what its body returned
};

struct ProcessResults {
  std::vector<ProcessResult> processes;  // by rank

  // A line for each process with a text or a status other than 0: empty when all went well.
  std::string text() const;
};

// Runs the body in this number of forks with the environment of started processes (collective.h,
// `launcher`), to their ends. A fork whose body throws has the error as its text and exits with 1.
// When one has ended otherwise than with 0, the others have five seconds to end before they are
// killed. To be called while this process has one thread. Throws RunError: the system gives no
// process. [main-thread]
ProcessResults run_processes(int count, const std::function<std::string()>& body);

}  // namespace trivet::testing
