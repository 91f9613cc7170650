// SPDX-License-Identifier: Apache-2.0
#include "mpi/engine.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "mpi/stale_segments.h"
#include "mpi/transfers.h"
#include "trivet/error.h"
#include "trivet/os/environment.h"

namespace trivet::mpi {
namespace {

struct Engine {
  const tv_collective_host* host = nullptr;
  std::vector<tv_request*> outstanding{};
};

Engine& state() {
  static Engine instance;
  return instance;
}

template <class Body>
tv_status answer(const Body& body) {
  try {
    body();
    return TV_OK;
  } catch (const std::exception& error) {
    state().host->set_error(state().host, error.what());
    return TV_ERROR;
  }
}

// A transfer's request; `start` adds its parts.
template <class Start>
tv_status transfer(tv_request** request, const Start& start) {
  return answer([&] {
    auto started = std::make_unique<tv_request>();
    start(*started);
    state().outstanding.push_back(started.get());
    *request = started.release();
  });
}

// Open MPI's launcher sets the first two; that of MPICH, and Slurm for it, the others.
void launched(std::int32_t* rank, std::int32_t* size) {
  *rank = -1;
  *size = 0;
  const std::array<std::array<const char*, 2>, 3> variables = {{
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"PMI_RANK", "PMI_SIZE"},
      {"PMIX_RANK", "SLURM_NTASKS"},
  }};
  for (const auto& [rank_variable, size_variable] : variables) {
    const auto its_rank = environment_number(rank_variable);
    const auto its_size = environment_number(size_variable);
    if (!its_rank || !its_size) continue;
    *rank = *its_rank;
    *size = *its_size;
    return;
  }
}

const char* launcher(std::int32_t processes) {
  static std::string words;
#ifdef OPEN_MPI
  // Its launcher binds each of up to two processes to one core, refuses to run as root, and refuses
  // more processes than cores, all unless told otherwise. It explains each exit code that is not 0,
  // which the program has done.
  remove_stale_segments("/dev/shm");
  words = "mpirun -q --bind-to none";
  if (::geteuid() == 0) words += " --allow-run-as-root";
  if (processes > ::sysconf(_SC_NPROCESSORS_ONLN)) words += " --oversubscribe";
#else
  words = "mpiexec";
#endif
  words += " -n " + std::to_string(processes);
  return words.c_str();
}

std::unique_ptr<tv_comm> with_copy(MPI_Comm messages) {
  auto comm = std::make_unique<tv_comm>();
  comm->messages = messages;
  check(MPI_Comm_dup(messages, &comm->calls), "MPI_Comm_dup");
  for (const MPI_Comm each : {comm->messages, comm->calls}) {
    check(MPI_Comm_set_errhandler(each, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  check(MPI_Comm_rank(messages, &comm->rank), "MPI_Comm_rank");
  check(MPI_Comm_size(messages, &comm->size), "MPI_Comm_size");
  return comm;
}

// The first line's first part: "Open MPI v4.1.4, package: .." and "MPICH Version: 4.0.2".
std::string library_name() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  std::string name(text.data(), static_cast<std::size_t>(length));
  name = name.substr(0, name.find_first_of(",\n"));
  std::ranges::replace(name, '\t', ' ');
  return name;
}

tv_status init(const tv_collective_host* host, tv_comm** world, tv_world* about) {
  state().host = host;
  return answer([&] {
    int is_initialized = 0;
    check(MPI_Initialized(&is_initialized), "MPI_Initialized");
    if (is_initialized != 0) throw RunError("MPI can be started once in a process");
    int threads = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &threads), "MPI_Init_thread");
    if (threads < MPI_THREAD_SERIALIZED) {
      throw RunError("this MPI serves only the thread that started it");
    }
    auto comm = with_copy(MPI_COMM_WORLD);
    MPI_Comm machine = MPI_COMM_NULL;
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL,
                              &machine),
          "MPI_Comm_split_type");
    about->rank = comm->rank;
    about->size = comm->size;
    check(MPI_Comm_rank(machine, &about->local_rank), "MPI_Comm_rank");
    check(MPI_Comm_size(machine, &about->local_size), "MPI_Comm_size");
    check(MPI_Comm_free(&machine), "MPI_Comm_free");
    std::snprintf(about->name, sizeof(about->name), "%s", library_name().c_str());
    *world = comm.release();
  });
}

void release(tv_comm* comm) {
  MPI_Comm_free(&comm->calls);
  MPI_Comm_free(&comm->messages);
  delete comm;
}

void finish(tv_comm* world) {
  MPI_Comm_free(&world->calls);
  delete world;
  MPI_Finalize();
}

void abort(tv_comm*, std::int32_t code) {
  MPI_Abort(MPI_COMM_WORLD, code);
  ::_exit(code);
}

tv_status split(tv_comm* comm, std::int32_t color, std::int32_t key, tv_comm** out) {
  return answer([&] {
    MPI_Comm part = MPI_COMM_NULL;
    check(MPI_Comm_split(comm->calls, color < 0 ? MPI_UNDEFINED : color, key, &part),
          "MPI_Comm_split");
    *out = part == MPI_COMM_NULL ? nullptr : with_copy(part).release();
  });
}

tv_status all_gather(tv_comm* comm, const void* in, void* out, std::uint64_t bytes_per_rank,
                     tv_request** request) {
  return transfer(request, [&](tv_request& started) {
    add_all_gather(in, out, bytes_per_rank, *comm, started);
  });
}

tv_status all_to_all(tv_comm* comm, const void* in, const std::uint64_t* in_bytes, void* out,
                     const std::uint64_t* out_bytes, tv_request** request) {
  return transfer(request, [&](tv_request& started) {
    add_all_to_all(in, in_bytes, out, out_bytes, *comm, started);
  });
}

tv_status broadcast(tv_comm* comm, void* data, std::uint64_t bytes, std::int32_t root,
                    tv_request** request) {
  return transfer(request, [&](tv_request& started) {
    add_broadcast(data, bytes, root, comm->calls, started);
  });
}

tv_status send(tv_comm* comm, const void* data, std::uint64_t bytes, std::int32_t to,
               std::int32_t tag, tv_request** request) {
  return transfer(request, [&](tv_request& started) {
    add_send(data, bytes, to, tag, comm->messages, started);
  });
}

tv_status receive(tv_comm* comm, void* data, std::uint64_t bytes, std::int32_t from,
                  std::int32_t tag, tv_request** request) {
  return transfer(request, [&](tv_request& started) {
    add_receive(data, bytes, from, tag, comm->messages, started);
  });
}

bool has_ended(tv_request& request) {
  int done = 0;
  check(MPI_Testall(static_cast<int>(request.parts.size()), request.parts.data(), &done,
                    MPI_STATUSES_IGNORE),
        "MPI_Testall");
  return done != 0;
}

tv_status progress(tv_request** request, std::int32_t* done) {
  return answer([&] {
    if (request == nullptr) {
      *done = 1;
      for (tv_request* each : state().outstanding) {
        if (!has_ended(*each)) *done = 0;
      }
      return;
    }
    *done = *request == nullptr || has_ended(**request);
    if (*done == 0 || *request == nullptr) return;
    std::erase(state().outstanding, *request);
    delete *request;
    *request = nullptr;
  });
}

}  // namespace

const tv_collective* engine() {
  static const tv_collective table = {
      .struct_size = sizeof(tv_collective),
      .api_version = TV_COLLECTIVE_API_VERSION,
      .device_pointers = 0,
      .launched = launched,
      .launcher = launcher,
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

}  // namespace trivet::mpi
