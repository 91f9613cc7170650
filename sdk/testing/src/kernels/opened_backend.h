// SPDX-License-Identifier: Apache-2.0
// A tv_host for tests: a fixed number of threads, scratch from the backend's own alloc, errors
// kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trivet/backend/backend.h"

namespace trivet::testing {

// One opened device with its host. Scratch blocks live until the next release_scratch().
class OpenedBackend {
 public:
  OpenedBackend(const tv_backend* backend, int threads);
  ~OpenedBackend();
  OpenedBackend(const OpenedBackend&) = delete;
  OpenedBackend& operator=(const OpenedBackend&) = delete;

  tv_status open(int device, const std::vector<tv_option>& options);
  void release_scratch();

  const tv_backend& table() const { return *backend_; }
  tv_ctx* context() const { return context_; }
  int threads() const { return threads_; }
  std::string take_error();  // the text given to set_error since the last call

 private:
  static void set_error(const tv_host* host, const char* text);
  static void log(const tv_host* host, std::int32_t level, const char* text);
  static void* scratch(const tv_host* host, std::uint64_t bytes);
  static void parallel_for(const tv_host* host, std::int64_t n, std::int64_t grain,
                           void (*fn)(void*, std::int64_t, std::int64_t, std::int32_t), void* arg);

  const tv_backend* backend_;
  int threads_;
  tv_host host_ = {};
  tv_ctx* context_ = nullptr;
  std::string error_;
  std::vector<void*> scratch_;
};

}  // namespace trivet::testing
