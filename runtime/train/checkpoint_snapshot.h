// SPDX-License-Identifier: Apache-2.0
// CheckpointSnapshot: a checkpoint in memory. Filling it is all that training waits for; writing it
// to disk may happen on another thread while training goes on.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "train/checkpoint_directory.h"

namespace trivet {

class CheckpointSnapshot final : public CheckpointWriter {
 public:
  // Forgets what it holds. The memory is kept: filling it again with the same tensors takes none.
  void clear();

  void tensors(std::string_view name, const NamedTensors& tensors) override;
  void state(std::string_view key, const Value& value) override;

  // Everything that was given, in its order. [any thread, while nobody fills it]
  void write(CheckpointDirectoryWriter& writer) const;

 private:
  struct Copy {
    std::string name;
    DType dtype = DType::f32;
    Shape shape;
    std::unique_ptr<std::byte[]> data;
    std::size_t size = 0, capacity = 0;
  };
  struct File {
    std::string name;
    std::vector<Copy> copies;
    std::size_t used = 0;  // of copies
  };

  std::vector<File> files_;
  std::size_t used_ = 0;  // of files_
  Value state_ = Value::table();
};

}  // namespace trivet
