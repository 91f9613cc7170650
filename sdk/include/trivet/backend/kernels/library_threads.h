/* SPDX-License-Identifier: Apache-2.0 */
/* How a backend tells on how many threads a library works that it calls (a BLAS), offered through
 * tv_backend.extension. Such a setting is one of the whole process: a run asks now and then, and
 * stops when somebody has changed it, for results depend on it. */
#ifndef TRIVET_BACKEND_KERNELS_LIBRARY_THREADS_H
#define TRIVET_BACKEND_KERNELS_LIBRARY_THREADS_H

#include "../backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TV_LIBRARY_THREADS "library_threads/1"

typedef int32_t (*tv_library_threads_fn)(tv_ctx*);

#ifdef __cplusplus
}
#endif

#endif
