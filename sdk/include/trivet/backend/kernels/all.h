/* SPDX-License-Identifier: Apache-2.0 */
/* All kernels that a backend may offer through tv_backend.extension: for code that does the same
 * with each of them. What is not a kernel, such as library_threads.h, is not in the list. */
#ifndef TRIVET_BACKEND_KERNELS_ALL_H
#define TRIVET_BACKEND_KERNELS_ALL_H

#include "norm.h"
#include "recurrent.h"
#include "vision.h"

/* X(ID, FUNCTION, ARGUMENTS) */
#define TV_FOR_EACH_EXTENSION_KERNEL(X) \
  TV_FOR_EACH_VISION_KERNEL(X)          \
  TV_FOR_EACH_NORM_KERNEL(X)            \
  TV_FOR_EACH_RECURRENT_KERNEL(X)

#endif
