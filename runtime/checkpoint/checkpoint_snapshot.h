// SPDX-License-Identifier: Apache-2.0
// CheckpointSnapshot: a checkpoint in memory. Training only waits until it is filled; another
// thread may write it to disk while training continues. A trainer that continues from another
// trainer can also read it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint_directory.h"

namespace trivet {

class CheckpointSnapshot final : public CheckpointWriter, public CheckpointReader {
 public:
  // Clears the contents. Keeps the memory, so filling it again with the same tensors allocates
  // nothing.
  void clear();

  void write_tensors(std::string_view name, const NamedTensors& tensors) override;
  void state(std::string_view key, const Value& value) override;

  // Names, shapes and types must be equal, as both come from one config. Throws Error otherwise.
  void read_tensors(std::string_view name, NamedTensors& into,
                    OtherTensors others = OtherTensors::refused) const override;
  bool has_state(std::string_view key) const override { return state_.find(key) != nullptr; }
  const Value& state(std::string_view key) const override;
  std::string description() const override { return "memory"; }
  // The tensors saved under a name. Valid until the next call of `clear` or `tensors`.
  std::vector<SafetensorsEntry> entries(std::string_view name) const;

  // All saved data, in order. [any thread, while it is not being filled]
  void write(CheckpointDirectoryWriter& writer) const;

 private:
  struct Free {
    void operator()(std::byte* block) const { std::free(block); }
  };
  struct Copy {
    SafetensorsEntry entry() const { return {name, dtype, shape, {data.get(), size}}; }

    std::string name;
    DType dtype = DType::f32;
    Shape shape;
    std::unique_ptr<std::byte[], Free> data;
    std::size_t size = 0, capacity = 0;
  };
  struct File {
    std::string name;
    std::vector<Copy> copies;
    std::size_t used = 0;  // bytes of the copies
  };

  static std::unique_ptr<std::byte[], Free> block_of(std::size_t bytes);
  const File& file(std::string_view name) const;

  std::vector<File> files_;
  std::size_t used_ = 0;  // bytes of files_
  Value state_ = Value::table();
};

}  // namespace trivet
