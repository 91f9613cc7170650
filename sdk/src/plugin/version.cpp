// SPDX-License-Identifier: Apache-2.0
// The release number comes from meson.build; it is written nowhere else.
#include "trivet/version.h"

namespace trivet {

// The file name libtrivet.so.N promises the contract's major version.
static_assert(kSdkMajor == TRIVET_BUILD_SDK_MAJOR, "version.h and meson.build disagree");

std::string_view version() noexcept {
  return TRIVET_BUILD_VERSION;
}

}  // namespace trivet
