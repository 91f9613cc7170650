// SPDX-License-Identifier: Apache-2.0
// A reader of safetensors files, written from the published layout without code of trivet: 8 bytes
// of little-endian length, a JSON header of that length with each tensor's dtype, shape and
// data_offsets (begin, end, from the end of the header), then the data.
// https://huggingface.co/docs/safetensors, "Format".
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/shell.h"

namespace trivet::test {

struct StoredTensor {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // of an F32 tensor
};

inline StoredTensor stored_tensor(const nlohmann::json& entry, const std::string& data,
                                  std::size_t& covered) {
  const auto begin = entry.at("data_offsets").at(0).get<std::size_t>();
  const auto end = entry.at("data_offsets").at(1).get<std::size_t>();
  if (begin > end || end > data.size()) throw std::runtime_error("data_offsets outside the file");
  StoredTensor tensor{entry.at("dtype").get<std::string>(),
                      entry.at("shape").get<std::vector<std::int64_t>>(),
                      std::vector<float>((end - begin) / sizeof(float))};
  std::size_t elements = 1;
  for (const std::int64_t dim : tensor.shape) elements *= static_cast<std::size_t>(dim);
  if (tensor.dtype != "F32" || elements * sizeof(float) != end - begin) {
    throw std::runtime_error("dtype and shape do not fit data_offsets");
  }
  std::memcpy(tensor.values.data(), data.data() + begin, end - begin);
  covered += end - begin;
  return tensor;
}

// By name. Throws for anything that the layout forbids.
inline std::map<std::string, StoredTensor> read_safetensors(const std::filesystem::path& file) {
  const std::string bytes = read_file(file);
  if (bytes.size() < 8) throw std::runtime_error("shorter than its length field");
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  if (length > bytes.size() - 8) throw std::runtime_error("the header is longer than the file");
  const std::string header = bytes.substr(8, length), data = bytes.substr(8 + length);
  if (header.empty() || header.front() != '{') throw std::runtime_error("the header is no object");

  std::map<std::string, StoredTensor> tensors;
  std::size_t covered = 0;
  const auto entries = nlohmann::json::parse(header);
  for (const auto& [name, entry] : entries.items()) {
    if (name != "__metadata__") tensors[name] = stored_tensor(entry, data, covered);
  }
  if (covered != data.size()) throw std::runtime_error("the data has holes");
  return tensors;
}

}  // namespace trivet::test
