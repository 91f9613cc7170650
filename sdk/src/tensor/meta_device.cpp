// SPDX-License-Identifier: Apache-2.0
#include "trivet/tensor/meta_device.h"

#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "trivet/backend/backend_support.h"
#include "trivet/backend/kernels/all.h"
#include "trivet/error.h"

namespace trivet {
namespace {

struct MetaMemory {
  std::uintptr_t next = std::uintptr_t{1} << 20;  // no address of a tensor is null
};

tv_status info(tv_info* out) {
  backends::describe_processor(*out, "on a meta device");
  out->host_visible = 0;
  return TV_OK;
}

tv_status open(std::int32_t, const tv_option*, std::size_t, const tv_host*, tv_ctx** out) {
  *out = reinterpret_cast<tv_ctx*>(new MetaMemory);
  return TV_OK;
}

void close(tv_ctx* context) {
  delete reinterpret_cast<MetaMemory*>(context);
}

// Addresses are given out once, so no two blocks ever overlap.
tv_status alloc(tv_ctx* context, std::uint64_t bytes, void** out) {
  MetaMemory& meta = *reinterpret_cast<MetaMemory*>(context);
  constexpr std::uintptr_t kEnd = std::uintptr_t{1} << 62;
  *out = nullptr;
  if (bytes >= kEnd - meta.next) return TV_OUT_OF_MEMORY;
  *out = reinterpret_cast<void*>(meta.next);
  meta.next += (bytes / backends::kAlignment + 1) * backends::kAlignment;
  return TV_OK;
}

tv_status transfer(tv_ctx*, void* to, const void*, std::uint64_t bytes, tv_direction direction) {
  if (direction == TV_DEVICE_TO_HOST && bytes > 0) std::memset(to, 0, bytes);
  return TV_OK;
}

// Takes what any function of the table takes.
constexpr auto kNothing = [](auto...) -> tv_status { return TV_OK; };

template <class Fn>
const void* nothing() {
  const Fn function = kNothing;
  return reinterpret_cast<const void*>(function);
}

const void* extension(tv_ctx*, const char* name) {
  const std::string_view wanted = name;
#define TRIVET_ACCEPT(id, function, arguments) \
  if (wanted == id) return nothing<tv_##function##_fn>();
  TV_FOR_EACH_EXTENSION_KERNEL(TRIVET_ACCEPT)
#undef TRIVET_ACCEPT
  return nullptr;
}

template <class Fn>
void provide(tv_backend& table, const tv_backend& like, Fn tv_backend::*kernel) {
  const auto offset =
      reinterpret_cast<const char*>(&(like.*kernel)) - reinterpret_cast<const char*>(&like);
  if (static_cast<std::size_t>(offset) + sizeof(Fn) > like.struct_size) return;
  if (like.*kernel != nullptr) table.*kernel = kNothing;
}

#define TRIVET_COUNT(kernel) +1
constexpr std::size_t kKernels = TV_FOR_EACH_KERNEL(TRIVET_COUNT);
#undef TRIVET_COUNT
constexpr std::size_t kOthers = 12;  // of the device and of the system
static_assert(sizeof(tv_backend) == 8 + (kKernels + kOthers) * sizeof(void*),
              "a function of the table is missing from TV_FOR_EACH_KERNEL");

tv_backend make_table(const tv_backend& like) {
  tv_backend table = backends::empty_table();
  table.info = info;
  table.open = open;
  table.close = close;
  table.alloc = alloc;
  table.free = [](tv_ctx*, void*) {};
  table.transfer = transfer;
  table.sync = [](tv_ctx*) -> tv_status { return TV_OK; };
#define TRIVET_PROVIDE(kernel) provide(table, like, &tv_backend::kernel);
  TV_FOR_EACH_KERNEL(TRIVET_PROVIDE)
#undef TRIVET_PROVIDE
  const bool extends = like.struct_size >= sizeof(tv_backend) && like.extension != nullptr;
  if (extends) table.extension = extension;
  return table;
}

// A table must outlive its devices.
const tv_backend* table_like(const tv_backend* like) {
  static std::mutex mutex;
  static std::map<const tv_backend*, tv_backend>& tables =
      *new std::map<const tv_backend*, tv_backend>;
  const std::lock_guard lock(mutex);
  const auto found = tables.find(like);
  return &(found != tables.end() ? found : tables.emplace(like, make_table(*like)).first)->second;
}

}  // namespace

std::unique_ptr<Device> open_meta_device(const tv_backend* like, DeviceOptions options) {
  if (like == nullptr) throw Error(options.key + ": the plugin gave no backend table");
  options.options.clear();
  return Device::open(table_like(like), std::move(options));
}

bool is_meta(const Device& device) {
  return device.table().alloc == alloc;
}

}  // namespace trivet
