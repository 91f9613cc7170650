/* SPDX-License-Identifier: Apache-2.0 */
/* Communication between processes that work together: a C table of functions, so that any
 * toolchain can build an engine for it. `trivet doctor --collective KEY` measures one.
 *
 * An engine moves bytes and computes nothing: no number depends on which engine it is.
 *
 * Words: a communicator is an ordered group of processes; the rank of a process is its position in
 * it. The world is the communicator of all processes.
 *
 * Rules for authors
 *  1. One thread at a time calls the engine, not always the same one.
 *  2. Every rank of a communicator makes the same calls of `split`, `all_gather`, `all_to_all` and
 *     `broadcast` on it in the same order. Calls on other communicators, `send` and `receive` may
 *     come between them in any order.
 *  3. A transfer returns at once with a request. Any number of requests may be outstanding, on one
 *     communicator or several, and `progress` may end them in any order.
 *  4. Buffers belong to the engine until `progress` says that the request has ended. Buffers of one
 *     call do not overlap. They are host memory unless `device_pointers` is 1.
 *  5. Byte counts may be 0 or more than 2^31. Both sides of a transfer name the same count.
 *  6. A process that computes for minutes without a call is alive: only `progress` may notice that
 *     another process is gone, and answers TV_ERROR then.
 *
 * The table only grows at its end: `struct_size` tells how much of it an engine knows. */
#ifndef TRIVET_COLLECTIVE_H
#define TRIVET_COLLECTIVE_H

#include "trivet/backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TV_COLLECTIVE_API_VERSION 2

typedef struct tv_comm tv_comm;       /* a communicator */
typedef struct tv_request tv_request; /* a transfer that has not ended */

/* What the program offers an engine; valid until `finish` returns. */
typedef struct tv_collective_host {
  uint32_t struct_size;
  void* self;
  /* The text of the TV_ERROR that the current call answers. */
  void (*set_error)(const struct tv_collective_host*, const char* text);
} tv_collective_host;

typedef struct tv_world {
  uint32_t struct_size;
  int32_t rank, size;             /* of all processes */
  int32_t local_rank, local_size; /* of those on this machine */
  char name[64];                  /* for people, e.g. "Open MPI 4.1.4"; equal on all ranks */
} tv_world;

typedef struct tv_collective {
  uint32_t struct_size;
  uint32_t api_version;
  int32_t device_pointers; /* 1: buffers are memory of the run's backend */

  /* Reads from the environment alone whether a launcher of this engine has started this process,
   * and as which of how many. Rank -1 and size 0: none has. May be called before `init`, and does
   * not need it. */
  void (*launched)(int32_t* rank, int32_t* size);
  /* The words of the command that starts this many copies of the command behind them, separated by
   * single blanks; valid until the next call. Null, or a null function: the program starts them
   * itself, and sets TRIVET_RANK, TRIVET_PROCESSES and TRIVET_WORLD_FD, the number of an open
   * anonymous file that is empty at first and common to all. */
  const char* (*launcher)(int32_t processes);

  /* Once in a process. */
  tv_status (*init)(const tv_collective_host*, tv_comm** world, tv_world* about);
  /* No request is outstanding, and all other communicators are released. Waits for all ranks. */
  void (*finish)(tv_comm* world);
  /* Ends every process of the world, this one with the exit code. Does not return. */
  void (*abort)(tv_comm* world, int32_t code);

  /* Ranks with equal colors form a communicator, in the order of their keys, then of their ranks. A
   * rank with a negative color gets null. Waits for all ranks of the communicator. */
  tv_status (*split)(tv_comm*, int32_t color, int32_t key, tv_comm** out);
  void (*release)(tv_comm*);

  /* `out` gets what each rank has in `in`, in the order of ranks. */
  tv_status (*all_gather)(tv_comm*, const void* in, void* out, uint64_t bytes_per_rank,
                          tv_request**);
  /* `in` holds in_bytes[r] bytes for each rank r, one after the other; `out` gets out_bytes[r]
   * bytes from each. Both arrays of counts may be freed when the call has returned. */
  tv_status (*all_to_all)(tv_comm*, const void* in, const uint64_t* in_bytes, void* out,
                          const uint64_t* out_bytes, tv_request**);
  /* The data of the rank `root` become those of all. */
  tv_status (*broadcast)(tv_comm*, void* data, uint64_t bytes, int32_t root, tv_request**);
  /* A receive takes the first message of this rank and tag that no earlier receive took. Tags are
   * at least 0 and at most 32767. A rank may send to itself. */
  tv_status (*send)(tv_comm*, const void* data, uint64_t bytes, int32_t to, int32_t tag,
                    tv_request**);
  tv_status (*receive)(tv_comm*, void* data, uint64_t bytes, int32_t from, int32_t tag,
                       tv_request**);

  /* Gives the engine time, and never waits. `done` becomes 1 when the request has ended, which also
   * frees it and sets it to null; a null request has ended. Without a request (a null pointer):
   * `done` becomes 1 when all requests of this process have ended, none of which is freed. */
  tv_status (*progress)(tv_request**, int32_t* done);
} tv_collective;

typedef const tv_collective* (*tv_get_collective)(void);

#ifdef __cplusplus
}
#endif
#endif
