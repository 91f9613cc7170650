// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_snapshot.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <string_view>

#include <fmt/core.h>

#include "checkpoint/state_value.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/error.h"
#include "trivet/tensor/device.h"

namespace trivet {
namespace {

// Training waits for this copy, so the whole thread pool makes it, in pieces that are large enough
// to wake a thread.
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

// The first save touches every page of the copy for the first time while training waits. Huge pages
// reduce their number by a factor of 512.
std::unique_ptr<std::byte[], CheckpointSnapshot::Free> CheckpointSnapshot::block_of(
    std::size_t bytes) {
  constexpr std::size_t kHugePage = 2 << 20, kCacheLine = 64;
  const std::size_t alignment = bytes < kHugePage ? kCacheLine : kHugePage;
  const std::size_t size = (bytes + alignment - 1) / alignment * alignment;
  auto* const block = static_cast<std::byte*>(std::aligned_alloc(alignment, size));
  if (block == nullptr) throw std::bad_alloc();
  if (alignment == kHugePage) ::madvise(block, size, MADV_HUGEPAGE);  // a hint; failure is ignored
  return std::unique_ptr<std::byte[], Free>(block);
}

void CheckpointSnapshot::clear() {
  used_ = 0;
  state_ = Value::table();
}

void CheckpointSnapshot::write_tensors(std::string_view name, const NamedTensors& tensors) {
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
      copy.data = block_of(copy.size);
      copy.capacity = copy.size;
    }
    copy_on_pool(tensor, {copy.data.get(), copy.size});
  }
}

void CheckpointSnapshot::state(std::string_view key, const Value& value) {
  state_.set(key, value);
}

const CheckpointSnapshot::File& CheckpointSnapshot::file(std::string_view name) const {
  for (std::size_t i = 0; i < used_; ++i) {
    if (files_[i].name == name) return files_[i];
  }
  throw Error(fmt::format("the snapshot has no \"{}\"", name));
}

void CheckpointSnapshot::read_tensors(std::string_view name, NamedTensors& into,
                                      OtherTensors others) const {
  const File& file = this->file(name);
  if (others == OtherTensors::refused && file.used != into.size()) {
    throw Error(fmt::format("expected {} tensors of \"{}\", the snapshot has {}", into.size(), name,
                            file.used));
  }
  std::map<std::string_view, const Copy*> copy_of;
  for (std::size_t i = 0; i < file.used; ++i) copy_of[file.copies[i].name] = &file.copies[i];
  for (auto& [path, tensor] : into) {
    const auto found = copy_of.find(path);
    const Copy* const copy = found == copy_of.end() ? nullptr : found->second;
    if (copy == nullptr || copy->dtype != tensor.dtype() || !(copy->shape == tensor.shape())) {
      throw Error(
          fmt::format("the snapshot has no {} {} in \"{}\"", path, tensor.to_string(), name));
    }
    tensor.assign_bytes(copy->entry().data);
  }
}

const Value& CheckpointSnapshot::state(std::string_view key) const {
  return member(state_, key);
}

std::vector<SafetensorsEntry> CheckpointSnapshot::entries(std::string_view name) const {
  const File& file = this->file(name);
  std::vector<SafetensorsEntry> entries;
  entries.reserve(file.used);
  for (std::size_t i = 0; i < file.used; ++i) entries.push_back(file.copies[i].entry());
  return entries;
}

void CheckpointSnapshot::write(CheckpointDirectoryWriter& writer) const {
  for (std::size_t i = 0; i < used_; ++i) writer.entries(files_[i].name, entries(files_[i].name));
  for (const Value::Member& member : state_.members()) writer.state(member.key, member.value);
}

}  // namespace trivet
