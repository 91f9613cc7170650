// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_snapshot.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <span>
#include <string_view>

#include <fmt/core.h>

#include "checkpoint/state_value.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tape.h"
#include "trivet/tensor/device.h"

namespace trivet {
namespace {

using ByteRange = std::pair<std::uint64_t, std::uint64_t>;  // begin, end

// Of the bytes that all processes have alike each one writes an equal number.
std::uint64_t begin_of_share(std::uint64_t bytes, int rank, int processes) {
  const auto r = static_cast<std::uint64_t>(rank), p = static_cast<std::uint64_t>(processes);
  return bytes / p * r + bytes % p * r / p;
}

std::uint64_t alike_bytes(const std::vector<TensorPart>& parts) {
  std::uint64_t bytes = 0;
  for (const TensorPart& part : parts) bytes += part.is_shared ? 0 : part.whole_bytes();
  return bytes;
}

// A range of the elements that this process has.
Tensor slice_of(const TensorPart& part, ByteRange bytes) {
  const std::uint64_t size = size_of(part.dtype());
  const NoGrad no_grad;
  return ops::slice(ops::reshape(part.values, {part.values.size()}), 0,
                    static_cast<std::int64_t>(bytes.first / size),
                    static_cast<std::int64_t>(bytes.second / size));
}

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
  std::vector<TensorPart> parts;
  parts.reserve(tensors.size());
  for (const auto& [path, tensor] : tensors) parts.push_back({path, tensor.shape(), tensor});
  write_parts(name, parts);
}

void CheckpointSnapshot::write_parts(std::string_view name, const std::vector<TensorPart>& parts) {
  if (used_ == files_.size()) files_.emplace_back();
  File& file = files_[used_++];
  file.name = name;
  file.used = parts.size();
  if (file.copies.size() < parts.size()) file.copies.resize(parts.size());
  const Part own = part_.value_or(Part{});
  const std::uint64_t alike = alike_bytes(parts);
  const ByteRange share{begin_of_share(alike, own.rank, own.processes),
                        begin_of_share(alike, own.rank + 1, own.processes)};
  std::uint64_t end = 0;  // of the tensors so far that all have alike
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const TensorPart& part = parts[i];
    ByteRange kept{0, part.values.bytes()};
    if (!part.is_shared) {
      const std::uint64_t element = size_of(part.dtype());
      const auto within = [&](std::uint64_t position) {
        return (std::clamp(position, end, end + part.whole_bytes()) - end) / element * element;
      };
      kept = {within(share.first), within(share.second)};
      end += part.whole_bytes();
    }
    keep(file.copies[i], part, kept);
  }
}

void CheckpointSnapshot::keep(Copy& copy, const TensorPart& part,
                              std::pair<std::uint64_t, std::uint64_t> bytes) {
  copy.name = part.name;
  copy.dtype = part.dtype();
  copy.shape = part.shape;
  copy.first = part.first_byte() + bytes.first;
  copy.size = bytes.second - bytes.first;
  if (copy.size > copy.capacity) {
    copy.data = block_of(copy.size);
    copy.capacity = copy.size;
  }
  const std::span<std::byte> out(copy.data.get(), copy.size);
  if (copy.size == part.values.bytes()) {
    copy_on_pool(part.values, out);
  } else if (part.values.on_host()) {
    const std::vector<std::byte> all = part.values.to_bytes();
    std::ranges::copy(std::span(all).subspan(bytes.first, copy.size), out.begin());
  } else if (copy.size > 0) {
    copy_on_pool(slice_of(part, bytes), out);
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
  std::vector<TensorPart> parts;
  parts.reserve(into.size());
  for (const auto& [path, tensor] : into) parts.push_back({path, tensor.shape(), tensor});
  read_parts(name, parts, others);
}

void CheckpointSnapshot::read_parts(std::string_view name, const std::vector<TensorPart>& into,
                                    OtherTensors others) const {
  if (part_) throw Error("a snapshot of parts cannot be read");
  const File& file = this->file(name);
  if (others == OtherTensors::refused && file.used != into.size()) {
    throw Error(fmt::format("expected {} tensors of \"{}\", the snapshot has {}", into.size(), name,
                            file.used));
  }
  std::map<std::string_view, const Copy*> copy_of;
  for (std::size_t i = 0; i < file.used; ++i) copy_of[file.copies[i].name] = &file.copies[i];
  for (const TensorPart& part : into) {
    const auto found = copy_of.find(part.name);
    const Copy* const copy = found == copy_of.end() ? nullptr : found->second;
    if (copy == nullptr || copy->dtype != part.dtype() || !(copy->shape == part.shape)) {
      throw Error(fmt::format("the snapshot has no {} {} {} in \"{}\"", part.name,
                              name_of(part.dtype()), part.shape.to_string(), name));
    }
    Tensor values = part.values;
    values.assign_bytes(copy->entry().data.subspan(part.first_byte(), values.bytes()));
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

WrittenPart CheckpointSnapshot::write(const std::filesystem::path& directory) const {
  const bool is_first = !part_ || part_->rank == 0;
  WrittenPart written;
  for (std::size_t i = 0; i < used_; ++i) {
    const File& file = files_[i];
    std::vector<TensorBytes> tensors;
    tensors.reserve(file.used);
    for (std::size_t k = 0; k < file.used; ++k) tensors.push_back(file.copies[k].part());
    written.push_back(write_tensor_bytes(directory, tensor_file_name(file.name), tensors,
                                         is_first ? FileHeader::written : FileHeader::by_another));
  }
  return written;
}

void CheckpointSnapshot::write_state(CheckpointDirectoryWriter& writer) const {
  for (const Value::Member& member : state_.members()) writer.state(member.key, member.value);
}

}  // namespace trivet
