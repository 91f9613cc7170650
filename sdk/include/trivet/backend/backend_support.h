// SPDX-License-Identifier: Apache-2.0
// For backends written in C++: what every one of them needs beside its kernels. Header only, on top
// of backend.h alone, so that a backend need not link libtrivet.
//
// Views, errors and the checks of `open` serve any backend; the second half is the device of a
// backend whose device memory is ordinary memory. One for other memory writes those six functions
// itself.
//
// Example (sdk/examples/snippets/backend.cpp#table):
//
//   tv_status info(tv_info* out) {
//     trivet::backends::describe_processor(*out, "acme (loops)");
//     return TV_OK;
//   }
//
//   tv_backend make_table() {
//     tv_backend table = trivet::backends::empty_table();
//     trivet::backends::use_ordinary_memory(table);
//     table.info = info;  // and so on: open, close and the kernels
//     return table;
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "trivet/backend/backend.h"

namespace trivet::backends {

// Of the shape, whatever the strides.
inline std::int64_t element_count(const tv_view& view) {
  std::int64_t count = 1;
  for (int axis = 0; axis < view.rank; ++axis) count *= view.shape[axis];
  return count;
}

// Bytes of one element of a tv_dtype.
inline std::size_t dtype_size(int dtype) {
  if (dtype == TV_BF16 || dtype == TV_F16) return 2;
  return dtype == TV_U8 || dtype == TV_BOOL ? 1 : 4;
}

template <typename T>
T* data(const tv_view& view) {
  return static_cast<T*>(view.data);
}

// The way to report an error: the text to the host, the status to the caller.
inline tv_status fail(const tv_host* host, const std::string& text) {
  host->set_error(host, text.c_str());
  return TV_ERROR;
}

// The start of `open` for a backend `name` with one device and no options: anything else is
// refused.
inline tv_status expect_plain_open(const char* name, std::int32_t device, const tv_option* options,
                                   std::size_t option_count, const tv_host* host) {
  const std::string who = name;
  if (device != 0) {
    return fail(host, who + " has one device, number 0, not " + std::to_string(device));
  }
  if (option_count > 0) return fail(host, who + " knows no option '" + options[0].key + "'");
  return TV_OK;
}

// A table without functions.
inline tv_backend empty_table() {
  tv_backend table = {};
  table.struct_size = sizeof(tv_backend);
  table.api_version = TV_BACKEND_API_VERSION;
  return table;
}

// ---- The processor and its memory

inline constexpr std::uint64_t kAlignment = 64;

// What `info` says of one device that stores every type and computes in f32. `name` is cut to fit.
inline void describe_processor(tv_info& info, const std::string& name) {
  info = {};
  info.struct_size = sizeof(tv_info);
  std::snprintf(info.name, sizeof(info.name), "%s", name.c_str());
  for (const int dtype : {TV_F32, TV_BF16, TV_F16, TV_I32, TV_U8, TV_BOOL, TV_U32}) {
    info.storage_dtypes |= 1u << dtype;
  }
  info.compute_dtypes = 1u << TV_F32;
  info.host_visible = 1;
  info.alignment = kAlignment;
  info.device_count = 1;
}

// Sets alloc, free, transfer and sync. Nothing is ever queued.
inline void use_ordinary_memory(tv_backend& table) {
  table.alloc = [](tv_ctx*, std::uint64_t bytes, void** out) -> tv_status {
    *out = nullptr;
    if (bytes > std::numeric_limits<std::uint64_t>::max() - kAlignment) return TV_OUT_OF_MEMORY;
    // A multiple of the alignment, and never nothing.
    *out = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
    return *out != nullptr ? TV_OK : TV_OUT_OF_MEMORY;
  };
  table.free = [](tv_ctx*, void* memory) { std::free(memory); };
  table.transfer = [](tv_ctx*, void* to, const void* from, std::uint64_t bytes,
                      tv_direction) -> tv_status {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return TV_OK;
  };
  table.sync = [](tv_ctx*) -> tv_status { return TV_OK; };
}

}  // namespace trivet::backends
