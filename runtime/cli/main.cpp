// SPDX-License-Identifier: Apache-2.0
#include "cli/main.h"

#include <cstdio>
#include <string_view>

#include <fmt/core.h>

#include "trivet/version.h"

namespace trivet {

int cli_main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    fmt::print("trivet {} (sdk {}.{})\n", version(), kSdkMajor, kSdkMinor);
    return 0;
  }
  fmt::print(stderr, "usage: trivet --version\n");
  return 2;
}

}  // namespace trivet
