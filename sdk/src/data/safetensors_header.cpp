// SPDX-License-Identifier: Apache-2.0
// Reads the header as a stream of JSON events, so that a hostile one can neither nest nor grow
// beyond what an entry may hold, and repeated names are seen (a tree of values would drop them).
#include "data/safetensors_header.h"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

#include "trivet/error.h"

namespace trivet {
namespace {

using nlohmann::json;

struct DTypeName {
  std::string_view name;
  DType dtype;
};
constexpr std::array kDTypes = {
    DTypeName{"F32", DType::f32}, DTypeName{"BF16", DType::bf16}, DTypeName{"F16", DType::f16},
    DTypeName{"I32", DType::i32}, DTypeName{"U8", DType::u8},     DTypeName{"BOOL", DType::boolean},
    DTypeName{"U32", DType::u32}, DTypeName{"I8", DType::i8},
};

std::optional<DType> dtype_named(std::string_view name) {
  for (const DTypeName& known : kDTypes) {
    if (known.name == name) return known.dtype;
  }
  return std::nullopt;
}

// Every event returns false to stop the parser after `problem` was set.
class Reader final : public nlohmann::json_sax<json> {
 public:
  SafetensorsHeader header;
  std::string problem;

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(json::number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(json::number_float_t, const std::string&) override {
    return unexpected("a number that is no 64-bit integer");
  }
  bool binary(json::binary_t&) override { return unexpected("binary data"); }

  bool number_unsigned(json::number_unsigned_t value) override {
    if (location_ == Location::shape) {
      if (extents_.size() == TV_MAX_RANK) {
        return fail("has more than " + std::to_string(TV_MAX_RANK) + " axes");
      }
      if (!std::in_range<std::int64_t>(value)) return fail("has an extent beyond 63 bits");
      extents_.push_back(static_cast<std::int64_t>(value));
      return true;
    }
    if (location_ == Location::offsets) {
      if (offsets_.size() == 2) return fail("has more than two data_offsets");
      offsets_.push_back(value);
      return true;
    }
    return unexpected("a number");
  }

  bool string(std::string& value) override {
    if (location_ == Location::metadata) {
      header.metadata[key_] = std::move(value);
      return true;
    }
    if (location_ != Location::entry || key_ != "dtype") return unexpected("a text");
    const auto dtype = dtype_named(value);
    if (!dtype) {
      return fail("has the element type " + safetensors_quoted(value) +
                  ", which is none of F32, BF16, F16, I32, U32, I8, U8, BOOL");
    }
    entry_.dtype = *dtype;
    return true;
  }

  bool start_object(std::size_t) override {
    if (location_ == Location::outside) return enter(Location::root);
    if (location_ != Location::root) return unexpected("an object");
    if (entry_.name == kSafetensorsMetadata) return enter(Location::metadata);
    return enter(Location::entry);
  }

  bool key(std::string& name) override {
    key_ = name;
    if (location_ == Location::root) return begin_entry(std::move(name));
    if (location_ == Location::entry && name != "dtype" && name != "shape" &&
        name != "data_offsets") {
      return fail("has the unknown field " + safetensors_quoted(name));
    }
    if (!seen_.insert(name).second) return fail("has " + safetensors_quoted(name) + " twice");
    return true;
  }

  bool end_object() override {
    const Location ended = std::exchange(location_, Location::root);
    return ended == Location::entry ? finish_entry() : true;
  }

  bool start_array(std::size_t) override {
    if (location_ == Location::entry && key_ == "shape") return enter(Location::shape);
    if (location_ == Location::entry && key_ == "data_offsets") return enter(Location::offsets);
    return unexpected("an array");
  }

  bool end_array() override { return enter(Location::entry); }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    problem = "the header is not valid JSON at byte " + std::to_string(position + 8);
    return false;
  }

 private:
  enum class Location { outside, root, metadata, entry, shape, offsets };

  bool enter(Location location) {
    location_ = location;
    return true;
  }

  bool fail(std::string what) {
    problem = "entry " + safetensors_quoted(entry_.name) + " " + std::move(what);
    return false;
  }

  bool unexpected(std::string_view what) {
    if (location_ == Location::outside) {
      problem = "the header is not a JSON object";
      return false;
    }
    return fail("has " + std::string(what) + " where it does not belong");
  }

