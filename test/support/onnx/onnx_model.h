// SPDX-License-Identifier: Apache-2.0
// Reads models and tensors of ONNX files, as needed for the data sets of its backend tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trivet::test::onnx {

// TensorProto.DataType
enum class Type : std::uint8_t {
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  text = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  bf16 = 16
};

struct Array {
  std::vector<std::int64_t> dims;
  Type type = Type::f32;
  std::string name;
  std::vector<double> values;  // empty for text
};

struct Attribute {
  float f = 0;
  std::int64_t i = 0;
  std::string s;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::optional<Array> tensor;
};

struct Node {
  std::string op;  // with a domain prefix, if any: "ai.onnx.training/Adam"
  std::vector<std::string> inputs, outputs;
  std::map<std::string, Attribute> attributes;

  bool has(const std::string& name) const { return attributes.count(name) > 0; }
  std::int64_t integer(const std::string& name, std::int64_t otherwise) const {
    return has(name) ? attributes.at(name).i : otherwise;
  }
  float number(const std::string& name, float otherwise) const {
    return has(name) ? attributes.at(name).f : otherwise;
  }
  std::string text(const std::string& name, const std::string& otherwise) const {
    return has(name) ? attributes.at(name).s : otherwise;
  }
  std::vector<std::int64_t> integers(const std::string& name,
                                     std::vector<std::int64_t> otherwise = {}) const {
    return has(name) ? attributes.at(name).ints : otherwise;
  }
};

struct Model {
  std::vector<Node> nodes;
  std::vector<Array> initializers;
  std::vector<std::string> inputs, outputs;
  std::int64_t opset = 0;
};

Model read_model(const std::filesystem::path& file);
// The tensor of a .pb file; nothing if the file holds something else (a sequence).
std::optional<Array> read_array(const std::filesystem::path& file);

}  // namespace trivet::test::onnx
