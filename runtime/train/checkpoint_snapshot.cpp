// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint_snapshot.h"

namespace trivet {

void CheckpointSnapshot::clear() {
  used_ = 0;
  state_ = Value::table();
}

void CheckpointSnapshot::tensors(std::string_view name, const NamedTensors& tensors) {
  if (used_ == files_.size()) files_.emplace_back();
  File& file = files_[used_++];
  file.name = name;
  file.used = tensors.size();
  if (file.copies.size() < tensors.size()) file.copies.resize(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& [path, tensor] = tensors[i];
    Copy& copy = file.copies[i];
    copy.name = path;
    copy.dtype = tensor.dtype();
    copy.shape = tensor.shape();
    copy.data.resize(tensor.bytes());
    tensor.copy_bytes(copy.data);
  }
}

void CheckpointSnapshot::state(std::string_view key, const Value& value) {
  state_.set(key, value);
}

void CheckpointSnapshot::write(CheckpointDirectoryWriter& writer) const {
  for (std::size_t i = 0; i < used_; ++i) {
    std::vector<SafetensorsEntry> entries;
    entries.reserve(files_[i].used);
    for (std::size_t j = 0; j < files_[i].used; ++j) {
      const Copy& copy = files_[i].copies[j];
      entries.push_back({copy.name, copy.dtype, copy.shape, copy.data});
    }
    writer.entries(files_[i].name, entries);
  }
  for (const Value::Member& member : state_.members()) writer.state(member.key, member.value);
}

}  // namespace trivet
