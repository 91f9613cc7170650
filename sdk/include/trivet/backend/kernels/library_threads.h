/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the number of threads of a library that the backend calls, such as a BLAS. Offered
 * through tv_backend.extension. The number is a setting of the process, and results depend on it: a
 * run queries it now and then, and stops when it has changed. */
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
