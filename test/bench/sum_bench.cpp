// SPDX-License-Identifier: Apache-2.0
// What a sum in the order of the mesh costs beside the MPI library's own: MeshShards::sum over the
// engine mpi/Mpi, and MPI_Allreduce, of the same blocks. They take turns; a turn lasts until its
// last process has ended, and the best of the turns counts.
//
//   mpirun -n 2 --bind-to none sum_bench [ROUNDS]

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <span>
#include <vector>

#include "base/process_info.h"
#include "mpi/engine.h"
#include "processes/world.h"
#include "tiny/backend.h"
#include "trivet/backend/mesh.h"
#include "trivet/tensor/device.h"
#include "trivet/tensor/mesh_shards.h"

namespace {

using namespace trivet;

constexpr std::int64_t kMebibytes[] = {1, 4, 16, 64};
constexpr int kRounds = 15;
constexpr double kTimeout = 600;  // with a limit, World waits as it does inside of steps

template <class Body>
double seconds_of(const Body& body) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = steady_seconds();
  body();
  double seconds = steady_seconds() - start;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

// Small integers, of which any order has the same sum.
void fill(std::span<float> values, int rank) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(rank) * 3) % 101);
  }
}

// Whether both sums are equal.
bool measure(std::int64_t mebibytes, int rounds, const MeshShards& shards, World& world,
             Device& device) {
  const std::int64_t count = (mebibytes << 20) / std::int64_t{sizeof(float)};
  std::vector<float> plain(static_cast<std::size_t>(count));
  Tensor block = Tensor::zeros(device, {count});
  double plain_best = std::numeric_limits<double>::infinity(), best = plain_best;
  // The first round touches the memory.
  for (int round = 0; round <= rounds; ++round) {
    fill(plain, world.rank());
    fill(block.mutable_span<float>(), world.rank());
    const double its_seconds = seconds_of([&] {
      MPI_Allreduce(MPI_IN_PLACE, plain.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
    });
    const double seconds = seconds_of([&] { shards.sum(block); });
    if (round == 0) continue;
    plain_best = std::min(plain_best, its_seconds);
    best = std::min(best, seconds);
  }
  if (world.rank() == 0) {
    std::printf("%9d %6lld %14.3f %14.3f %7.2f\n", world.size(), static_cast<long long>(mebibytes),
                plain_best * 1e3, best * 1e3, best / plain_best);
    std::fflush(stdout);
  }
  return std::ranges::equal(block.span<float>(), plain);
}

int run(int rounds) {
  World world(*mpi::engine(), "mpi/Mpi");
  world.set_timeout(kTimeout);
  const auto device = Device::open(tiny::get(), {.key = "tiny/Backend"});
  MeshConfig mesh;
  mesh.ici_mesh_shape = {world.size(), 1, 1};
  const MeshShards shards(mesh, &world);
  if (world.rank() == 0) {
    std::printf("processes    MiB  MPI_Allreduce  canonical sum   ratio   (ms, %s)\n",
                world.name().c_str());
  }
  bool equal = true;
  for (const std::int64_t mebibytes : kMebibytes) {
    equal = measure(mebibytes, rounds, shards, world, *device) && equal;
  }
  world.set_timeout(World::kNoLimit);
  if (!equal) std::fprintf(stderr, "sum_bench: the sums differ\n");
  return equal ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? std::max(1, std::atoi(argv[1])) : kRounds);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sum_bench: %s\n", error.what());
    return 1;
  }
}
