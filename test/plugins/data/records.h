// SPDX-License-Identifier: Apache-2.0
// TFRecord files and tf.Example messages, written byte by byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trivet::test {

// `bytes` with length and checksums around it.
std::string framed(std::string_view bytes);

// Fields of protocol buffers.
std::string varint(std::uint64_t value);
std::string bytes_field(int tag, const std::string& bytes);

// Feature messages.
std::string bytes_feature(const std::vector<std::string>& values);
std::string packed_ints_feature(const std::vector<std::int64_t>& values);
std::string ints_feature(const std::vector<std::int64_t>& values);  // not packed
std::string floats_feature(const std::vector<float>& values);       // packed

// An Example of named features.
std::string tf_example(const std::vector<std::pair<std::string, std::string>>& features);

}  // namespace trivet::test
