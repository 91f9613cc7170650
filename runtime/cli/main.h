// SPDX-License-Identifier: Apache-2.0
// The command line as a function.
#pragma once

namespace trivet {

// Runs one command; returns the process's exit code. [main-thread]
int cli_main(int argc, char** argv);

}  // namespace trivet