  bool begin_entry(std::string name) {
    entry_ = {};
    extents_.clear();
    offsets_.clear();
    seen_.clear();
    entry_.name = std::move(name);
    if (!names_.insert(entry_.name).second) return fail("is there twice");
    const std::string wrong = safetensors_name_problem(entry_.name);
    if (entry_.name != kSafetensorsMetadata && !wrong.empty()) return fail(wrong);
    return true;
  }

  bool finish_entry() {
    for (const char* field : {"dtype", "shape", "data_offsets"}) {
      if (!seen_.contains(field)) return fail("lacks " + std::string(field));
    }
    if (offsets_.size() != 2) return fail("does not have two data_offsets");
    entry_.shape = Shape(extents_);
    entry_.begin = offsets_[0];
    entry_.end = offsets_[1];
    header.entries.push_back(std::move(entry_));
    return true;
  }

  Location location_ = Location::outside;
  std::string key_;
  SafetensorsHeaderEntry entry_;
  std::vector<std::int64_t> extents_;
  std::vector<std::uint64_t> offsets_;
  std::unordered_set<std::string> seen_;   // fields of this entry, or keys of the metadata
  std::unordered_set<std::string> names_;  // entries
};

// One entry against its own shape and the data; `begin` is where the one before ended.
std::string locate_diagnostic(const SafetensorsHeaderEntry& entry, std::uint64_t begin,
                              std::uint64_t data_bytes) {
  if (entry.end < entry.begin) return "ends before it begins";
  if (entry.end > data_bytes) {
    return "ends at byte " + std::to_string(entry.end) + " of " + std::to_string(data_bytes) +
           " bytes of data: the file is cut or damaged";
  }
  const auto bytes = safetensors_bytes(entry.shape, entry.dtype);
  if (!bytes) return "has a shape beyond 63 bits";
  if (entry.end - entry.begin != *bytes) {
    return "has " + std::to_string(entry.end - entry.begin) + " bytes where its shape " +
           entry.shape.to_string() + " needs " + std::to_string(*bytes);
  }
  if (entry.begin < begin) return "overlaps the entry before it";
  if (entry.begin > begin) return "leaves a hole of unused bytes before it";
  return "";
}

}  // namespace

std::optional<std::uint64_t> safetensors_bytes(const Shape& shape, DType dtype) {
  std::int64_t product = static_cast<std::int64_t>(size_of(dtype));
  bool empty = false;
  for (const std::int64_t extent : shape) {
    // A zero hides no overflow: strides are products of the other extents.
    if (extent == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(product, extent, &product)) {
      return std::nullopt;
    }
  }
  return empty ? 0 : static_cast<std::uint64_t>(product);
}

std::string safetensors_name_problem(std::string_view name) {
  if (name.empty()) return "has no name";
  if (name == kSafetensorsMetadata) return "has the name that is kept for metadata";
  const bool control = std::any_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  return control ? "has a control character in its name" : "";
}

std::string_view safetensors_dtype(DType dtype) {
  for (const DTypeName& known : kDTypes) {
    if (known.dtype == dtype) return known.name;
  }
  throw Error("safetensors files cannot hold the element type " + std::string(name_of(dtype)));
}

std::string safetensors_quoted(std::string_view name) {
  constexpr std::size_t kLongest = 200;
  std::string text = "\"";
  for (const char c : name.substr(0, kLongest)) {
    text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return text + (name.size() > kLongest ? "...\"" : "\"");
}

SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_bytes,
                                           const std::string& file) {
  Reader reader;
  // The format asks for '{' as the first byte; a JSON reader would skip blanks before it.
  if (text.empty() || text.front() != '{') throw Error(file + ": the header is not a JSON object");
  // It takes a zero byte for the end of the text, whatever follows it.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    throw Error(file + ": the header has a zero byte at byte " + std::to_string(zero + 8),
                {.hint = "a header is filled up with blanks"});
  }
  if (!json::sax_parse(text.begin(), text.end(), &reader)) {
    throw Error(file + ": " + reader.problem);
  }
  auto& entries = reader.header.entries;
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t end = 0;
  for (const SafetensorsHeaderEntry& entry : entries) {
    const std::string wrong = locate_diagnostic(entry, end, data_bytes);
    if (!wrong.empty()) {
      throw Error(file + ": entry " + safetensors_quoted(entry.name) + " " + wrong);
    }
    end = entry.end;
  }
  if (end != data_bytes) {
    throw Error(file + ": " + std::to_string(data_bytes - end) +
                " bytes of data after the last entry belong to no entry");
  }
  return std::move(reader.header);
}

}  // namespace trivet
