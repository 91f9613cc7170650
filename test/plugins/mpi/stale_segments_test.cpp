// SPDX-License-Identifier: Apache-2.0
#include "mpi/stale_segments.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

#include "support/shell.h"

namespace mpi_stale_segments_test {

namespace fs = std::filesystem;

TEST_CASE("shared memory of killed MPI processes is removed, and nothing else") {
  const trivet::test::TempDir dir;
  const auto make = [&](const std::string& name, std::chrono::minutes age) {
    const fs::path file = dir.path() / name;
    std::ofstream(file) << std::string(4096, 'x');
    fs::last_write_time(file, fs::file_time_type::clock::now() - age);
    return file;
  };
  using std::chrono::minutes;
  const fs::path stale = make("vader_segment.host.0.1.0", minutes(5)),
                 young = make("vader_segment.host.0.2.0", minutes(0)),
                 mapped = make("vader_segment.host.0.3.0", minutes(5)),
                 other = make("other_segment.host.0.1.0", minutes(5));
  fs::create_directory(dir.path() / "vader_segment.directory");
  const int file = ::open(mapped.c_str(), O_RDONLY);
  REQUIRE(file >= 0);
  void* const memory = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  REQUIRE(memory != MAP_FAILED);
  trivet::mpi::remove_stale_segments(dir.path());
  CHECK_FALSE(fs::exists(stale));
  CHECK(fs::exists(young));
  CHECK(fs::exists(mapped));
  CHECK(fs::exists(other));
  ::munmap(memory, 4096);
  trivet::mpi::remove_stale_segments(dir.path());
  CHECK_FALSE(fs::exists(mapped));
  trivet::mpi::remove_stale_segments(dir.path() / "missing");
}

}  // namespace mpi_stale_segments_test
