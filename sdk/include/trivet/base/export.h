// SPDX-License-Identifier: Apache-2.0
// TRIVET_API marks what libtrivet shows to plugins and to the program. Everything is compiled with
// hidden visibility, so a class whose key function lives in libtrivet (its vtable and type
// information must be one and the same everywhere) and every non-inline function needs it.
#pragma once

#define TRIVET_API __attribute__((visibility("default")))
