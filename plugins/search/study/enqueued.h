// SPDX-License-Identifier: Apache-2.0
// Points that the user gives for the first trials of a search, whole or in part.
#pragma once

#include <string_view>

#include "trivet/config/schema.h"
#include "trivet/config/value.h"
#include "trivet/search/search_space.h"

namespace trivet::search {

// A point of the user as a table, in the order of the space; unknown keys are left out.
Value in_order_of(const SearchSpace& space, const Map<Value>& given);

// What is wrong with a point of the user, at `path`: an unknown key, a value that the key cannot
// have, or conditions of a key that do not hold or name keys that are not given.
void check_enqueued(const SearchSpace& space, const Map<Value>& given, std::string_view path,
                    Diagnostics& diagnostics);

// The point of a sampler with the values of the user's table. The point has the other keys that its
// conditions ask for, with the sampler's value or that of the middle. `given` has passed the check.
SearchPoint with_given(const SearchSpace& space, const SearchPoint& asked, const Value& given);

}  // namespace trivet::search
