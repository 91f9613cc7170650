// SPDX-License-Identifier: Apache-2.0
// safetensors files: an 8-byte little-endian header length, a JSON header {name: {dtype, shape,
// data_offsets}}, data. The layout is the published one (huggingface/safetensors, README "Format"),
// so any reader opens our weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trivet/backend/dtype.h"
#include "trivet/base/export.h"
#include "trivet/tensor/shape.h"

namespace trivet {

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::span<const std::byte> data;  // row-major, little-endian
};

// A file mapped into memory. Opening checks everything: the header's size and JSON, names, types,
// that offsets lie in the file, do not overlap, leave no hole, and fit shape and type. Throws Error
// naming the file and the entry. Entries come in the order of their data, which files of others
// need not have aligned: copy it out. The file must not shrink while it is open. [any-thread]
class TRIVET_API SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::vector<SafetensorsEntry>& entries() const;
  const SafetensorsEntry* find(std::string_view name) const;
  const std::map<std::string, std::string>& metadata() const;

  // Takes the memory of `data`, a part of an entry's data, out of this process. It is read from the
  // file again when it is needed. Data that are not in the file's memory stay.
  void release(std::span<const std::byte> data) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Writes the entries in the given order, without gaps, after a header padded with blanks to a
// multiple of 8 bytes, then fsync (of the file; its folder is the caller's). The same entries give
// the same bytes. An existing file is replaced. Throws Error with the system's text (disk full,
// read-only) and leaves no half file behind. [any-thread]
TRIVET_API void write_safetensors(const std::filesystem::path& path,
                                  std::span<const SafetensorsEntry> entries,
                                  const std::map<std::string, std::string>& metadata = {});

// What the file begins with, its data follow: for sums of a file whose data is at hand. Throws as
// write_safetensors, with `file` in the message. [any-thread]
TRIVET_API std::string safetensors_header(std::span<const SafetensorsEntry> entries,
                                          const std::map<std::string, std::string>& metadata = {},
                                          const std::string& file = {});
// The same without the data, for a file that several processes write.
struct SafetensorsTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
};
TRIVET_API std::string safetensors_header(std::span<const SafetensorsTensor> tensors,
                                          const std::map<std::string, std::string>& metadata = {},
                                          const std::string& file = {});

}  // namespace trivet
