// SPDX-License-Identifier: Apache-2.0
#include "onnx_model.h"

#include <cstring>

#include <protozero/pbf_message.hpp>

#include "trivet/backend/half.h"
#include "trivet/os/file.h"

namespace trivet::test::onnx {
namespace {

using protozero::pbf_reader;

// Repeated numbers come packed or one by one.
template <class T, class Range, class One>
void append(std::vector<T>& to, pbf_reader& from, Range range, One one) {
  if (from.wire_type() == protozero::pbf_wire_type::length_delimited) {
    for (const auto value : range(from)) to.push_back(static_cast<T>(value));
  } else {
    to.push_back(static_cast<T>(one(from)));
  }
}

template <class T>
void append_int64(std::vector<T>& to, pbf_reader& from) {
  append(
      to, from, [](pbf_reader& r) { return r.get_packed_int64(); },
      [](pbf_reader& r) { return r.get_int64(); });
}

template <class T>
void append_float(std::vector<T>& to, pbf_reader& from) {
  append(
      to, from, [](pbf_reader& r) { return r.get_packed_float(); },
      [](pbf_reader& r) { return r.get_float(); });
}

template <class T>
void append_raw(std::vector<double>& to, const std::string& bytes) {
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    to.push_back(static_cast<double>(value));
  }
}

void append_halves(std::vector<double>& to, float (*widened)(std::uint16_t)) {
  for (double& bits : to) bits = static_cast<double>(widened(static_cast<std::uint16_t>(bits)));
}

void append_raw(Array& array, const std::string& raw) {
  switch (array.type) {
    case Type::f32:
      return append_raw<float>(array.values, raw);
    case Type::f64:
      return append_raw<double>(array.values, raw);
    case Type::i64:
      return append_raw<std::int64_t>(array.values, raw);
    case Type::i32:
      return append_raw<std::int32_t>(array.values, raw);
    case Type::u32:
      return append_raw<std::uint32_t>(array.values, raw);
    case Type::u64:
      return append_raw<std::uint64_t>(array.values, raw);
    case Type::i16:
      return append_raw<std::int16_t>(array.values, raw);
    case Type::u16:
    case Type::f16:
    case Type::bf16:
      return append_raw<std::uint16_t>(array.values, raw);
    case Type::i8:
      return append_raw<std::int8_t>(array.values, raw);
    default:
      return append_raw<std::uint8_t>(array.values, raw);
  }
}

Array array_in(pbf_reader tensor) {
  Array array;
  std::string raw;
  while (tensor.next()) {
    switch (tensor.tag()) {
      case 1:
        append_int64(array.dims, tensor);
        break;
      case 2:
        array.type = static_cast<Type>(tensor.get_int32());
        break;
      case 4:
        append_float(array.values, tensor);
        break;
      case 5:
      case 7:
      case 11:
        append_int64(array.values, tensor);
        break;
      case 8:
        array.name = tensor.get_string();
        break;
      case 9:
        raw = tensor.get_string();
        break;
      case 10:
        append(
            array.values, tensor, [](pbf_reader& r) { return r.get_packed_double(); },
            [](pbf_reader& r) { return r.get_double(); });
        break;
      default:
        tensor.skip();
    }
  }
  append_raw(array, raw);
  if (array.type == Type::f16) append_halves(array.values, float_from_f16);
  if (array.type == Type::bf16) append_halves(array.values, float_from_bf16);
  return array;
}

std::pair<std::string, Attribute> attribute_of(pbf_reader from) {
  std::string name;
  Attribute attribute;
  while (from.next()) {
    switch (from.tag()) {
      case 1:
        name = from.get_string();
        break;
      case 2:
        attribute.f = from.get_float();
        break;
      case 3:
        attribute.i = from.get_int64();
        break;
      case 4:
        attribute.s = from.get_string();
        break;
      case 5:
        attribute.tensor = array_in(from.get_message());
        break;
      case 7:
        append_float(attribute.floats, from);
        break;
      case 8:
        append_int64(attribute.ints, from);
        break;
      default:
        from.skip();
    }
  }
  return {name, attribute};
}

Node node_of(pbf_reader from) {
  Node node;
  std::string domain;
  while (from.next()) {
    switch (from.tag()) {
      case 1:
        node.inputs.push_back(from.get_string());
        break;
      case 2:
        node.outputs.push_back(from.get_string());
        break;
      case 4:
        node.op = from.get_string();
        break;
      case 5:
        node.attributes.insert(attribute_of(from.get_message()));
        break;
      case 7:
        domain = from.get_string();
        break;
      default:
        from.skip();
    }
  }
  if (!domain.empty()) node.op = domain + "/" + node.op;
  return node;
}

std::string name_of_value(pbf_reader value) {
  return value.next(1) ? value.get_string() : "";
}

void read_graph(pbf_reader graph, Model& model) {
  while (graph.next()) {
    switch (graph.tag()) {
      case 1:
        model.nodes.push_back(node_of(graph.get_message()));
        break;
      case 5:
        model.initializers.push_back(array_in(graph.get_message()));
        break;
      case 11:
        model.inputs.push_back(name_of_value(graph.get_message()));
        break;
      case 12:
        model.outputs.push_back(name_of_value(graph.get_message()));
        break;
      default:
        graph.skip();
    }
  }
}

// The version of the default domain's operators.
void read_opset(pbf_reader opset, Model& model) {
  std::string domain;
  std::int64_t version = 0;
  while (opset.next()) {
    if (opset.tag() == 1) {
      domain = opset.get_string();
    } else if (opset.tag() == 2) {
      version = opset.get_int64();
    } else {
      opset.skip();
    }
  }
  if (domain.empty()) model.opset = version;
}

}  // namespace

Model read_model(const std::filesystem::path& file) {
  const std::string bytes = read_text_file(file);
  pbf_reader from(bytes);
  Model model;
  while (from.next()) {
    if (from.tag() == 7) {
      read_graph(from.get_message(), model);
    } else if (from.tag() == 8) {
      read_opset(from.get_message(), model);
    } else {
      from.skip();
    }
  }
  return model;
}

std::optional<Array> read_array(const std::filesystem::path& file) {
  const std::string bytes = read_text_file(file);
  try {
    Array array = array_in(pbf_reader(bytes));
    std::int64_t size = 1;
    for (const std::int64_t extent : array.dims) size *= extent;
    if (size != static_cast<std::int64_t>(array.values.size())) return std::nullopt;
    return array;
  } catch (const std::exception&) {
    return std::nullopt;  // the fields of another message
  }
}

}  // namespace trivet::test::onnx
