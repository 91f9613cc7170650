// SPDX-License-Identifier: Apache-2.0
// CheckpointSnapshot: a checkpoint in memory. Training only waits until it is filled; another
// thread may write it to disk while training continues. A trainer that continues from another
// trainer can also read it.
//
// Of several processes each has the part that it writes: its own parts of tensors, and an equal
// share of what all processes have alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_part.h"
#include "trivet/tensor/tensor_part.h"

namespace trivet {

class CheckpointSnapshot final : public CheckpointWriter, public CheckpointReader {
 public:
  // Of a process among those of a run, all of which write into a directory.
  struct Part {
    int rank = 0, processes = 1;
    std::filesystem::path directory{};
  };

  // Whole tensors.
  CheckpointSnapshot() = default;
  explicit CheckpointSnapshot(Part part) : part_(std::move(part)) {}
  // Null: it has whole tensors.
  const Part* part() const { return part_ ? &*part_ : nullptr; }
  void set_directory(std::filesystem::path directory) { part_->directory = std::move(directory); }

  // Clears the contents. Keeps the memory, so filling it again with the same tensors allocates
  // nothing.
  void clear();

  void write_tensors(std::string_view name, const NamedTensors& tensors) override;
  bool takes_parts() const override { return part_.has_value(); }
  void write_parts(std::string_view name, const std::vector<TensorPart>& parts) override;
  void state(std::string_view key, const Value& value) override;

  // Of a snapshot of whole tensors. Names, shapes and types must be equal, as both come from one
  // config. Throws Error otherwise.
  void read_tensors(std::string_view name, NamedTensors& into,
                    OtherTensors others = OtherTensors::refused) const override;
  void read_parts(std::string_view name, const std::vector<TensorPart>& into,
                  OtherTensors others = OtherTensors::refused) const override;
  bool has_state(std::string_view key) const override { return state_.find(key) != nullptr; }
  const Value& state(std::string_view key) const override;
  std::string description() const override { return "memory"; }
  // The tensors saved under a name. Valid until the next call of `clear` or `tensors`.
  std::vector<SafetensorsEntry> entries(std::string_view name) const;

  // The saved tensors, in order. [any thread, while it is not being filled]
  WrittenPart write(const std::filesystem::path& directory) const;
  // The saved state, in order. [any thread, while it is not being filled]
  void write_state(CheckpointDirectoryWriter& writer) const;

 private:
  struct Free {
    void operator()(std::byte* block) const { std::free(block); }
  };
  struct Copy {
    SafetensorsEntry entry() const { return {name, dtype, shape, {data.get(), size}}; }
    TensorBytes part() const { return {{name, dtype, shape}, first, {data.get(), size}}; }

    std::string name;
    DType dtype = DType::f32;
    Shape shape;
    std::uint64_t first = 0;  // byte of the tensor
    std::unique_ptr<std::byte[], Free> data;
    std::size_t size = 0, capacity = 0;
  };
  struct File {
    std::string name;
    std::vector<Copy> copies;
    std::size_t used = 0;  // bytes of the copies
  };

  static std::unique_ptr<std::byte[], Free> block_of(std::size_t bytes);
  void keep(Copy& copy, const TensorPart& part, std::pair<std::uint64_t, std::uint64_t> bytes);
  const File& file(std::string_view name) const;

  std::optional<Part> part_;
  std::vector<File> files_;
  std::size_t used_ = 0;  // bytes of files_
  Value state_ = Value::table();
};

}  // namespace trivet
