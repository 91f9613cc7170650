// SPDX-License-Identifier: Apache-2.0
#include "mpi/transfers.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>

#include "trivet/error.h"

namespace trivet::mpi {
namespace {

constexpr std::uint64_t kLargestPiece = std::uint64_t{1} << 30;
// Of pieces of calls that all ranks make. Their order is that of the calls.
constexpr int kCallTag = 0;

// Calls fn(first byte, number of bytes) for each piece; at least once, so that an empty message is
// sent, too.
template <class Fn>
void for_each_piece(std::uint64_t bytes, const Fn& fn) {
  std::uint64_t begin = 0;
  do {
    const std::uint64_t count = std::min(bytes - begin, kLargestPiece);
    fn(begin, static_cast<int>(count));
    begin += count;
  } while (begin < bytes);
}

template <class Call>
void add(tv_request& request, const char* name, const Call& call) {
  MPI_Request part = MPI_REQUEST_NULL;
  check(call(&part), name);
  request.parts.push_back(part);
}

}  // namespace

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw RunError(std::string(call) + ": " +
                 std::string(text.data(), static_cast<std::size_t>(length)));
}

void add_send(const void* data, std::uint64_t bytes, int to, int tag, MPI_Comm comm,
              tv_request& request) {
  for_each_piece(bytes, [&](std::uint64_t begin, int count) {
    add(request, "MPI_Isend", [&](MPI_Request* part) {
      return MPI_Isend(static_cast<const std::byte*>(data) + begin, count, MPI_BYTE, to, tag, comm,
                       part);
    });
  });
}

void add_receive(void* data, std::uint64_t bytes, int from, int tag, MPI_Comm comm,
                 tv_request& request) {
  for_each_piece(bytes, [&](std::uint64_t begin, int count) {
    add(request, "MPI_Irecv", [&](MPI_Request* part) {
      return MPI_Irecv(static_cast<std::byte*>(data) + begin, count, MPI_BYTE, from, tag, comm,
                       part);
    });
  });
}

void add_broadcast(void* data, std::uint64_t bytes, int root, MPI_Comm comm, tv_request& request) {
  for_each_piece(bytes, [&](std::uint64_t begin, int count) {
    add(request, "MPI_Ibcast", [&](MPI_Request* part) {
      return MPI_Ibcast(static_cast<std::byte*>(data) + begin, count, MPI_BYTE, root, comm, part);
    });
  });
}

void add_all_gather(const void* in, void* out, std::uint64_t bytes_per_rank, const tv_comm& comm,
                    tv_request& request) {
  if (bytes_per_rank <= kLargestPiece / static_cast<std::uint64_t>(comm.size)) {
    const int count = static_cast<int>(bytes_per_rank);
    add(request, "MPI_Iallgather", [&](MPI_Request* part) {
      return MPI_Iallgather(in, count, MPI_BYTE, out, count, MPI_BYTE, comm.calls, part);
    });
    return;
  }
  for (int rank = 0; rank < comm.size; ++rank) {
    auto* part = static_cast<std::byte*>(out) + static_cast<std::uint64_t>(rank) * bytes_per_rank;
    add_receive(part, bytes_per_rank, rank, kCallTag, comm.calls, request);
    add_send(in, bytes_per_rank, rank, kCallTag, comm.calls, request);
  }
}

void add_all_to_all(const void* in, const std::uint64_t* in_bytes, void* out,
                    const std::uint64_t* out_bytes, const tv_comm& comm, tv_request& request) {
  // One way for all sizes: which one it is must be the same on all ranks, and a rank knows its own
  // counts only.
  const auto* mine = static_cast<const std::byte*>(in);
  auto* theirs = static_cast<std::byte*>(out);
  for (int rank = 0; rank < comm.size; ++rank) {
    if (out_bytes[rank] > 0) {
      add_receive(theirs, out_bytes[rank], rank, kCallTag, comm.calls, request);
    }
    theirs += out_bytes[rank];
  }
  for (int turn = 0; turn < comm.size; ++turn) {
    // Each starts with another one, so that not all send to the same rank first.
    const int rank = (comm.rank + turn) % comm.size;
    if (in_bytes[rank] == 0) continue;
    std::uint64_t begin = 0;
    for (int before = 0; before < rank; ++before) begin += in_bytes[before];
    add_send(mine + begin, in_bytes[rank], rank, kCallTag, comm.calls, request);
  }
}

}  // namespace trivet::mpi
