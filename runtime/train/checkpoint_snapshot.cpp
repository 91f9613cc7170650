// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint_snapshot.h"

#include <cstring>

#include "trivet/device.h"
#include "trivet/thread_pool.h"

namespace trivet {
namespace {

// Training waits for this copy, so the whole pool makes it, in pieces that are worth waking a
// thread for.
void copy_on_pool(const Tensor& tensor, std::span<std::byte> out) {
  constexpr std::int64_t kPiece = 1 << 20;
  const bool in_reach = !tensor.on_host() && tensor.contiguous() && tensor.device().host_visible();
  if (!in_reach) {
    tensor.copy_bytes(out);
    return;
  }
  tensor.device().sync();
  const auto* const from = static_cast<const std::byte*>(tensor.view().data);
  tensor.device().pool().parallel_for(static_cast<std::int64_t>(out.size()), kPiece,
                                      [&](std::int64_t begin, std::int64_t end, std::int32_t) {
                                        std::memcpy(out.data() + begin, from + begin,
                                                    static_cast<std::size_t>(end - begin));
                                      });
}

}  // namespace

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
    copy.size = tensor.bytes();
    if (copy.size > copy.capacity) {
      copy.data = std::make_unique_for_overwrite<std::byte[]>(copy.size);
      copy.capacity = copy.size;
    }
    copy_on_pool(tensor, {copy.data.get(), copy.size});
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
      entries.push_back({copy.name, copy.dtype, copy.shape, {copy.data.get(), copy.size}});
    }
    writer.entries(files_[i].name, entries);
  }
  for (const Value::Member& member : state_.members()) writer.state(member.key, member.value);
}

}  // namespace trivet
