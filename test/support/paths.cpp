// SPDX-License-Identifier: Apache-2.0
#include "support/paths.h"

#include <cstdlib>

namespace trivet::test {
namespace {

std::filesystem::path from_environment(const char* name, const char* built) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : built;
}

}  // namespace

std::filesystem::path program() {
  return from_environment("TRIVET_PROGRAM", TRIVET_TEST_PROGRAM);
}

std::filesystem::path plugin_dir() {
  return from_environment("TRIVET_PLUGIN_PATH", TRIVET_TEST_PLUGIN_PATH);
}

std::filesystem::path source_root() {
  return from_environment("TRIVET_SOURCE_ROOT", TRIVET_TEST_SOURCE_ROOT);
}

std::filesystem::path build_root() {
  return TRIVET_TEST_BUILD_ROOT;
}

}  // namespace trivet::test
