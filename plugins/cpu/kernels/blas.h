// SPDX-License-Identifier: Apache-2.0
// Loads OpenBLAS on first use. A linked library would start a thread per core at load time, and
// each thread would retry forever to allocate a buffer if address space is limited (ulimit -v).
// This code starts no OpenBLAS threads, since the host's threads do the work.
#pragma once

#include <cblas.h>

#include <cstdint>
#include <string>

namespace cpu {

struct Blas {
  decltype(&cblas_sgemm) sgemm = nullptr;
  decltype(&openblas_get_config) config = nullptr;
  decltype(&openblas_get_corename) corename = nullptr;
  decltype(&openblas_get_num_threads) threads = nullptr;
  std::string problem;  // why it cannot be used; empty if it can
};

// [any-thread]
const Blas& blas();

// OpenBLAS keeps a buffer for every thread that multiplies at the same time and allocates it at the
// first product. Allocates buffers for `threads` threads now. Returns an error message, or an empty
// string.
std::string reserve_blas_buffers(std::int32_t threads);

}  // namespace cpu
