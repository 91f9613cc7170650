// SPDX-License-Identifier: Apache-2.0
// Ends the program immediately.
#pragma once

namespace trivet {

// Same as _exit, which must not be called while a CrashReport exists: see ways_out.cpp.
// Async-signal-safe.
[[noreturn]] void end_process(int code) noexcept;

}  // namespace trivet
