// SPDX-License-Identifier: Apache-2.0
// How the program itself ends at once.
#pragma once

namespace trivet {

// As _exit does, which is not to be called while a CrashReport lives: see ways_out.cpp. Can be
// called in a signal handler.
[[noreturn]] void end_process(int code) noexcept;

}  // namespace trivet
