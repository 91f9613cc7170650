// SPDX-License-Identifier: Apache-2.0
// Transfers by nonblocking calls of MPI, whose counts are ints: larger buffers go in pieces.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Communicators of MPI for the messages that ranks send each other, and for the calls that all
// make.
struct tv_comm {
  MPI_Comm messages = MPI_COMM_NULL;
  MPI_Comm calls = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;
};

struct tv_request {
  std::vector<MPI_Request> parts{};
};

namespace trivet::mpi {

// Throws RunError with MPI's text.
void check(int code, const char* call);

void add_send(const void* data, std::uint64_t bytes, int to, int tag, MPI_Comm comm,
              tv_request& request);
void add_receive(void* data, std::uint64_t bytes, int from, int tag, MPI_Comm comm,
                 tv_request& request);
void add_broadcast(void* data, std::uint64_t bytes, int root, MPI_Comm comm, tv_request& request);
void add_all_gather(const void* in, void* out, std::uint64_t bytes_per_rank, const tv_comm& comm,
                    tv_request& request);
void add_all_to_all(const void* in, const std::uint64_t* in_bytes, void* out,
                    const std::uint64_t* out_bytes, const tv_comm& comm, tv_request& request);

}  // namespace trivet::mpi
