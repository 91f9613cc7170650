// SPDX-License-Identifier: Apache-2.0
#include "host/stray_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace trivet {

StrayOutput::StrayOutput() noexcept
    : output_(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
  if (!output_) return;
  std::fflush(stdout);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

StrayOutput::~StrayOutput() {
  if (!output_) return;
  std::fflush(stdout);
  ::dup2(output_.get(), STDOUT_FILENO);
}

}  // namespace trivet
