// SPDX-License-Identifier: Apache-2.0
// Errors of layers about invalid inputs.
#pragma once

#include <string>
#include <string_view>

#include "trivet/layer.h"
#include "trivet/tensor.h"

namespace trivet::nn {

// Throws Error: "[nn/Linear] 'mlp/hidden': expected [.., 784], got [128, 28, 28]".
[[noreturn]] void wrong_input(std::string_view layer, const std::string& path,
                              const std::string& expected, const Tensor& got,
                              std::string hint = {});

// Checks a field that may be 0 only in a template. Returns the value; throws Error if it is 0.
std::int64_t expect_set(std::string_view layer, const std::string& path, const char* field,
                        std::int64_t value);

// Throws ConfigError for a stack whose blocks are none or are not `expected`, "nn/XlnetBlock".
[[noreturn]] void refuse_block(std::string_view stack, const std::string& path,
                               std::string_view expected, const ConfigOf<Layer>& block);

// Checks that the last axis of x has `dims` elements and x has at least `rank` axes.
void expect_last(std::string_view layer, const std::string& path, const Tensor& x,
                 std::int64_t dims);

// Checks that x is [B, H, W, channels]; 0 allows any number of channels.
void expect_image(std::string_view layer, const std::string& path, const Tensor& x,
                  std::int64_t channels = 0);

}  // namespace trivet::nn
