// SPDX-License-Identifier: Apache-2.0
// OpenBLAS, loaded when it is first asked for. A library that is linked starts a thread for every
// core as it is loaded, and each of them asks for a buffer without end where the process may not
// have it (ulimit -v); here it starts none, since the host's threads do the work.
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
  std::string problem;  // why it cannot be used; empty where it can
};

// [any-thread]
const Blas& blas();

// OpenBLAS keeps a buffer for every thread that multiplies at the same time, and takes it at the
// first product. Takes them now, for so many threads. What went wrong; empty where nothing did.
std::string reserve_blas_buffers(std::int32_t threads);

}  // namespace cpu
