// SPDX-License-Identifier: Apache-2.0
// The part of a checkpoint's files that one process of a run writes. Each process writes other
// ranges of the same files, at the same time, into the directory that process 0 has made; together
// they are the bytes that one process writes.
//
// Where a range begins follows from names, types and shapes of the tensors, which all processes
// know. The checksum of a file is combined from those of its ranges.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_directory.h"
#include "trivet/data/safetensors.h"

namespace trivet {

// The bytes of a tensor that a process writes.
struct TensorBytes {
  SafetensorsTensor tensor;  // whole
  std::uint64_t first = 0;   // byte of the tensor
  std::span<const std::byte> data;
};

struct WrittenRange {
  std::uint64_t begin = 0, end = 0;  // bytes of the file
  std::uint32_t crc32 = 0;
};

struct WrittenFile {
  std::string name;
  std::uint64_t size = 0;    // of all ranges of all processes
  std::uint32_t layout = 0;  // CRC-32 of the header: equal where names, types and shapes are
  std::vector<WrittenRange> ranges{};  // of this process, ascending
};

using WrittenPart = std::vector<WrittenFile>;

enum class FileHeader { written, by_another };

// Writes the data into the file `name` of the directory. It is on the disk when this returns.
// Throws FileError. [any thread]
WrittenFile write_tensor_bytes(const std::filesystem::path& directory, const std::string& name,
                               std::span<const TensorBytes> tensors, FileHeader header);

std::uint64_t bytes_of(const WrittenPart& part);

// The file beside the others in which another process than the first says that it is done, for a
// run that fails before it can tell: then its last checkpoint is not lost.
std::string report_file_name(int rank);

// As text for another process.
std::string to_text(const WrittenPart& part);
WrittenPart written_part_of(const std::string& text);

// Of the files, from the parts of all processes, in the order of ranks. Throws RunError unless they
// make up whole files.
struct WrittenSum {
  std::string name;
  FileSum sum;
};
std::vector<WrittenSum> sums_of(std::span<const WrittenPart> parts);

}  // namespace trivet
