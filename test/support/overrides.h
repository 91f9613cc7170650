// SPDX-License-Identifier: Apache-2.0
// Combines overrides for tests with common ones: the program refuses two for one path.
#pragma once

#include <string>
#include <vector>

namespace trivet::test {

// Returns the words of a command line without overrides ("a.b=1") whose path a later word sets
// again.
std::vector<std::string> last_of_each(const std::vector<std::string>& words);

// The same of a text for the shell.
std::string last_of_each(const std::string& words);

}  // namespace trivet::test
