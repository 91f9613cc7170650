// SPDX-License-Identifier: Apache-2.0
#include "local/processes/shared_memory.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "local/processes/message_queue.h"
#include "local/processes/shared_world.h"

namespace trivet::local {
namespace {

struct Engine {
  const tv_collective_host* host = nullptr;
  SharedWorld world{};
  MessageQueue queue{world};
  // Of the next communicator. Higher than that of any communicator with this process.
  std::uint32_t next_communicator = 1;
};

std::unique_ptr<Engine>& engine() {
  static std::unique_ptr<Engine> instance;
  return instance;
}

}  // namespace
}  // namespace trivet::local

struct tv_comm {
  std::uint32_t number = 0;
  std::uint64_t calls = 0;  // that all ranks make
  int rank = 0;
  std::vector<int> members{};  // ranks of the world

  int size() const { return static_cast<int>(members.size()); }
  trivet::local::Stream next_call() { return {number, 1, calls++}; }
};

namespace trivet::local {
namespace {

// Runs the body, and turns what it throws into a status with its text.
template <class Body>
tv_status answer(const tv_collective_host* host, const Body& body) {
  try {
    body();
    return TV_OK;
  } catch (const std::exception& error) {
    host->set_error(host, error.what());
    return TV_ERROR;
  }
}

// A transfer's request; `start` makes its calls of the queue.
template <class Start>
tv_status transfer(tv_request** request, const Start& start) {
  return answer(engine()->host, [&] {
    auto started = std::make_unique<tv_request>();
    start(engine()->queue, *started);
    *request = started.release();
  });
}

void wait_for(const tv_request& request) {
  while (request.transfers > 0) {
    engine()->queue.progress();
    std::this_thread::yield();
  }
}

void send_all(MessageQueue& queue, const tv_comm& comm, const Stream& call, const void* in,
              std::uint64_t bytes, tv_request& request) {
  for (const int member : comm.members) queue.send(member, call, in, bytes, request);
}

void launched(std::int32_t* rank, std::int32_t* size) {
  const SharedWorld::Rank self = SharedWorld::launched();
  *rank = self.rank;
  *size = self.size;
}

tv_status init(const tv_collective_host* host, tv_comm** world, tv_world* about) {
  return answer(host, [&] {
    auto started = std::make_unique<Engine>();
    started->host = host;
    auto comm = std::make_unique<tv_comm>();
    comm->rank = started->world.rank();
    for (int rank = 0; rank < started->world.size(); ++rank) comm->members.push_back(rank);
    about->rank = about->local_rank = comm->rank;
    about->size = about->local_size = comm->size();
    std::snprintf(about->name, sizeof(about->name), "shared memory");
    engine() = std::move(started);
    *world = comm.release();
  });
}

void finish(tv_comm* world) {
  delete world;
  engine().reset();
}

void abort(tv_comm*, std::int32_t code) {
  engine()->world.abort(code);
}

// What the ranks tell each other when they split.
struct SplitChoice {
  std::int32_t color = 0;
  std::int32_t key = 0;
  std::uint32_t next_communicator = 0;
};

tv_status split(tv_comm* comm, std::int32_t color, std::int32_t key, tv_comm** out) {
  return answer(engine()->host, [&] {
    const SplitChoice mine{color, key, engine()->next_communicator};
    std::vector<SplitChoice> all(comm->members.size());
    tv_request request;
    const Stream call = comm->next_call();
    send_all(engine()->queue, *comm, call, &mine, sizeof(mine), request);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      engine()->queue.receive(comm->members[rank], call, &all[rank], sizeof(mine), request);
    }
    wait_for(request);
    // Groups of other colors get the same number: they have no process in common.
    auto made = std::make_unique<tv_comm>();
    made->number = std::ranges::max(all, {}, &SplitChoice::next_communicator).next_communicator;
    engine()->next_communicator = made->number + 1;
    *out = nullptr;
    if (color < 0) return;
    std::vector<std::pair<std::int32_t, int>> order;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (all[rank].color == color) order.emplace_back(all[rank].key, static_cast<int>(rank));
    }
    std::ranges::sort(order);
    for (const auto& [its_key, rank] : order) {
      if (rank == comm->rank) made->rank = made->size();
      made->members.push_back(comm->members[static_cast<std::size_t>(rank)]);
    }
    *out = made.release();
  });
}

