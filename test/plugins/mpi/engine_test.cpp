// SPDX-License-Identifier: Apache-2.0
// mpi/Mpi in processes that its own launcher starts.
#include "mpi/engine.h"

#include <string>

#include <catch2/catch.hpp>

#include "support/paths.h"
#include "support/shell.h"

namespace mpi_engine_test {

using trivet::test::quoted;

std::string command(int processes, const std::string& what) {
  const std::string program = trivet::test::build_root() / "test/plugins/check_engine";
  const std::string plugin = trivet::test::plugin_dir() / "mpi.so";
  return std::string(trivet::mpi::engine()->launcher(processes)) + " " + quoted(program) + " " +
         quoted(plugin) + " mpi/Mpi " + what + " 2>&1";
}

TEST_CASE("mpi/Mpi keeps what collective.h promises, with 1 to 5 processes", "[slow][nosan]") {
  for (const int processes : {1, 2, 3, 5}) {
    const auto result = trivet::test::shell(command(processes, ""));
    INFO(processes << " processes: " << result.output);
    CHECK(result.exit_code == 0);
  }
}

TEST_CASE("mpi/Mpi sends a message of more than 2^31 bytes", "[slow][nosan]") {
  const auto result = trivet::test::shell(command(2, "2147483653"));
  INFO(result.output);
  CHECK(result.exit_code == 0);
}

TEST_CASE("a rank of mpi/Mpi ends all others with its code", "[nosan]") {
  const auto result = trivet::test::shell(command(3, "abort 41"));
  INFO(result.output);
  CHECK(result.exit_code == 41);
}

TEST_CASE("mpi/Mpi reads its rank from the environment of its launcher") {
  std::int32_t rank = 0;
  std::int32_t size = 7;
  trivet::mpi::engine()->launched(&rank, &size);
  CHECK(rank == -1);
  CHECK(size == 0);
}

}  // namespace mpi_engine_test
