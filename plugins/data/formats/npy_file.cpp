// SPDX-License-Identifier: Apache-2.0
#include "data/formats/npy_file.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "data/formats/input_bytes.h"
#include "trivet/backend/backend.h"
#include "trivet/error.h"

namespace trivet::data {
namespace {

constexpr std::size_t kMostNpyHeaderBytes = 1 << 16;
constexpr std::string_view kNpyMagic = "\x93NUMPY";

// Parses the dict. Supports only the form that numpy writes: no nesting, no escapes.
class DictReader {
 public:
  DictReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  NpyHeader read() {
    expect('{');
    while (!take('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !descr_) {
        descr_ = descr();
      } else if (key == "fortran_order" && !fortran_) {
        fortran_ = boolean();
      } else if (key == "shape" && !shape_) {
        shape_ = tuple();
      } else {
        fail("has an unknown or repeated key");
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip();
    if (!text_.empty() || !descr_ || !fortran_ || !shape_) fail("is not complete");
    if (*fortran_) {
      throw InputError(name_ + ": is in Fortran order, which is not supported",
                       {.hint = "save it with numpy.save(file, numpy.ascontiguousarray(array))"});
    }
    return {type(*descr_), *shape_};
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw InputError(name_ + ": the NumPy header " + what);
  }
  void skip() { text_.remove_prefix(std::min(text_.find_first_not_of(" \n\t"), text_.size())); }
  bool take(char c) {
    skip();
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail("is malformed");
  }

  std::string_view quoted() {
    skip();
    const char quote = text_.empty() ? '\0' : text_.front();
    if (quote != '\'' && quote != '"') fail("is malformed");
    const std::size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) fail("is cut off");
    const std::string_view word = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return word;
  }

  std::string_view descr() {
    skip();
    if (text_.starts_with('[')) {
      throw InputError(name_ + ": is a structured array, which is not supported");
    }
    return quoted();
  }

  bool boolean() {
    skip();
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return word == "True";
    }
    fail("is malformed");
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> extents;
    expect('(');
    while (!take(')')) {
      skip();
      std::int64_t extent = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0) fail("has an invalid shape");
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      extents.push_back(extent);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return extents;
  }

  NpyType type(std::string_view descr) const {
    constexpr std::pair<std::string_view, NpyType> kTypes[] = {
        {"<f4", NpyType::f4}, {"<f8", NpyType::f8}, {"|u1", NpyType::u1},
        {"<u1", NpyType::u1}, {"<i4", NpyType::i4}, {"<i8", NpyType::i8}};
    for (const auto& [name, known] : kTypes) {
      if (name == descr) return known;
    }
    const bool big_endian = descr.starts_with('>');
    throw InputError(name_ + ": has elements of type '" + std::string(descr.substr(0, 20)) +
                         (big_endian ? "' (big-endian)" : "'") + ", which is not supported",
                     {.hint = "save it as float32, float64, uint8, int32 or int64"});
  }

  std::string_view text_;
  const std::string& name_;
  std::optional<std::string_view> descr_;
  std::optional<bool> fortran_;
  std::optional<std::vector<std::int64_t>> shape_;
};

std::size_t size_of_type(NpyType type) {
  switch (type) {
    case NpyType::u1:
      return 1;
    case NpyType::f4:
    case NpyType::i4:
      return 4;
    case NpyType::f8:
    case NpyType::i8:
      return 8;
  }
  throw Error("unknown NumPy type");
}

// Returns the header's text and sets `begin` to the location of the data.
std::string_view header_text(std::span<const std::uint8_t> file, const std::string& name,
                             std::size_t& begin) {
  const std::string_view all(reinterpret_cast<const char*>(file.data()), file.size());
  if (!all.starts_with(kNpyMagic)) throw InputError(name + ": not a NumPy file (.npy)");
  const std::size_t version = file.size() > 7 ? file[6] : 1;
  if (version < 1 || version > 3 || (file.size() > 7 && file[7] != 0)) {
    throw InputError(name + ": NumPy format version " + std::to_string(version) +
                     " is unknown; expected 1.0, 2.0 or 3.0");
  }
  const std::size_t digits = version == 1 ? 2 : 4;
  if (file.size() < 8 + digits) throw InputError(name + ": cut off within its header");
  std::size_t length = 0;
  for (std::size_t i = digits; i-- > 0;) length = length << 8 | file[8 + i];
  if (length > kMostNpyHeaderBytes) {
    throw InputError(name + ": the NumPy header claims to have " + std::to_string(length) +
                     " bytes, more than any header needs");
  }
  begin = 8 + digits + length;
  if (file.size() < begin) throw InputError(name + ": cut off within its header");
  return all.substr(8 + digits, length);
}

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& name) {
  return DictReader(text, name).read();
}

NpyFile::NpyFile(std::string name, std::uint64_t limit)
    : name_(std::move(name)), memory_(map_input(name_, limit).memory) {
  const auto file = memory_.bytes();
  header_ = parse_npy_header(header_text(file, name_, data_begin_), name_);
  if (header_.shape.empty() || header_.shape.size() > TV_MAX_RANK) {
    throw InputError(name_ + ": has " + std::to_string(header_.shape.size()) +
                     " axes; expected 1 to " + std::to_string(TV_MAX_RANK));
  }
  const auto size = static_cast<std::int64_t>(size_of_type(header_.type));
  std::int64_t bytes = size;
  bool overflow = false;
  for (std::size_t axis = 0; axis < header_.shape.size(); ++axis) {
    const std::int64_t extent = header_.shape[axis];
    if (axis > 0) overflow |= __builtin_mul_overflow(record_elements_, extent, &record_elements_);
    overflow |= __builtin_mul_overflow(bytes, extent, &bytes);
  }
  if (overflow) throw InputError(name_ + ": the size in its header does not fit in 63 bits");
  if (records() > 0 && record_elements_ == 0) {
    throw InputError(name_ + ": its examples have no elements");
  }
  const std::uint64_t present = file.size() - data_begin_;
  if (present > static_cast<std::uint64_t>(bytes)) {
    throw InputError(name_ + ": " + std::to_string(present - static_cast<std::uint64_t>(bytes)) +
                     " bytes follow the last of " + std::to_string(records()) + " records");
  }
  if (present < static_cast<std::uint64_t>(bytes)) {
    throw InputError(name_ + ": cut off in record " +
                     std::to_string(present / static_cast<std::uint64_t>(record_elements_ * size)) +
                     " of " + std::to_string(records()));
  }
}

template <class T>
T NpyFile::at(std::int64_t index) const {
  T value;
  std::memcpy(&value, elements() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

double NpyFile::number(std::int64_t index) const {
  switch (header_.type) {
    case NpyType::f4:
      return at<float>(index);
    case NpyType::f8:
      return at<double>(index);
    default:
      return static_cast<double>(integer(index));
  }
}

std::int64_t NpyFile::integer(std::int64_t index) const {
  switch (header_.type) {
    case NpyType::u1:
      return at<std::uint8_t>(index);
    case NpyType::i4:
      return at<std::int32_t>(index);
    case NpyType::i8:
      return at<std::int64_t>(index);
    default:
      throw InputError(name_ + ": has no integers");
  }
}

}  // namespace trivet::data
