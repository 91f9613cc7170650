// SPDX-License-Identifier: Apache-2.0
// What nearly every test includes, compiled once. The tests still include what they use.
#ifndef TRIVET_TEST_PCH_TESTS_H
#define TRIVET_TEST_PCH_TESTS_H

#include <sstream>

#include <catch2/catch.hpp>

#include "../../sdk/pch/sdk.h"

#endif
