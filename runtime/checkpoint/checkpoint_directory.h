// SPDX-License-Identifier: Apache-2.0
// One checkpoint, a directory:
//
//   model.safetensors, optimizer.safetensors, ...   tensors of the trainer
//   state.json                                      state of the trainer
//   manifest.json                                   {"format": "trivet-checkpoint", "version": 1,
//                                                    "step", "files": [{"name", "size", "crc32"}]}
//
// The manifest is written last and lists every other file with its size and CRC-32 (that of zlib,
// gzip and PNG), so incomplete and damaged directories are detected.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/data/safetensors.h"
#include "trivet/tensor/tensor_part.h"
#include "trivet/train/checkpoint.h"

namespace trivet {

// The file of tensors that are saved under a name: "model.safetensors".
std::string tensor_file_name(std::string_view name);

struct FileSum {
  std::uint64_t size = 0;
  std::string crc32;  // 8 hexadecimal digits
};

// Fills an existing empty directory. Every file is on the disk when `finish` returns. The caller
// must sync the directory's entry in its parent.
class CheckpointDirectoryWriter : public CheckpointWriter {
 public:
  explicit CheckpointDirectoryWriter(std::filesystem::path directory);

  void write_tensors(std::string_view name, const NamedTensors& tensors) override;
  // The same from memory.
  void entries(std::string_view name, std::span<const SafetensorsEntry> entries);
  // A file that is on the disk. Throws RunError if it has another size.
  void written(const std::string& name, const FileSum& sum);
  void state(std::string_view key, const Value& value) override;
  void finish(std::int64_t step);

  std::uint64_t bytes() const { return bytes_; }  // size of all files so far

 private:
  void add_file(const std::string& name, const FileSum& sum);

  std::filesystem::path directory_;
  Value state_ = Value::table();
  Value files_ = Value::array();
  std::uint64_t bytes_ = 0;
};

// Sets or reads an additional member of a checkpoint's manifest. Hard links to the manifest
// elsewhere do not change. Throws RunError.
void add_to_manifest(const std::filesystem::path& directory, std::string_view key,
                     const Value& value);
std::optional<Value> in_manifest(const std::filesystem::path& directory, std::string_view key);

class CheckpointDirectoryReader : public CheckpointReader {
 public:
  // Checks the manifest, that it lists the state and every file of tensors once, and each file's
  // size and checksum. Throws RunError with the reason, or FileError if the system reported it. If
  // `name` is not empty, messages use it for the directory.
  explicit CheckpointDirectoryReader(std::filesystem::path directory,
                                     std::filesystem::path name = {});
  // The same without the checksums, of one that another process of the run has checked: reads no
  // bytes but those that are asked for.
  static CheckpointDirectoryReader checked_by_another(std::filesystem::path directory);

  const std::filesystem::path& directory() const { return directory_; }
  std::int64_t step() const { return step_; }

  // Quantized weights (trivet/data/quantized_weights.h) are read as f32.
  void read_tensors(std::string_view name, NamedTensors& into,
                    OtherTensors others = OtherTensors::refused) const override;
  void read_parts(std::string_view name, const std::vector<TensorPart>& into,
                  OtherTensors others = OtherTensors::refused) const override;
  bool has_state(std::string_view key) const override;
  const Value& state(std::string_view key) const override;
  std::string description() const override;

 private:
  enum class Sums { checked, trusted };
  CheckpointDirectoryReader(std::filesystem::path directory, std::filesystem::path name, Sums sums);
  void check_file(const Value& entry, Sums sums) const;
  void check_listed(const std::set<std::string>& listed) const;

  std::filesystem::path directory_, name_;
  std::int64_t step_ = 0;
  Value state_;
};

}  // namespace trivet
