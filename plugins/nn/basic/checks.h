// SPDX-License-Identifier: Apache-2.0
// What the layers say about an input they cannot take.
#pragma once

#include <string>
#include <string_view>

#include "trivet/tensor.h"

namespace trivet::nn {

// Throws Error: "[nn/Linear] 'mlp/hidden': expected [.., 784], got [128, 28, 28]".
[[noreturn]] void wrong_input(std::string_view layer, const std::string& path,
                              const std::string& expected, const Tensor& got,
                              std::string hint = {});

// A field that may be 0 in a template only. Returns the value; throws Error where it is 0.
std::int64_t expect_set(std::string_view layer, const std::string& path, const char* field,
                        std::int64_t value);

// The last axis of x has `dims` elements; `extents` of x are at least `rank` many.
void expect_last(std::string_view layer, const std::string& path, const Tensor& x,
                 std::int64_t dims);

// x is [B, H, W, channels]; any number of channels where `channels` is 0.
void expect_image(std::string_view layer, const std::string& path, const Tensor& x,
                  std::int64_t channels = 0);

}  // namespace trivet::nn
