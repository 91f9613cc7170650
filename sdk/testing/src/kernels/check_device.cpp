// SPDX-License-Identifier: Apache-2.0
// Conformance of the device functions: info, open, alloc, free, transfer, sync.

#include <bit>
#include <cstring>
#include <limits>
#include <set>

#include "conformance.h"

namespace trivet::testing {
namespace {

void check_info(Kit& kit) {
  const tv_info& info = kit.info();
  const auto has = [](std::uint32_t mask, int dtype) { return (mask >> dtype & 1u) != 0; };
  kit.record("info", "name", info.name[0] != 0 ? "" : "empty");
  kit.record("info", "name ends", std::memchr(info.name, 0, sizeof(info.name)) ? "" : "no zero");
  const auto alignment = static_cast<std::uint32_t>(info.alignment);
  kit.record("info", "alignment",
             info.alignment >= 64 && std::has_single_bit(alignment) ? "" : "not a power >= 64");
  kit.record("info", "device_count", info.device_count > 0 ? "" : "no device");
  const bool f32 = has(info.storage_dtypes, TV_F32) && has(info.compute_dtypes, TV_F32);
  kit.record("info", "f32", f32 ? "" : "is not both a storage and a compute type");
  const bool others = has(info.storage_dtypes, TV_I32) && has(info.storage_dtypes, TV_BOOL);
  kit.record("info", "i32 and bool", others ? "" : "are not storage types");
}

void check_open(Kit& kit) {
  const char* const name = "no_such_option_of_any_backend";
  OpenedBackend opened(&kit.table(), 1);
  const tv_status status = opened.open(0, {{name, "1"}});
  const bool named = opened.take_error().find(name) != std::string::npos;
  kit.record("open", "an unknown option",
             status != TV_ERROR ? "is not an error"
             : !named           ? "is not named in the error"
                                : "");
  OpenedBackend beyond(&kit.table(), 1);
  const tv_status refused = beyond.open(kit.info().device_count, {});
  kit.record("open", "a device that is not there", refused < 0 ? "" : "is opened");
}

void check_alloc(Kit& kit) {
  const tv_backend& table = kit.table();
  tv_ctx* context = kit.first().context();
  std::set<void*> blocks;
  const auto alignment = static_cast<std::uintptr_t>(kit.info().alignment);
  for (const std::uint64_t bytes : {1ull, 3ull, 63ull, 64ull, 65ull, 4097ull, 1ull << 20}) {
    void* block = nullptr;
    const tv_status status = table.alloc(context, bytes, &block);
    std::string problem;
    if (status != TV_OK || !block) problem = "status " + std::to_string(status);
    if (reinterpret_cast<std::uintptr_t>(block) % alignment != 0) problem = "not aligned";
    if (!blocks.insert(block).second) problem = "the same address twice";
    kit.record("alloc", std::to_string(bytes) + " bytes", problem);
  }
  for (void* block : blocks) table.free(context, block);
  void* block = nullptr;
  const tv_status empty = table.alloc(context, 0, &block);
  kit.record("alloc", "0 bytes", empty == TV_OK ? "" : "status " + std::to_string(empty));
  table.free(context, block);
  table.free(context, nullptr);
  block = nullptr;
  const auto most = std::numeric_limits<std::uint64_t>::max() - 8;
  const tv_status full = table.alloc(context, most, &block);
  kit.record("alloc", "2^64 - 9 bytes", full == TV_OUT_OF_MEMORY ? "" : "not TV_OUT_OF_MEMORY");
}

void check_transfer(Kit& kit) {
  for (const std::int64_t n : {0, 1, 5, 1000, 100003}) {
    const Values values = random_values(7, n);
    kit.check("transfer", std::to_string(n) + " floats through the device", 0, {values, values},
              [&](Run& run) {
                const Array from = run.input(values);
                const Array middle = run.output(n), to = run.output(n);
                const auto bytes = static_cast<std::uint64_t>(n) * 4;
                const auto one =
                    run.table().transfer(run.context(), middle, from, bytes, TV_DEVICE_TO_DEVICE);
                const auto two =
                    run.table().transfer(run.context(), to, middle, bytes, TV_DEVICE_TO_DEVICE);
                const auto three = run.table().sync(run.context());
                return one != TV_OK ? one : two != TV_OK ? two : three;
              });
  }
}

}  // namespace

void check_device(Kit& kit) {
  if (kit.wants("info")) check_info(kit);
  if (kit.wants("open")) check_open(kit);
  if (kit.wants("alloc")) check_alloc(kit);
  if (kit.wants("transfer")) check_transfer(kit);
}

}  // namespace trivet::testing
