// SPDX-License-Identifier: Apache-2.0
// Device: one opened backend, with the policy the SDK keeps for all backends: memory, which kernels
// were composed, FLOPs.
//
// Memory. Parameters, gradients and optimizer state are blocks of their own. Everything made
// between begin_step() and end_step() is step memory: the first step (and any step that differs
// from the one before) takes it from a caching allocator and records sizes and lifetimes; then a
// plan is solved (greedy by size over lifetimes) and later steps replay it in one arena. The n-th
// allocation gets the n-th planned offset. A steady step makes no system call, touches no new page
// and uses the same addresses every time. A tensor that outlives its step is found out at
// end_step(): the arena is then left to it, and from then on that allocation has memory of its own
// in steps of this kind. A few kinds of steps (training, its last batch, evaluation) have a plan
// each; their first allocation distinguishes them. Tensors live at most as long as the device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trivet/backend/backend.h"
#include "trivet/base/export.h"
#include "trivet/plugin/plugin_call.h"

namespace trivet {

class ThreadPool;

struct DeviceOptions {
  std::string key = "backend";  // for messages, e.g. "cpu/Highway"
  int index = 0;
  std::vector<std::pair<std::string, std::string>> options{};  // passed to tv_backend.open
  std::shared_ptr<ThreadPool> pool{};  // made with default threads when null
  std::uint64_t memory_limit = 0;      // bytes of device memory; 0 = none
};

// How often an optional function was answered by the backend, and how often the SDK fell back to
// others.
struct KernelUse {
  std::string kernel;  // "linear_fwd", "extension conv2d_fwd/1"
  std::uint64_t native = 0, fallback = 0;
};

struct MemoryReport {
  std::uint64_t persistent_bytes = 0;     // parameters, gradients, optimizer state, caches
  std::uint64_t arena_bytes = 0;          // planned step memory
  std::uint64_t lower_bound_bytes = 0;    // most step bytes alive at once
  std::uint64_t peak_bytes = 0;           // most memory taken from the backend at once
  std::uint64_t backend_allocations = 0;  // calls of tv_backend.alloc since open
  std::uint64_t planned_steps = 0, recorded_steps = 0;
};

// Floating-point operations of the model as defined (no recomputation), as the ops declare them.
struct FlopCount {
  double flops = 0;  // attention over the pairs of positions that see each other
  // Attention over all pairs: what the closed form 6 N + 12 L H Q T counts, and model FLOPs
  // utilization with it (Chowdhery et al. 2022, appendix B).
  double model_flops = 0;
  double attention_flops = 0;  // the part of model_flops that is attention's: 12 L H Q T a token
};

class TRIVET_API Device {
 public:
  // Opens a backend. Throws Error with the backend's own text when it cannot, naming the missing
  // function when a mandatory one is null.
  static std::unique_ptr<Device> open(const tv_backend* backend, DeviceOptions options = {});
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& key() const;
  const tv_info& info() const;
  bool host_visible() const;
  ThreadPool& pool() const;
  const tv_backend& table() const;
  tv_ctx* context() const;

  void sync();  // waits for queued work

  // Steps, see above. Not nested. An exception between the two is fine: the next begin_step()
  // starts clean.
  void begin_step();
  void end_step();

  // Turns a status into an Error with the backend's text. TV_UNSUPPORTED is an error here too.
  void check(tv_status status, const char* what);

  // Runs code of the backend: a crash or an exit in it is attributed to the backend, and an
  // exception that is not trivet's becomes a PluginError that names backend and function.
  template <class Body>
  decltype(auto) in_backend(const char* function, Body&& body) const {
    return in_plugin(item(), function, "runtime.backend", std::forward<Body>(body));
  }

  // Runs a function of the table that every backend has. Throws what in_backend() and check()
  // throw.
  // Example (sdk/examples/snippets/device.cpp#call):
  //
  //   device.call("fill", &tv_backend::fill, &view, 0.0);
  template <class... P, class... A>
  void call(const char* name, tv_status (*tv_backend::*kernel)(tv_ctx*, P...), A... args) {
    check(in_backend(name, [&] { return (table().*kernel)(context(), args...); }), name);
  }

  // Runs an optional function of the table if it is there and takes the arguments; false means
  // that the caller must fall back. Counts either way. Throws as call() does.
  // Example (sdk/examples/snippets/device.cpp#try_kernel):
  //
  //   if (!device.try_kernel("norm_fwd", &tv_backend::norm_fwd, &args)) compose(args);
  template <class... P, class... A>
  bool try_kernel(const char* name, tv_status (*tv_backend::*kernel)(tv_ctx*, P...), A... args) {
    return try_function(name, has_kernel(kernel) ? table().*kernel : nullptr, args...);
  }
  // The same for a kernel outside the table.
  template <class Fn, class... A>
  bool try_extension(const char* name, A... args) {
    return try_function(name, reinterpret_cast<Fn>(const_cast<void*>(extension(name))), args...);
  }

  std::vector<KernelUse> kernel_uses() const;  // those called at least once, by name
  MemoryReport memory() const;

  // Floating-point operations since open.
  const FlopCount& flop_count() const;
  double flops() const { return flop_count().flops; }
  void count_flops(double flops);
  void count_attention_flops(double seen, double all_pairs);
  // For what is computed again: as it was before.
  void set_flop_count(const FlopCount& count);

  struct Impl;
  Impl& impl() const { return *impl_; }

 private:
  Device();
  template <class M>
  bool has_kernel(M tv_backend::*kernel) const {
    // A backend built against an older, shorter table has no such function.
    auto offset =
        reinterpret_cast<const char*>(&(table().*kernel)) - reinterpret_cast<const char*>(&table());
    return static_cast<std::size_t>(offset) + sizeof(M) <= table().struct_size;
  }
  template <class Fn, class... A>
  bool try_function(const char* name, Fn function, A... args) {
    const tv_status status = function != nullptr
                                 ? in_backend(name, [&] { return function(context(), args...); })
                                 : TV_UNSUPPORTED;
    count(name, status != TV_UNSUPPORTED);
    if (status == TV_UNSUPPORTED) return false;
    check(status, name);
    return true;
  }
  const RegistryItem* item() const noexcept;  // null where the registry has no such backend
  const void* extension(const char* name);
  void count(const char* name, bool native);

  std::unique_ptr<Impl> impl_;
};

}  // namespace trivet
