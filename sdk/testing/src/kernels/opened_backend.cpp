// SPDX-License-Identifier: Apache-2.0
// The host side of the conformance kit.

#include "opened_backend.h"

#include <atomic>
#include <thread>

namespace trivet::testing {

OpenedBackend::OpenedBackend(const tv_backend* backend, int threads)
    : backend_(backend), threads_(threads) {
  host_.struct_size = sizeof(tv_host);
  host_.api_version = TV_BACKEND_API_VERSION;
  host_.self = this;
  host_.set_error = set_error;
  host_.log = log;
  host_.scratch = scratch;
  host_.parallel_for = parallel_for;
  host_.max_workers = threads;
}

OpenedBackend::~OpenedBackend() {
  release_scratch();
  if (context_) backend_->close(context_);
}

tv_status OpenedBackend::open(int device, const std::vector<tv_option>& options) {
  return backend_->open(device, options.data(), options.size(), &host_, &context_);
}

void OpenedBackend::release_scratch() {
  for (void* block : scratch_) backend_->free(context_, block);
  scratch_.clear();
}

std::string OpenedBackend::take_error() {
  std::string text;
  text.swap(error_);
  return text;
}

void OpenedBackend::set_error(const tv_host* host, const char* text) {
  static_cast<OpenedBackend*>(host->self)->error_ = text;
}

void OpenedBackend::log(const tv_host*, std::int32_t, const char*) {}

void* OpenedBackend::scratch(const tv_host* host, std::uint64_t bytes) {
  auto* self = static_cast<OpenedBackend*>(host->self);
  void* block = nullptr;
  if (self->backend_->alloc(self->context_, bytes, &block) != TV_OK) return nullptr;
  self->scratch_.push_back(block);
  // Scratch comes as it was left by others: NaNs catch a kernel that counts on zeros.
  const std::vector<unsigned char> junk(bytes, 0xff);
  self->backend_->transfer(self->context_, block, junk.data(), bytes, TV_HOST_TO_DEVICE);
  return block;
}

// Threads take pieces in whatever order they come, so a result that depends on the order shows.
void OpenedBackend::parallel_for(const tv_host* host, std::int64_t n, std::int64_t grain,
                                 void (*fn)(void*, std::int64_t, std::int64_t, std::int32_t),
                                 void* arg) {
  const int threads = static_cast<OpenedBackend*>(host->self)->threads_;
  std::atomic<std::int64_t> next{0};
  const auto work = [&](std::int32_t worker) {
    for (;;) {
      const std::int64_t begin = next.fetch_add(grain);
      if (begin >= n) return;
      fn(arg, begin, begin + grain < n ? begin + grain : n, worker);
    }
  };
  std::vector<std::thread> others;
  for (int worker = 1; worker < threads && n > grain; ++worker) others.emplace_back(work, worker);
  work(0);
  for (auto& thread : others) thread.join();
}

}  // namespace trivet::testing
