/* SPDX-License-Identifier: Apache-2.0 */
/* Communication between the processes of one run: a C table like backend.h, so that any toolchain
 * can build one. Memory is the host's unless `device_pointers` is set. Every rank of a communicator
 * makes the same calls in the same order. Results are the same bits on every rank. */
#ifndef TRIVET_COLLECTIVE_H
#define TRIVET_COLLECTIVE_H

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TV_COLLECTIVE_API_VERSION 1

typedef struct tv_comm tv_comm;
typedef struct tv_request tv_request;

typedef struct tv_collective {
  uint32_t struct_size;
  uint32_t api_version;
  int32_t device_pointers;
  tv_status (*init)(const tv_host*, tv_comm** world);
  void (*finish)(tv_comm* world);
  tv_status (*rank)(tv_comm*, int32_t* rank, int32_t* size);
  /* Ranks of equal colour form a new communicator, ordered by key. */
  tv_status (*split)(tv_comm*, int32_t color, int32_t key, tv_comm** out);
  /* Sums, f32. `request` null: blocking; else the call may return early and `wait` ends it. in may
   * be out. */
  tv_status (*all_reduce)(tv_comm*, const void* in, void* out, int64_t count, tv_dtype,
                          tv_request** request);
  tv_status (*all_gather)(tv_comm*, const void* in, void* out, int64_t count_per_rank, tv_dtype,
                          tv_request** request);
  tv_status (*reduce_scatter)(tv_comm*, const void* in, void* out, int64_t count_per_rank, tv_dtype,
                              tv_request** request);
  tv_status (*all_to_all)(tv_comm*, const void* in, void* out, int64_t count_per_rank, tv_dtype,
                          tv_request** request);
  tv_status (*send_receive)(tv_comm*, const void* out, int32_t to, void* in, int32_t from,
                            int64_t count, tv_dtype);
  tv_status (*barrier)(tv_comm*);
  tv_status (*wait)(tv_request*); /* ends and frees the request */
} tv_collective;

typedef const tv_collective* (*tv_get_collective)(void);

#ifdef __cplusplus
}
#endif
#endif
