// SPDX-License-Identifier: Apache-2.0
#include "host/process_watch.h"

#include <cstddef>
#include <string>

#include <fmt/core.h>

#include "host/loaded_plugins.h"
#include "trivet/backend/kernels/library_threads.h"
#include "trivet/error.h"

namespace trivet {
namespace {

std::int64_t library_threads_of(Device& device) {
  const tv_backend& table = device.table();
  if (table.struct_size <= offsetof(tv_backend, extension) || table.extension == nullptr) return -1;
  return device.in_backend("extension", [&]() -> std::int64_t {
    const void* const function = table.extension(device.context(), TV_LIBRARY_THREADS);
    if (function == nullptr) return -1;
    return reinterpret_cast<tv_library_threads_fn>(reinterpret_cast<std::uintptr_t>(function))(
        device.context());
  });
}

// The plugins that were not shipped with the program, if any: the shipped ones are tested.
std::string suspects() {
  std::string own, others;
  for (const LoadedPlugin& plugin : loaded_plugins()) {
    std::string& names = plugin.shipped ? own : others;
    names += fmt::format("{}{} {} ({})", names.empty() ? "" : ", ", plugin.name, plugin.version,
                         plugin.file.string());
  }
  return others.empty() ? own : others;
}

}  // namespace

ProcessWatch::ProcessWatch(Device& device)
    : device_(device), start_(ProcessState::now(library_threads_of(device))) {}

void ProcessWatch::check() const {
  const std::string changes = start_.changes_to(ProcessState::now(library_threads_of(device_)));
  if (changes.empty()) return;
  throw PluginError(fmt::format("a plugin changed process-wide state: {}", changes),
                    {.hint = "results depend on it; one of these plugins did it: " + suspects()});
}

}  // namespace trivet
