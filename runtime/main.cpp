// SPDX-License-Identifier: Apache-2.0
// The program's way in; all the work is in cli/, where tests can reach it.
#include "cli/main.h"

int main(int argc, char** argv) {
  return trivet::cli_main(argc, argv);
}
