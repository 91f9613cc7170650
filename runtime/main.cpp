// SPDX-License-Identifier: Apache-2.0
// The entry point of the program. All work is in cli/, where tests can reach it.
#include "cli/main.h"

#include <cstdio>
#include <string_view>

#include "base/process_end.h"
#include "trivet/plugin/abi_tag.h"

int main(int argc, char** argv) {
  const int code = trivet::cli_main(argc, argv);
  // Sanitizers look for leaks in exit(). Else nothing is left to do, and what libraries and plugins
  // have registered for the end of the process could only spoil it.
  if (std::string_view(TRIVET_TAG_SANITIZER) != "none") return code;
  std::fflush(nullptr);
  trivet::end_process(code);
}
