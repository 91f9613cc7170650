/* SPDX-License-Identifier: Apache-2.0 */
/* Bursts that show what a device can reach at most, offered through tv_backend.extension. The host
 * repeats them and keeps the best: other work on the machine only makes a burst slower. Model FLOPs
 * utilization (MFU) is relative to the peak. */
#ifndef TRIVET_BACKEND_KERNELS_PEAK_H
#define TRIVET_BACKEND_KERNELS_PEAK_H

#include "../backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TV_PEAK_FLOPS "peak_flops/1"
#define TV_PEAK_BANDWIDTH "peak_bandwidth/1"

/* One burst of some milliseconds, without memory: independent multiply-adds of `dtype` in all units
 * of the device. */
typedef struct tv_peak_flops {
  uint32_t struct_size;
  uint8_t dtype;
  double flops;      /* out: multiplications and additions per second */
  double clock;      /* out: cycles per second of one core under load; 0: unknown */
  double core_flops; /* out: of one core while it ran the burst; 0: unknown */
  int32_t cores;     /* out: how many cores took part */
  int32_t width;     /* out: FLOP of one instruction: twice the elements of a vector */
} tv_peak_flops;
typedef tv_status (*tv_peak_flops_fn)(tv_ctx*, tv_peak_flops*);

/* One pass over `bytes` of device memory that no cache holds. The host passes the memory. */
typedef struct tv_peak_bandwidth {
  uint32_t struct_size;
  const void* data;
  uint64_t bytes;
  double bytes_per_second; /* out: read */
} tv_peak_bandwidth;
typedef tv_status (*tv_peak_bandwidth_fn)(tv_ctx*, tv_peak_bandwidth*);

#ifdef __cplusplus
}
#endif

#endif
