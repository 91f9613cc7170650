// SPDX-License-Identifier: Apache-2.0
#include "host/process_state.h"

#include <clocale>
#include <filesystem>
#include <locale>
#include <system_error>

#include <fmt/core.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace trivet {
namespace {

std::string directory_now() {
  std::error_code failure;
  const std::filesystem::path path = std::filesystem::current_path(failure);
  return failure ? std::string() : path.string();  // the directory may have been removed
}

std::string locale_now() {
  const char* const name = std::setlocale(LC_ALL, nullptr);
  return name != nullptr ? name : "";
}

}  // namespace

std::uint32_t float_mode() noexcept {
#if defined(__x86_64__)
  return _mm_getcsr() & (_MM_ROUND_MASK | _MM_MASK_MASK);
#else
  return static_cast<std::uint32_t>(std::fegetround());
#endif
}

ProcessState ProcessState::now(std::int64_t library_threads) {
  return {float_mode(), locale_now(), std::locale().name(), directory_now(), library_threads};
}

std::string ProcessState::changes_to(const ProcessState& later) const {
  std::string text;
  const auto add = [&](const char* what, const auto& before, const auto& after) {
    if (before == after) return;
    text += fmt::format("{}{} ({} -> {})", text.empty() ? "" : ", ", what, before, after);
  };
  add("the rounding mode of the processor", fmt::format("{:#x}", floats),
      fmt::format("{:#x}", later.floats));
  add("the C locale", c_locale, later.c_locale);
  add("the C++ locale", cpp_locale, later.cpp_locale);
  if (!directory.empty() && !later.directory.empty()) {
    add("the working directory", directory, later.directory);
  }
  if (library_threads >= 0 && later.library_threads >= 0) {
    add("the threads of the backend's library", library_threads, later.library_threads);
  }
  return text;
}

}  // namespace trivet
