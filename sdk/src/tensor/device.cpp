// SPDX-License-Identifier: Apache-2.0
// Opening and closing a backend, what it may ask of its host, and the counters of a device.
#include "trivet/tensor/device.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <utility>

#include "tensor/device_impl.h"
#include "trivet/backend/process_group.h"
#include "trivet/error.h"
#include "trivet/plugin/plugin_call.h"
#include "trivet/plugin/registry.h"
#include "trivet/tensor/step_plans.h"

namespace trivet {
namespace {

Device::Impl& impl_of(const tv_host* host) {
  return *static_cast<Device::Impl*>(host->self);
}

void host_set_error(const tv_host* host, const char* text) {
  impl_of(host).error_text = text != nullptr ? text : "";
}

void host_log(const tv_host* host, std::int32_t level, const char* text) {
  if (level < 2) {
    return;  // the run's own log says which backend runs; only trouble goes to the terminal
  }
  std::fprintf(stderr, "%s: %s: %s\n", impl_of(host).options.key.c_str(),
               level == 2 ? "warning" : "error", text);
}

void* host_scratch(const tv_host* host, std::uint64_t bytes) {
  Device::Impl& impl = impl_of(host);
  return impl.scratch.take(*impl.memory, bytes);
}

void host_parallel_for(const tv_host* host, std::int64_t n, std::int64_t grain,
                       void (*fn)(void*, std::int64_t, std::int64_t, std::int32_t), void* arg) {
  impl_of(host).options.pool->parallel_for(n, grain, fn, arg);
}

void* take_from(Device::Impl& impl, std::uint64_t bytes) {
  void* data = nullptr;
  const tv_status status =
      impl.self->in_backend("alloc", [&] { return impl.table->alloc(impl.context, bytes, &data); });
  return status == TV_OK ? data : nullptr;
}

void give_back_to(Device::Impl& impl, void* data) {
  impl.self->in_backend("free", [&] { impl.table->free(impl.context, data); });
}

// Named so that the author of a backend sees at once what is missing.
void check_table(const tv_backend* table, const std::string& key) {
  if (table == nullptr) throw Error(key + ": the plugin gave no backend table");
  if (table->api_version != TV_BACKEND_API_VERSION) {
    throw Error(key + ": the backend speaks version " + std::to_string(table->api_version) +
                    " of backend.h, this program version " + std::to_string(TV_BACKEND_API_VERSION),
                {.hint = "rebuild the backend against this SDK"});
  }
  if (table->struct_size < offsetof(tv_backend, linear_fwd)) {
    throw Error(key + ": the backend's struct_size " + std::to_string(table->struct_size) +
                " does not cover the mandatory functions");
  }
#define TRIVET_NEEDS(kernel)                       \
  if (table->kernel == nullptr)                    \
  throw Error(key +                                \
              ": the backend lacks the mandatory " \
              "function " #kernel)
  TRIVET_NEEDS(info);
  TRIVET_NEEDS(open);
  TRIVET_NEEDS(close);
  TRIVET_NEEDS(alloc);
  TRIVET_NEEDS(free);
  TRIVET_NEEDS(transfer);
  TRIVET_NEEDS(sync);
  TRIVET_NEEDS(fill);
  TRIVET_NEEDS(copy);
  TRIVET_NEEDS(unary);
  TRIVET_NEEDS(binary);
  TRIVET_NEEDS(select);
  TRIVET_NEEDS(reduce);
  TRIVET_NEEDS(matmul);
  TRIVET_NEEDS(gather_rows);
  TRIVET_NEEDS(scatter_add_rows);
#undef TRIVET_NEEDS
}

// Sizes are rounded up to the alignment, and every program needs f32: what is wrong here would
// show much later, and far from the backend.
void check_info(const tv_info& info) {
  const auto wrong = [](const std::string& what) {
    throw PluginError("its info is wrong: " + what,
                      {.hint = "sdk/testing has a kit that checks a backend"});
  };
  const auto alignment = static_cast<std::uint32_t>(info.alignment);
  if (info.alignment < 64 || !std::has_single_bit(alignment)) {
    wrong("alignment is " + std::to_string(info.alignment) + ", not a power of two >= 64");
  }
  constexpr std::uint32_t kF32 = 1u << TV_F32;
  if ((info.storage_dtypes & info.compute_dtypes & kF32) == 0) {
    wrong("it neither stores nor computes f32");
  }
}

}  // namespace

Device::Device() : impl_(std::make_unique<Impl>()) {
  impl_->self = this;
}

std::unique_ptr<Device> Device::open(const tv_backend* backend, DeviceOptions options) {
  check_table(backend, options.key);
  std::unique_ptr<Device> device(new Device);
  Impl& impl = *device->impl_;
  impl.table = backend;
  impl.options = std::move(options);
  if (impl.options.pool == nullptr) impl.options.pool = std::make_shared<ThreadPool>();
  impl.host = {.struct_size = sizeof(tv_host),
               .api_version = TV_BACKEND_API_VERSION,
               .self = &impl,
               .set_error = host_set_error,
               .log = host_log,
               .scratch = host_scratch,
               .parallel_for = host_parallel_for,
               .max_workers = impl.options.pool->threads()};
  impl.memory = std::make_unique<DeviceMemory>(impl, impl.options.key, impl.options.memory_limit,
                                               take_from, give_back_to);
  impl.info.struct_size = sizeof(tv_info);
  impl.item = registry().find("backend", impl.options.key);
  const std::string field = "runtime.backend";
  in_plugin(impl.item, "info", field, [&] {
    device->check(backend->info(&impl.info), "info");
    check_info(impl.info);
  });
  std::vector<tv_option> list;
  for (const auto& [key, value] : impl.options.options) {
    list.push_back({key.c_str(), value.c_str()});
  }
  in_plugin(impl.item, "open", field, [&] {
    device->check(
        backend->open(impl.options.index, list.data(), list.size(), &impl.host, &impl.context),
        "open");
    if (impl.context == nullptr) throw PluginError("its open returned no context");
  });
  return device;
}

Device::~Device() {
  Impl& impl = *impl_;
  if (impl.context == nullptr) return;
  impl.constants.clear();
  impl.numbers = {};
  impl.scratch.release(*impl.memory);
  impl.memory.reset();
  in_backend("close", [&] { impl.table->close(impl.context); });
}

const std::string& Device::key() const {
  return impl_->options.key;
}
const tv_info& Device::info() const {
  return impl_->info;
}
bool Device::host_visible() const {
  return impl_->info.host_visible != 0;
}
ThreadPool& Device::pool() const {
  return *impl_->options.pool;
}
const tv_backend& Device::table() const {
  return *impl_->table;
}
tv_ctx* Device::context() const {
  return impl_->context;
}

const RegistryItem* Device::item() const noexcept {
  return impl_->item;
}

void Device::sync() {
  call("sync", &tv_backend::sync);
}
void Device::begin_step() {
  impl_->memory->begin_step();
}
void forget_step_plans(Device& device) {
  device.impl().memory->forget_plans();
}

void Device::end_step() {
  impl_->memory->end_step();
}

void Device::check(tv_status status, const char* what) {
  impl_->scratch.end_call(*impl_->memory);
  impl_->move_sent();
  if (status == TV_OK) return;
  std::string text = std::exchange(impl_->error_text, {});
  const bool told = !text.empty();
  if (!told) {
    if (status == TV_UNSUPPORTED) {
      text = "not supported by this backend";
    } else {
      text = status == TV_OUT_OF_MEMORY ? "out of memory" : "failed without a reason";
    }
  }
  const std::string message = key() + ": [" + what + "] " + text;
  const ErrorDetails at{.plugin = std::string(plugin_of(key())), .key = key()};
  if (!told && status != TV_OUT_OF_MEMORY && status != TV_UNSUPPORTED) {
    throw PluginError(message, at);
  }
  throw Error(message, at);
}

// ---- counters

void Device::count(const char* name, bool native) {
  impl_->scratch.end_call(*impl_->memory);
  auto bump = [&](Impl::Kernel& kernel) { ++(native ? kernel.native : kernel.fallback); };
  for (Impl::Kernel& kernel : impl_->kernels) {
    if (kernel.name == name) return bump(kernel);
  }
  // The same name may come from another library at another address; kernel_uses() adds such up.
  bump(impl_->kernels.emplace_back(Impl::Kernel{name}));
}

std::vector<KernelUse> Device::kernel_uses() const {
  std::map<std::string, KernelUse> byname;
  for (const Impl::Kernel& kernel : impl_->kernels) {
    KernelUse& use = byname[kernel.name];
    use.kernel = kernel.name;
    use.native += kernel.native;
    use.fallback += kernel.fallback;
  }
  std::vector<KernelUse> uses;
  for (auto& [name, use] : byname) uses.push_back(std::move(use));
  return uses;
}

const void* Device::extension(const char* name) {
  for (const auto& [known, function] : impl_->extensions) {
    if (known == name) return function;
  }
  const void* function =
      has_kernel(&tv_backend::extension) && table().extension != nullptr
          ? in_backend("extension", [&] { return table().extension(context(), name); })
          : nullptr;
  impl_->extensions.emplace_back(name, function);
  return function;
}

MemoryReport Device::memory() const {
  return impl_->memory->report();
}
const FlopCount& Device::flop_count() const {
  return impl_->flops;
}
void Device::count_flops(double flops) {
  impl_->flops.flops += flops;
  impl_->flops.model_flops += flops;
}
void Device::count_attention_flops(double seen, double all_pairs) {
  impl_->flops.flops += seen;
  impl_->flops.model_flops += all_pairs;
  impl_->flops.attention_flops += all_pairs;
}
void Device::set_flop_count(const FlopCount& count) {
  impl_->flops = count;
}

// ---- moving bytes, constants

// A long computation would hold up processes that wait for data of this one.
void Device::Impl::move_sent() {
  const std::shared_ptr<ProcessGroup> group = sending.lock();
  if (group != nullptr && !group->progress()) sending.reset();
}

void Device::Impl::upload(void* destination, const void* source, std::uint64_t bytes) {
  if (bytes == 0) return;
  self->call("transfer", &tv_backend::transfer, destination, source, bytes, TV_HOST_TO_DEVICE);
}

void Device::Impl::download(void* destination, const void* source, std::uint64_t bytes) {
  if (bytes == 0) return;
  self->call("transfer", &tv_backend::transfer, destination, source, bytes, TV_DEVICE_TO_HOST);
}

Tensor Device::Impl::constant(float value) {
  constexpr std::size_t kMostConstants = 256;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (auto found = constants.find(bits); found != constants.end()) return found->second;
  // A flood of different values would never be asked for again.
  if (constants.size() >= kMostConstants) return Tensor::scalar(*self, value);
  Storage* storage = memory->allocate_apart(Shape(), DType::f32);
  Tensor tensor(TensorImpl::over(storage, self, Shape(), DType::f32));
  upload(storage->data, &value, sizeof value);
  constants.emplace(bits, tensor);
  return tensor;
}

Tensor Device::Impl::iota(std::int64_t n) {
  if (!numbers.defined() || numbers.size() < n) {
    const std::int64_t length = std::max<std::int64_t>(1024, n);
    std::vector<std::int32_t> values(static_cast<std::size_t>(length));
    for (std::int64_t i = 0; i < length; ++i) {
      values[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i);
    }
    Storage* storage = memory->allocate_apart({length}, DType::i32);
    numbers = Tensor(TensorImpl::over(storage, self, {length}, DType::i32));
    upload(storage->data, values.data(), values.size() * sizeof(std::int32_t));
  }
  const std::int64_t stride = 1;
  return view_of(numbers, {n}, &stride, 0);
}

// ---- scratch

void* Scratch::take(DeviceMemory& memory, std::uint64_t bytes) {
  bytes = std::max<std::uint64_t>(64, (bytes + 63) / 64 * 64);
  if (chunks_.empty() || used_ + bytes > chunks_.back().bytes) {
    void* data = memory.allocate_scratch(bytes);
    if (data == nullptr) return nullptr;
    used_before_ += used_;
    used_ = 0;
    chunks_.push_back({data, bytes});
  }
  void* piece = static_cast<std::byte*>(chunks_.back().data) + used_;
  used_ += bytes;
  return piece;
}

// Between calls nothing is in use: several chunks become one that holds them all.
void Scratch::reset(DeviceMemory& memory) {
  const std::uint64_t total = used_before_ + used_;
  used_ = used_before_ = 0;
  if (chunks_.size() <= 1) return;
  release(memory);
  if (void* data = memory.allocate_scratch(total)) chunks_.push_back({data, total});
}

void Scratch::release(DeviceMemory& memory) {
  for (const Chunk& chunk : chunks_) memory.free_scratch(chunk.data, chunk.bytes);
  chunks_.clear();
}

}  // namespace trivet
