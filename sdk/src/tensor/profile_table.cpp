// SPDX-License-Identifier: Apache-2.0
#include "tensor/profile_table.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <type_traits>

namespace trivet::detail {
namespace {

// The functions of a table know nothing but their arguments, so what they call is here.
const tv_backend* current_original = nullptr;
KernelListener* current_listener = nullptr;

// The work of a kernel on views: an operation for each element of the first one.
KernelCost views(std::initializer_list<const tv_view*> all) {
  KernelCost cost{.flops = cost_of(**all.begin()).flops};
  for (const tv_view* view : all) cost.bytes += cost_of(*view).bytes;
  return cost;
}

template <auto Member>
struct CostOf {
  static KernelCost of(const tv_view* out, double) { return views({out}); }
  static KernelCost of(const tv_view* out, std::uint64_t, std::uint64_t) { return views({out}); }
  template <class... Views>
  static KernelCost of(const tv_view* out, const Views*... in) {
    return views({out, in...});
  }
  template <class Operation, class... Views>
  requires std::is_enum_v<Operation>
  static KernelCost of(Operation, const tv_view* out, const Views*... in) {
    return views({out, in...});
  }
  template <class Arguments>
  requires(!std::is_same_v<Arguments, tv_view>) static KernelCost of(const Arguments* arguments) {
    return cost_of(*arguments);
  }
};

// Its result is smaller than what it reads.
template <>
struct CostOf<&tv_backend::reduce> {
  static KernelCost of(tv_reduce_op, const tv_view* out, const tv_view* x) {
    return views({x, out});
  }
};
template <>
struct CostOf<&tv_backend::sumsq> {
  static KernelCost of(const tv_view* out, const tv_view* x) { return views({x, out}); }
};

// Of a table only the rows that are used.
template <>
struct CostOf<&tv_backend::gather_rows> {
  static KernelCost of(const tv_view* out, const tv_view*, const tv_view* indices) {
    return views({out, out, indices});
  }
};
template <>
struct CostOf<&tv_backend::scatter_add_rows> {
  static KernelCost of(const tv_view*, const tv_view* indices, const tv_view* source) {
    return views({source, source, source, indices});
  }
};

template <auto Member>
struct Timed;
template <class... A, tv_status (*tv_backend::*Member)(tv_ctx*, A...)>
struct Timed<Member> {
  static inline std::string_view name;
  static tv_status call(tv_ctx* context, A... arguments) {
    const std::int64_t begin = profile_clock();
    const tv_status status = (current_original->*Member)(context, arguments...);
    if (status == TV_OK) {
      current_listener->on_kernel(name, begin, CostOf<Member>::of(arguments...));
    }
    return status;
  }
};

template <class Arguments>
struct TimedExtension {
  using Function = tv_status (*)(tv_ctx*, const Arguments*);
  static inline std::string_view name;
  static inline Function original;
  static tv_status call(tv_ctx* context, const Arguments* arguments) {
    const std::int64_t begin = profile_clock();
    const tv_status status = original(context, arguments);
    if (status == TV_OK) current_listener->on_kernel(name, begin, cost_of(*arguments));
    return status;
  }
};

template <class Arguments>
const void* timed_extension(std::string_view name, const void* original) {
  using Own = TimedExtension<Arguments>;
  Own::name = name;
  Own::original = reinterpret_cast<typename Own::Function>(const_cast<void*>(original));
  return reinterpret_cast<const void*>(&Own::call);
}

// A kernel that the SDK does not know is the backend's own function, untimed.
const void* extension(tv_ctx* context, const char* name) {
  const void* original = current_original->extension(context, name);
  if (original == nullptr) return nullptr;
  const std::string_view wanted = name;
#define TRIVET_TIME(ID, FUNCTION, ARGUMENTS) \
  if (wanted == ID) return timed_extension<ARGUMENTS>(#FUNCTION, original);
  TV_FOR_EACH_EXTENSION_KERNEL(TRIVET_TIME)
#undef TRIVET_TIME
  return original;
}

}  // namespace

std::int64_t profile_clock() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

ProfileTable::ProfileTable(const tv_backend& original, KernelListener& listener) {
  current_original = &original;
  current_listener = &listener;
  // An older backend has a shorter table.
  std::memcpy(&table_, &original, std::min<std::size_t>(original.struct_size, sizeof table_));
#define TRIVET_TIME(NAME)                          \
  if (table_.NAME != nullptr) {                    \
    Timed<& tv_backend::NAME>::name = #NAME;       \
    table_.NAME = &Timed<&tv_backend::NAME>::call; \
  }
  TV_FOR_EACH_KERNEL(TRIVET_TIME)
#undef TRIVET_TIME
  if (table_.extension != nullptr) table_.extension = &extension;
}

ProfileTable::~ProfileTable() {
  current_original = nullptr;
  current_listener = nullptr;
}

}  // namespace trivet::detail
