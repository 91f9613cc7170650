// SPDX-License-Identifier: Apache-2.0
#include "data/formats/example_features.h"

#include <algorithm>

#include <protozero/pbf_reader.hpp>

#include "trivet/error.h"

namespace trivet::data {
namespace {

using Message = protozero::pbf_reader;
using Wire = protozero::pbf_wire_type;

// A list of numbers may be packed or not, also in parts.
template <class T, class One, class Packed>
void append_numbers(Message list, Wire single, One one, Packed packed, std::vector<T>& out) {
  while (list.next()) {
    if (list.tag() == 1 && list.wire_type() == single) {
      out.push_back((list.*one)());
    } else if (list.tag() == 1 && list.wire_type() == Wire::length_delimited) {
      const auto values = (list.*packed)();
      out.insert(out.end(), values.begin(), values.end());
    } else {
      list.skip();
    }
  }
}

void append_bytes(Message list, std::vector<std::string_view>& out) {
  while (list.next()) {
    if (list.tag() == 1 && list.wire_type() == Wire::length_delimited) {
      const protozero::data_view data = list.get_view();
      out.emplace_back(data.data(), data.size());
    } else {
      list.skip();
    }
  }
}

// The kinds are members of one choice: one that comes later replaces the others.
void read_values(Message feature, FeatureValues& values) {
  constexpr FeatureKind kKinds[] = {FeatureKind::bytes, FeatureKind::floats, FeatureKind::integers};
  while (feature.next()) {
    const auto tag = feature.tag();
    if (feature.wire_type() != Wire::length_delimited || tag > 3) {
      feature.skip();
      continue;
    }
    const FeatureKind kind = kKinds[tag - 1];
    if (values.kind != kind) values.clear();
    values.kind = kind;
    Message list = feature.get_message();
    if (kind == FeatureKind::bytes) append_bytes(list, values.bytes);
    if (kind == FeatureKind::floats) {
      append_numbers(list, Wire::fixed32, &Message::get_float, &Message::get_packed_float,
                     values.floats);
    }
    if (kind == FeatureKind::integers) {
      append_numbers(list, Wire::varint, &Message::get_int64, &Message::get_packed_int64,
                     values.integers);
    }
  }
}

void read_entry(Message entry, const std::string& location, const FeatureNames& names,
                std::vector<bool>& seen, std::vector<FeatureValues>& values) {
  std::string_view name;
  Message feature;
  while (entry.next()) {
    if (entry.wire_type() != Wire::length_delimited || entry.tag() > 2) {
      entry.skip();
    } else if (entry.tag() == 1) {
      const protozero::data_view data = entry.get_view();
      name = {data.data(), data.size()};
    } else {
      feature = entry.get_message();
    }
  }
  const auto found = names.find(name);
  if (found == names.end()) return;
  if (seen[found->second]) {
    throw InputError(location + ": has the feature '" + found->first + "' twice");
  }
  seen[found->second] = true;
  read_values(feature, values[found->second]);
}

}  // namespace

void FeatureValues::clear() {
  kind = FeatureKind::none;
  bytes.clear();
  floats.clear();
  integers.clear();
}

void read_feature_values(std::string_view record, const std::string& location,
                         const FeatureNames& names, std::vector<FeatureValues>& values) {
  for (FeatureValues& one : values) one.clear();
  std::vector<bool> seen(values.size());
  try {
    Message example(protozero::data_view(record.data(), record.size()));
    while (example.next(1, Wire::length_delimited)) {
      Message map = example.get_message();
      while (map.next(1, Wire::length_delimited)) {
        read_entry(map.get_message(), location, names, seen, values);
      }
    }
  } catch (const protozero::exception& failure) {
    throw InputError(location + ": is not a tf.Example: " + failure.what());
  }
}

}  // namespace trivet::data
