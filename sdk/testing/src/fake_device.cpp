// SPDX-License-Identifier: Apache-2.0
// A backend behind addresses that the processor refuses: every pointer that leaves is moved up by
// kOffset, every one that comes back is moved down again. tv_backend.info has no context, so each
// wrapped backend has a table of its own, made from a template.
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "trivet/backend/kernels/all.h"
#include "trivet/error.h"
#include "trivet/testing/backend_wrappers.h"

namespace trivet::testing {
namespace {

constexpr std::size_t kMostDevices = 16;
// No address of a process has these bits on x86-64 or AArch64 (not canonical): access is a fault.
constexpr std::uintptr_t kOffset = 0x0123000000000000;

std::array<const tv_backend*, kMostDevices> wrapped{};

struct Fake {
  const tv_backend* inner = nullptr;
  tv_ctx* context = nullptr;
  const tv_host* outer_host = nullptr;
  tv_host host{};  // what the inner backend sees
};

Fake& fake(tv_ctx* context) {
  return *reinterpret_cast<Fake*>(context);
}

template <class T>
T* moved(T* pointer, std::uintptr_t by) {
  if (pointer == nullptr) return nullptr;
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(pointer) + by);
}
template <class T>
T* outside(T* pointer) {
  return moved(pointer, kOffset);
}
template <class T>
T* inside(T* pointer) {
  return moved(pointer, std::uintptr_t{0} - kOffset);
}
template <class... P>
void bring_in(P*&... pointers) {
  ((pointers = inside(pointers)), ...);
}
tv_view inside(const tv_view& view) {
  tv_view real = view;
  real.data = inside(view.data);
  return real;
}

// ---- host functions for the inner backend

void set_error(const tv_host* host, const char* text) {
  const tv_host* outer = static_cast<Fake*>(host->self)->outer_host;
  outer->set_error(outer, text);
}
void log_text(const tv_host* host, std::int32_t level, const char* text) {
  const tv_host* outer = static_cast<Fake*>(host->self)->outer_host;
  outer->log(outer, level, text);
}
void* scratch(const tv_host* host, std::uint64_t bytes) {
  const tv_host* outer = static_cast<Fake*>(host->self)->outer_host;
  return inside(outer->scratch(outer, bytes));
}
void parallel_for(const tv_host* host, std::int64_t n, std::int64_t grain,
                  void (*fn)(void*, std::int64_t, std::int64_t, std::int32_t), void* arg) {
  const tv_host* outer = static_cast<Fake*>(host->self)->outer_host;
  outer->parallel_for(outer, n, grain, fn, arg);
}

// ---- device

tv_status open_inner(const tv_backend* inner, std::int32_t device, const tv_option* options,
                     std::size_t count, const tv_host* host, tv_ctx** out) {
  auto state = std::make_unique<Fake>();
  state->inner = inner;
  state->outer_host = host;
  state->host = *host;
  state->host.self = state.get();
  state->host.set_error = set_error;
  state->host.log = log_text;
  state->host.scratch = scratch;
  state->host.parallel_for = parallel_for;
  const tv_status status = inner->open(device, options, count, &state->host, &state->context);
  if (status == TV_OK) *out = reinterpret_cast<tv_ctx*>(state.release());
  return status;
}

void close(tv_ctx* ctx) {
  const std::unique_ptr<Fake> state(&fake(ctx));
  state->inner->close(state->context);
}

tv_status alloc(tv_ctx* ctx, std::uint64_t bytes, void** out) {
  void* real = nullptr;
  const tv_status status = fake(ctx).inner->alloc(fake(ctx).context, bytes, &real);
  *out = outside(real);
  return status;
}
void free_memory(tv_ctx* ctx, void* pointer) {
  fake(ctx).inner->free(fake(ctx).context, inside(pointer));
}
tv_status transfer(tv_ctx* ctx, void* dst, const void* src, std::uint64_t bytes,
                   tv_direction direction) {
  if (direction != TV_DEVICE_TO_HOST) dst = inside(dst);
  if (direction != TV_HOST_TO_DEVICE) src = inside(src);
  return fake(ctx).inner->transfer(fake(ctx).context, dst, src, bytes, direction);
}
tv_status sync(tv_ctx* ctx) {
  return fake(ctx).inner->sync(fake(ctx).context);
}

// ---- computing: views

// Arguments that are not arrays are passed unchanged.
template <class T>
T passed(T value) {
  return value;
}
struct ViewHolder {
  tv_view view;
  operator const tv_view*() const { return &view; }
};
inline ViewHolder passed(const tv_view* view) {
  return {inside(*view)};
}

// ---- computing: structs. Each says which of its members are device addresses.

void bring_in(tv_matmul& a) {
  bring_in(a.a, a.b, a.c);
}
void bring_in(tv_linear& a) {
  bring_in(a.x, a.w, a.b, a.y, a.pre);
}
void bring_in(tv_linear_grad& a) {
  bring_in(a.x, a.w, a.saved, a.dy, a.dz, a.dx, a.dw, a.db);
}
void bring_in(tv_norm& a) {
  bring_in(a.x, a.residual, a.gamma, a.beta, a.sum, a.y, a.mean, a.rstd);
}
void bring_in(tv_norm_grad& a) {
  bring_in(a.x, a.gamma, a.dy, a.mean, a.rstd, a.dx, a.dgamma, a.dbeta);
}
void bring_in(tv_attention& a) {
  bring_in(a.q.data, a.k.data, a.v.data, a.out.data, a.q_segments, a.kv_segments, a.lse);
}
void bring_in(tv_attention_grad& a) {
  bring_in(a.fwd);
  bring_in(a.dout.data, a.dq.data, a.dk.data, a.dv.data);
}
void bring_in(tv_rope& a) {
  bring_in(a.x.data, a.out.data, a.positions);
}
void bring_in(tv_softmax_xent& a) {
  bring_in(a.logits, a.targets, a.row_grad, a.loss, a.lse, a.dlogits);
}
void bring_in(tv_linear_xent& a) {
  bring_in(a.h, a.w, a.targets, a.row_weight, a.loss, a.lse, a.dh, a.dw);
}
void bring_in(tv_dropout& a) {
  bring_in(a.x, a.out);
}
void bring_in(tv_optim& a) {
  bring_in(a.param, a.grad, a.slot0, a.slot1);
}
void bring_in(tv_conv2d& a) {
  bring_in(a.x, a.w, a.b, a.y, a.pre);
}
void bring_in(tv_conv2d_grad& a) {
  bring_in(a.x, a.w, a.saved, a.dy, a.dz, a.dx, a.dw, a.db);
}
void bring_in(tv_pool2d& a) {
  bring_in(a.x, a.y, a.argmax);
}
void bring_in(tv_pool2d_grad& a) {
  bring_in(a.dy, a.argmax, a.dx);
}

void bring_in(tv_batch_norm& a) {
  bring_in(a.x, a.gamma, a.beta, a.y, a.mean, a.variance);
}
void bring_in(tv_batch_norm_grad& a) {
  bring_in(a.x, a.gamma, a.y, a.dy, a.mean, a.variance, a.dx, a.dgamma, a.dbeta);
}

void bring_in(tv_sequence& a) {
  bring_in(a.starts, a.paddings);
}
void bring_in(tv_lstm& a) {
  bring_in(a.sequence);
  bring_in(a.w, a.h0, a.c0, a.gates, a.h, a.c);
}
void bring_in(tv_lstm_grad& a) {
  bring_in(a.fwd);
  bring_in(a.dh, a.dlast_c, a.dw, a.dh0, a.dc0);
}
void bring_in(tv_gru& a) {
  bring_in(a.sequence);
  bring_in(a.w, a.bias, a.h0, a.gates, a.product, a.h);
}
void bring_in(tv_gru_grad& a) {
  bring_in(a.fwd);
  bring_in(a.dh, a.dw, a.dbias, a.dh0);
}

// The arrays of a function of the table are in one struct, or are views beside other arguments.
template <auto Slot>
struct Wrapped;
template <class... P, tv_status (*tv_backend::*Slot)(tv_ctx*, P...)>
struct Wrapped<Slot> {
  static tv_status call(tv_ctx* ctx, P... arguments) {
    if constexpr (sizeof...(P) == 1) {
      auto own = (*arguments, ...);
      bring_in(own);
      return (fake(ctx).inner->*Slot)(fake(ctx).context, &own);
    } else {
      return (fake(ctx).inner->*Slot)(fake(ctx).context, passed(arguments)...);
    }
  }
};

template <class Args>
using Kernel = tv_status (*)(tv_ctx*, const Args*);

// A kernel outside the table of the inner backend is asked for at each call: the wrapper has
// nowhere to keep it.
template <class Args, const char* const& Name>
tv_status kernel(tv_ctx* ctx, const Args* given) {
  Args arguments = *given;
  bring_in(arguments);
  const void* found = fake(ctx).inner->extension(fake(ctx).context, Name);
  return reinterpret_cast<Kernel<Args>>(const_cast<void*>(found))(fake(ctx).context, &arguments);
}
// A variable can be a template's argument, a text cannot.
namespace ids {
#define TRIVET_NAME(id, function, arguments) constexpr const char* function = id;
TV_FOR_EACH_EXTENSION_KERNEL(TRIVET_NAME)
#undef TRIVET_NAME
}  // namespace ids

const void* extension(tv_ctx* ctx, const char* name) {
  if (fake(ctx).inner->extension(fake(ctx).context, name) == nullptr) return nullptr;
  const std::string_view asked = name;
#define TRIVET_WRAP(id, function, arguments) \
  if (asked == id) return reinterpret_cast<const void*>(&kernel<arguments, ids::function>);
  TV_FOR_EACH_EXTENSION_KERNEL(TRIVET_WRAP)
#undef TRIVET_WRAP
  return nullptr;  // its arguments are unknown here, so its addresses cannot be moved
}

// ---- tables

template <std::size_t Index>
tv_status info(tv_info* out) {
  const tv_status status = wrapped[Index]->info(out);
  out->host_visible = 0;
  return status;
}

template <std::size_t Index>
tv_status open(std::int32_t device, const tv_option* options, std::size_t count,
               const tv_host* host, tv_ctx** out) {
  return open_inner(wrapped[Index], device, options, count, host, out);
}

template <auto Slot, class Wrapper>
void wrap(tv_backend& table, const tv_backend& inner, Wrapper wrapper) {
  table.*Slot = inner.*Slot != nullptr ? wrapper : nullptr;
}

void fill_table(tv_backend& table, const tv_backend& inner) {
  table.struct_size = sizeof table;
  table.api_version = inner.api_version;
  table.close = close;
  table.alloc = alloc;
  table.free = free_memory;
  table.transfer = transfer;
  table.sync = sync;
#define TRIVET_WRAP(kernel) \
  wrap<&tv_backend::kernel>(table, inner, &Wrapped<&tv_backend::kernel>::call);
  TV_FOR_EACH_KERNEL(TRIVET_WRAP)
#undef TRIVET_WRAP
  if (inner.extension != nullptr) table.extension = extension;
}

template <std::size_t... Index>
void set_entry(tv_backend& table, std::size_t wanted, std::index_sequence<Index...>) {
  ((Index == wanted ? (table.info = info<Index>, table.open = open<Index>, 0) : 0), ...);
}

}  // namespace

const tv_backend* fake_device(const tv_backend* inner) {
  static std::mutex mutex;
  static std::array<tv_backend, kMostDevices> tables{};
  static std::array<tv_backend, kMostDevices> inners{};
  static std::array<const tv_backend*, kMostDevices> given{};
  const std::lock_guard lock(mutex);
  for (std::size_t i = 0; i < kMostDevices; ++i) {
    if (given[i] == inner) return &tables[i];
    if (given[i] != nullptr) continue;
    given[i] = inner;
    inners[i] = without(*inner, "capture");  // a copy as long as our own table
    wrapped[i] = &inners[i];
    fill_table(tables[i], inners[i]);
    set_entry(tables[i], i, std::make_index_sequence<kMostDevices>());
    return &tables[i];
  }
  throw Error("at most " + std::to_string(kMostDevices) + " fake devices");
}

}  // namespace trivet::testing