void release(tv_comm* comm) {
  delete comm;
}

tv_status all_gather(tv_comm* comm, const void* in, void* out, std::uint64_t bytes_per_rank,
                     tv_request** request) {
  return transfer(request, [&](MessageQueue& queue, tv_request& started) {
    const Stream call = comm->next_call();
    send_all(queue, *comm, call, in, bytes_per_rank, started);
    auto* next = static_cast<std::byte*>(out);
    for (const int member : comm->members) {
      queue.receive(member, call, next, bytes_per_rank, started);
      next += bytes_per_rank;
    }
  });
}

tv_status all_to_all(tv_comm* comm, const void* in, const std::uint64_t* in_bytes, void* out,
                     const std::uint64_t* out_bytes, tv_request** request) {
  return transfer(request, [&](MessageQueue& queue, tv_request& started) {
    const Stream call = comm->next_call();
    const auto* mine = static_cast<const std::byte*>(in);
    auto* theirs = static_cast<std::byte*>(out);
    for (std::size_t rank = 0; rank < comm->members.size(); ++rank) {
      queue.send(comm->members[rank], call, mine, in_bytes[rank], started);
      queue.receive(comm->members[rank], call, theirs, out_bytes[rank], started);
      mine += in_bytes[rank];
      theirs += out_bytes[rank];
    }
  });
}

tv_status broadcast(tv_comm* comm, void* data, std::uint64_t bytes, std::int32_t root,
                    tv_request** request) {
  return transfer(request, [&](MessageQueue& queue, tv_request& started) {
    const Stream call = comm->next_call();
    if (comm->rank != root) {
      queue.receive(comm->members[static_cast<std::size_t>(root)], call, data, bytes, started);
      return;
    }
    for (int rank = 0; rank < comm->size(); ++rank) {
      if (rank == root) continue;
      queue.send(comm->members[static_cast<std::size_t>(rank)], call, data, bytes, started);
    }
  });
}

tv_status send(tv_comm* comm, const void* data, std::uint64_t bytes, std::int32_t to,
               std::int32_t tag, tv_request** request) {
  return transfer(request, [&](MessageQueue& queue, tv_request& started) {
    const Stream stream{comm->number, 0, static_cast<std::uint64_t>(tag)};
    queue.send(comm->members[static_cast<std::size_t>(to)], stream, data, bytes, started);
  });
}

tv_status receive(tv_comm* comm, void* data, std::uint64_t bytes, std::int32_t from,
                  std::int32_t tag, tv_request** request) {
  return transfer(request, [&](MessageQueue& queue, tv_request& started) {
    const Stream stream{comm->number, 0, static_cast<std::uint64_t>(tag)};
    queue.receive(comm->members[static_cast<std::size_t>(from)], stream, data, bytes, started);
  });
}

tv_status progress(tv_request** request, std::int32_t* done) {
  return answer(engine()->host, [&] {
    engine()->queue.progress();
    if (request == nullptr) {
      *done = engine()->queue.transfers() == 0;
      return;
    }
    *done = *request == nullptr || (*request)->transfers == 0;
    if (*done == 0) return;
    delete *request;
    *request = nullptr;
  });
}

}  // namespace

const tv_collective* shared_memory() {
  static const tv_collective table = {
      .struct_size = sizeof(tv_collective),
      .api_version = TV_COLLECTIVE_API_VERSION,
      .device_pointers = 0,
      .launched = launched,
      .launcher = nullptr,
      .init = init,
      .finish = finish,
      .abort = abort,
      .split = split,
      .release = release,
      .all_gather = all_gather,
      .all_to_all = all_to_all,
      .broadcast = broadcast,
      .send = send,
      .receive = receive,
      .progress = progress,
  };
  return &table;
}

}  // namespace trivet::local
