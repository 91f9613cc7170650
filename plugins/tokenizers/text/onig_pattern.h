// SPDX-License-Identifier: Apache-2.0
// Patterns of tokenizer.json are in the syntax of Oniguruma. This writes them in that of PCRE2
// (10.40 or later), with the options UTF, UCP and MULTILINE and the line end LF.
//
// The two mean different things by \s, \w, \h, \v, {,n}, names of scripts and classes in classes.
#pragma once

#include <string>
#include <string_view>

namespace trivet::tokenizers {

// Throws InputError, which starts with `place`, for syntax that has no equal in PCRE2.
std::string pcre2_pattern(std::string_view onig, const std::string& place);

}  // namespace trivet::tokenizers
