// SPDX-License-Identifier: Apache-2.0
#include "local/processes/shared_memory.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "trivet/testing/collective_check.h"
#include "trivet/testing/run_processes.h"

namespace shared_memory_test {

using Catch::Contains;
using trivet::testing::run_processes;

std::string& last_error() {
  static std::string text;
  return text;
}

// A started process of the engine.
struct Process {
  const tv_collective& engine = *trivet::local::shared_memory();
  tv_collective_host host{};
  tv_comm* world = nullptr;
  tv_world about{};

  Process() {
    host.struct_size = sizeof(host);
    host.set_error = [](const tv_collective_host*, const char* text) { last_error() = text; };
    about.struct_size = sizeof(about);
  }
  bool start() { return engine.init(&host, &world, &about) == TV_OK; }
  // Ends with TV_OK, or with the error of the first call that fails.
  tv_status wait(tv_request* request) {
    std::int32_t done = 0;
    while (done == 0) {
      const tv_status status = engine.progress(&request, &done);
      if (status != TV_OK) return status;
    }
    return TV_OK;
  }
};

TEST_CASE("local/SharedMemory keeps what collective.h promises, with 1 to 5 processes") {
  for (const int processes : {1, 2, 3, 5}) {
    const auto results = run_processes(processes, [] {
      return trivet::testing::check_collective(trivet::local::shared_memory());
    });
    CHECK(results.text() == "");
  }
}

TEST_CASE("local/SharedMemory sends a message of more than 2^31 bytes", "[slow][nosan]") {
  const auto results = run_processes(2, [] {
    return trivet::testing::check_collective(trivet::local::shared_memory(),
                                             {.large_bytes = (std::uint64_t{1} << 31) + 5});
  });
  CHECK(results.text() == "");
}

TEST_CASE("a rank of local/SharedMemory ends all others with its code") {
  const auto begin = std::chrono::steady_clock::now();
  const auto results = run_processes(3, [] {
    Process process;
    if (!process.start()) {
      // Because of the one that ends all, which ends this one, too.
      ::alarm(4);
      ::pause();
    }
    if (process.about.rank == 1) process.engine.abort(process.world, 41);
    ::pause();
    return std::string("continued");
  });
  REQUIRE(results.processes.size() == 3);
  CHECK(results.processes[0].status == 128 + SIGKILL);
  CHECK(results.processes[1].status == 41);
  CHECK(results.processes[2].status == 128 + SIGKILL);
  CHECK(results.text().find("continued") == std::string::npos);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("who waits for a killed process gets an error that names it") {
  const auto results = run_processes(3, [] {
    Process process;
    if (!process.start()) return last_error();
    if (process.about.rank == 2) ::kill(::getpid(), SIGKILL);
    char in = 0;
    char out[3] = {};
    tv_request* request = nullptr;
    if (process.engine.all_gather(process.world, &in, out, 1, &request) != TV_OK) {
      return last_error();
    }
    return process.wait(request) == TV_OK ? std::string("ended") : last_error();
  });
  REQUIRE(results.processes.size() == 3);
  CHECK(results.processes[0].text == "process 2 is gone while process 0 waits for it");
  CHECK(results.processes[1].text == "process 2 is gone while process 1 waits for it");
}

TEST_CASE("a message of another size than its receiver's is an error") {
  const auto results = run_processes(2, [] {
    Process process;
    if (!process.start()) return last_error();
    const char out[8] = {};
    char in[4] = {};
    tv_request* request = nullptr;
    if (process.about.rank == 0) {
      process.engine.send(process.world, out, sizeof(out), 1, 0, &request);
    } else {
      process.engine.receive(process.world, in, sizeof(in), 0, 0, &request);
    }
    const tv_status status = process.wait(request);
    return status == TV_OK ? std::string() : last_error();
  });
  CHECK(results.processes[1].text == "process 0 sends 8 bytes where process 1 expects 4");
}

TEST_CASE("a process that the program did not start cannot join") {
  std::int32_t rank = 0;
  std::int32_t size = 7;
  trivet::local::shared_memory()->launched(&rank, &size);
  CHECK(rank == -1);
  CHECK(size == 0);
  Process process;
  CHECK_FALSE(process.start());
  CHECK_THAT(last_error(), Contains("the environment does not say"));
}

TEST_CASE("damaged environments are no start", "[nosan]") {
  const std::vector<std::vector<std::string>> environments = {
      {"TRIVET_RANK", "3"},         {"TRIVET_RANK", "-1"},
      {"TRIVET_RANK", "two"},       {"TRIVET_PROCESSES", "0"},
      {"TRIVET_PROCESSES", "1e3"},  {"TRIVET_PROCESSES", "99999999999"},
      {"TRIVET_PROCESSES", "2000"}, {"TRIVET_WORLD_FD", ""},
      {"TRIVET_WORLD_FD", "9999"}};
  for (const auto& environment : environments) {
    INFO(environment[0] << "=" << environment[1]);
    const auto results = run_processes(1, [&] {
      ::setenv(environment[0].c_str(), environment[1].c_str(), 1);
      Process process;
      return process.start() ? std::string("started") : last_error();
    });
    CHECK_THAT(results.processes.at(0).text,
               Contains("the processes of this run cannot meet in shared memory"));
  }
}

}  // namespace shared_memory_test
