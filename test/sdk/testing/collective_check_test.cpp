// SPDX-License-Identifier: Apache-2.0
// The check of engines finds broken promises. Each engine here is local/SharedMemory with one
// fault.
#include "trivet/testing/collective_check.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "trivet/plugin/registry.h"
#include "trivet/testing/run_processes.h"

namespace collective_check_test {

using Catch::Contains;

namespace {

const tv_collective& whole() {
  trivet::test::use_plugin("local");
  return *static_cast<const tv_collective*>(
      trivet::registry().table("collective", "local/SharedMemory"));
}

// What two processes report of the engine.
std::string reported(const tv_collective& engine) {
  return trivet::testing::run_processes(2,
                                        [&] { return trivet::testing::check_collective(&engine); })
      .text();
}

// The bytes with the last one changed. They live to the end of the process.
const std::byte* changed(const void* data, std::uint64_t bytes) {
  static std::vector<std::unique_ptr<std::vector<std::byte>>> kept;
  const auto* first = static_cast<const std::byte*>(data);
  kept.push_back(std::make_unique<std::vector<std::byte>>(first, first + bytes));
  if (bytes > 0) kept.back()->back() ^= std::byte{1};
  return kept.back()->data();
}

}  // namespace

TEST_CASE("the check of engines passes one without a fault") {
  CHECK(reported(whole()) == "");
}

TEST_CASE("the check of engines reads versions and functions before it calls any") {
  CHECK_THAT(trivet::testing::check_collective(nullptr), Contains("there is no table"));
  tv_collective engine = whole();
  engine.api_version = 1;
  CHECK_THAT(trivet::testing::check_collective(&engine), Contains("api_version is 1, not 2"));
  engine = whole();
  engine.struct_size -= 1;
  CHECK_THAT(trivet::testing::check_collective(&engine), Contains("struct_size does not cover"));
  engine = whole();
  engine.broadcast = nullptr;
  CHECK_THAT(trivet::testing::check_collective(&engine), Contains("a function is null"));
}

TEST_CASE("the check of engines finds changed bytes of each transfer") {
  tv_collective engine = whole();
  engine.send = [](tv_comm* comm, const void* data, std::uint64_t bytes, std::int32_t to,
                   std::int32_t tag, tv_request** request) {
    return whole().send(comm, changed(data, bytes), bytes, to, tag, request);
  };
  CHECK_THAT(reported(engine), Contains("send and receive of 7 bytes, world: byte 6 of 7 differs"));
  engine = whole();
  engine.all_gather = [](tv_comm* comm, const void* in, void* out, std::uint64_t bytes,
                         tv_request** request) {
    return whole().all_gather(comm, changed(in, bytes), out, bytes, request);
  };
  CHECK_THAT(reported(engine), Contains("all_gather of 1 bytes, world: byte 0 of 2 differs") &&
                                   Contains("many transfers at once") &&
                                   Contains("calls on two communicators"));
  engine = whole();
  engine.all_to_all = [](tv_comm* comm, const void* in, const std::uint64_t* in_bytes, void* out,
                         const std::uint64_t* out_bytes, tv_request** request) {
    // In its position: how many counts follow the first depends on the communicator.
    if (in_bytes[0] > 0) {
      *static_cast<std::byte*>(const_cast<void*>(in)) ^= std::byte{1};
    }
    return whole().all_to_all(comm, in, in_bytes, out, out_bytes, request);
  };
  CHECK_THAT(reported(engine), Contains("all_to_all, world: byte"));
  engine = whole();
  engine.broadcast = [](tv_comm* comm, void* data, std::uint64_t bytes, std::int32_t root,
                        tv_request** request) {
    return whole().broadcast(comm, const_cast<std::byte*>(changed(data, bytes)), bytes, root,
                             request);
  };
  CHECK_THAT(reported(engine), Contains("broadcast of 7 bytes from"));
}

TEST_CASE("the check of engines finds ranks, names, requests and errors that are wrong") {
  tv_collective engine = whole();
  engine.launched = [](std::int32_t* rank, std::int32_t* size) {
    whole().launched(rank, size);
    *size += 1;
  };
  CHECK_THAT(reported(engine), Contains("launched says 0 of 3, init says 0 of 2"));
  engine = whole();
  engine.init = [](const tv_collective_host* host, tv_comm** world, tv_world* about) {
    const tv_status status = whole().init(host, world, about);
    about->name[0] = '\0';
    about->local_size = 0;
    return status;
  };
  CHECK_THAT(reported(engine), Contains("init gives no name") &&
                                   Contains("no rank among the processes of this machine"));
  engine = whole();
  engine.progress = [](tv_request** request, std::int32_t* done) {
    static char other = 0;
    if (request != nullptr && *request == reinterpret_cast<tv_request*>(&other)) {
      *done = 1;
      return TV_OK;
    }
    const tv_status status = whole().progress(request, done);
    if (request != nullptr && *done != 0) *request = reinterpret_cast<tv_request*>(&other);
    return status;
  };
  CHECK_THAT(reported(engine), Contains("progress leaves the request of a transfer that ended"));
  engine = whole();
  engine.split = [](tv_comm* comm, std::int32_t color, std::int32_t key, tv_comm** out) {
    const tv_status status = whole().split(comm, color, key, out);
    *out = nullptr;
    return status;
  };
  CHECK_THAT(reported(engine), Contains("split reversed: a wrong communicator"));
}

}  // namespace collective_check_test
