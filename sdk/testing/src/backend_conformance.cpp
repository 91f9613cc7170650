// SPDX-License-Identifier: Apache-2.0
// check_backend and its report.

#include "trivet/testing/backend_conformance.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "kernels/conformance.h"

namespace trivet::testing {
namespace {

std::string missing_functions(const tv_backend& b) {
#define TRIVET_PRESENT(slot) {#slot, b.slot != nullptr},
  // clang-format off
  const std::pair<const char*, bool> mandatory[] = {
      TRIVET_PRESENT(info) TRIVET_PRESENT(open) TRIVET_PRESENT(close) TRIVET_PRESENT(alloc)
      TRIVET_PRESENT(free) TRIVET_PRESENT(transfer) TRIVET_PRESENT(sync)
      TV_FOR_EACH_MANDATORY_KERNEL(TRIVET_PRESENT)
  };
  // clang-format on
#undef TRIVET_PRESENT
  std::string names;
  for (const auto& [name, present] : mandatory) {
    if (!present) names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

// The part of the table the backend knows; functions past its struct_size are null.
tv_backend known_part(const tv_backend* backend) {
  tv_backend known = {};
  const auto size = std::min<std::size_t>(backend->struct_size, sizeof(known));
  std::copy_n(reinterpret_cast<const unsigned char*>(backend), size,
              reinterpret_cast<unsigned char*>(&known));
  return known;
}

}  // namespace

bool BackendReport::passed() const {
  return !checks.empty() && failures() == 0;
}

std::size_t BackendReport::failures() const {
  return static_cast<std::size_t>(
      std::count_if(checks.begin(), checks.end(), [](const auto& c) { return !c.passed; }));
}

std::string BackendReport::text() const {
  struct Sum {
    int checks = 0, failed = 0, unsupported = 0;
    double max_error = 0;
  };
  std::map<std::string, Sum> sums;
  std::string failed;
  for (const BackendCheck& check : checks) {
    Sum& sum = sums[check.function];
    sum.checks += 1;
    sum.failed += !check.passed;
    sum.unsupported += check.unsupported;
    sum.max_error = std::max(sum.max_error, check.max_error);
    if (!check.passed) failed += check.function + " " + check.subject + ": " + check.message + "\n";
  }
  std::string out;
  for (const auto& [function, sum] : sums) {
    char line[160];
    std::snprintf(line, sizeof(line), "%-18s %4d checks %3d failed %3d unsupported  error %.2g\n",
                  function.c_str(), sum.checks, sum.failed, sum.unsupported, sum.max_error);
    out += line;
  }
  for (const std::string& function : absent) out += function + ": not there\n";
  return out + failed;
}

BackendReport check_backend(const tv_backend* backend, const BackendCheckOptions& options) {
  const tv_backend known = known_part(backend);
  Kit kit(&known, options);
  const std::string missing = missing_functions(known);
  if (known.api_version != TV_BACKEND_API_VERSION || !missing.empty()) {
    kit.record("table", "version and mandatory functions",
               missing.empty() ? "api_version is " + std::to_string(known.api_version)
                               : "missing: " + missing);
    return kit.take_report();
  }
  if (!kit.open()) return kit.take_report();
  check_device(kit);
#define TRIVET_CHECK(kernel) \
  if (kit.wants_kernel(#kernel, known.kernel != nullptr)) check_##kernel(kit);
  TV_FOR_EACH_KERNEL(TRIVET_CHECK)
#undef TRIVET_CHECK
  check_batch_norm(kit);
  check_peak(kit);
  check_recurrent(kit);
  check_vision(kit);
  return kit.take_report();
}

}  // namespace trivet::testing
