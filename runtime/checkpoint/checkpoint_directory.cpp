// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_directory.h"

#include <fcntl.h>
#include <libdeflate.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "checkpoint/checkpoint_part.h"
#include "trivet/config/json.h"
#include "trivet/data/quantized_weights.h"
#include "trivet/data/safetensors.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

constexpr const char* kFormat = "trivet-checkpoint";
constexpr std::int64_t kVersion = 1;
constexpr const char* kManifest = "manifest.json";
constexpr const char* kState = "state.json";
constexpr const char* kTensors = ".safetensors";

FileSum sum_of(const std::filesystem::path& path) {
  const UniqueFd file = open_file(path, O_RDONLY);
  struct stat about = {};
  if (::fstat(file.get(), &about) != 0) throw_system_error("read", path, errno);
  if (!S_ISREG(about.st_mode)) throw RunError(path.string() + " is not a file");
  // Not mapped, so that a disk failure is an error and not a signal.
  std::vector<std::byte> part(std::size_t{1} << 20);
  std::uint64_t size = 0;
  std::uint32_t crc = libdeflate_crc32(0, nullptr, 0);
  while (true) {
    const ssize_t count = ::read(file.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error("read", path, errno);
    if (count == 0) return {size, fmt::format("{:08x}", crc)};
    crc = libdeflate_crc32(crc, part.data(), static_cast<std::size_t>(count));
    size += static_cast<std::uint64_t>(count);
  }
}

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

// So that the file is never in memory as a whole beside what is read from it.
void assign_in_pieces(Tensor values, std::span<const std::byte> data, const SafetensorsFile& file) {
  constexpr std::size_t kPiece = 16 << 20;
  const std::int64_t rows = values.rank() > 0 ? values.dim(0) : 1;
  const std::size_t row_bytes = data.size() / static_cast<std::size_t>(rows);
  const auto step = static_cast<std::int64_t>(std::max<std::size_t>(1, kPiece / row_bytes));
  for (std::int64_t row = 0; row < rows; row += step) {
    const std::int64_t end = std::min(row + step, rows);
    const auto piece = data.subspan(static_cast<std::size_t>(row) * row_bytes,
                                    static_cast<std::size_t>(end - row) * row_bytes);
    Tensor part = end - row == rows ? values : ops::slice(values, 0, row, end);
    part.assign_bytes(piece);
    file.release(piece);
  }
}

std::string described(std::string_view name, DType dtype, const Shape& shape) {
  return fmt::format("{} {} {}", name, name_of(dtype), shape.to_string());
}

}  // namespace

std::string tensor_file_name(std::string_view name) {
  return std::string(name) + kTensors;
}

CheckpointDirectoryWriter::CheckpointDirectoryWriter(std::filesystem::path directory)
    : directory_(std::move(directory)) {}

void CheckpointDirectoryWriter::write_tensors(std::string_view name, const NamedTensors& tensors) {
  // Copies of device memory that cannot be read in place, kept until they are written.
  std::vector<std::vector<std::byte>> copies;
  std::vector<SafetensorsEntry> entries;
  copies.reserve(tensors.size());
  entries.reserve(tensors.size());
  for (const auto& [path, tensor] : tensors) {
    copies.push_back(tensor.to_bytes());
    entries.push_back({path, tensor.dtype(), tensor.shape(), copies.back()});
  }
  this->entries(name, entries);
}

void CheckpointDirectoryWriter::entries(std::string_view name,
                                        std::span<const SafetensorsEntry> entries) {
  std::vector<TensorBytes> all;
  all.reserve(entries.size());
  for (const SafetensorsEntry& entry : entries) {
    all.push_back({{entry.name, entry.dtype, entry.shape}, 0, entry.data});
  }
  const WrittenPart part{
      write_tensor_bytes(directory_, tensor_file_name(name), all, FileHeader::written)};
  for (const auto& [file, sum] : sums_of(std::span(&part, 1))) written(file, sum);
}

// Processes with another file system under the same path leave holes. Opened, so that a server is
// asked for the size.
void CheckpointDirectoryWriter::written(const std::string& name, const FileSum& sum) {
  const std::filesystem::path path = directory_ / name;
  const UniqueFd file = open_file(path, O_RDONLY);
  struct stat about = {};
  if (::fstat(file.get(), &about) != 0) throw_system_error("read", path, errno);
  if (std::cmp_not_equal(about.st_size, sum.size)) {
    throw RunError(
        fmt::format("{} has {} bytes instead of {}", path.string(), about.st_size, sum.size),
        {.hint = "do all processes see the same files under this path?"});
  }
  add_file(name, sum);
}

void CheckpointDirectoryWriter::state(std::string_view key, const Value& value) {
  state_.set(key, value);
}

void CheckpointDirectoryWriter::finish(std::int64_t step) {
  write_file(directory_ / kState, to_json(state_, JsonStyle::indented), Durability::synced);
  add_file(kState, sum_of(directory_ / kState));
  const Value manifest =
      Value::table({{"format", kFormat}, {"version", kVersion}, {"step", step}, {"files", files_}});
  write_file(directory_ / kManifest, to_json(manifest, JsonStyle::indented), Durability::synced);
  sync_directory(directory_);
}

void CheckpointDirectoryWriter::add_file(const std::string& name, const FileSum& sum) {
  bytes_ += sum.size;
  files_.push_back(Value::table({{"name", name}, {"size", sum.size}, {"crc32", sum.crc32}}));
}

CheckpointDirectoryReader::CheckpointDirectoryReader(std::filesystem::path directory,
                                                     std::filesystem::path name)
    : CheckpointDirectoryReader(std::move(directory), std::move(name), Sums::checked) {}

CheckpointDirectoryReader CheckpointDirectoryReader::checked_by_another(
    std::filesystem::path directory) {
  return {std::move(directory), {}, Sums::trusted};
}

CheckpointDirectoryReader::CheckpointDirectoryReader(std::filesystem::path directory,
                                                     std::filesystem::path name, Sums sums)
    : directory_(std::move(directory)), name_(name.empty() ? directory_ : std::move(name)) {
  const std::string source = (name_ / kManifest).string();
  if (!is_there(directory_ / kManifest)) {
    throw RunError(name_.string() + " has no manifest.json: it was never finished");
  }
  const Value manifest = value_from_json(read_text_file(directory_ / kManifest), source);
  try {
    if (manifest.at("format", source).as_string() != kFormat) {
      throw RunError(source + " is not the manifest of a checkpoint");
    }
    if (const std::int64_t version = manifest.at("version", source).as_integer();
        version != kVersion) {
      throw RunError(fmt::format("{} has version {}; this program reads version {}", source,
                                 version, kVersion));
    }
    step_ = manifest.at("step", source).as_integer();
    if (step_ < 0) throw RunError(fmt::format("{} has the step {}", source, step_));
    std::set<std::string> listed;
    for (const Value& entry : manifest.at("files", source).items()) {
      check_file(entry, sums);
      const std::string& file = entry.find("name")->as_string();
      if (!listed.insert(file).second) {
        throw RunError(fmt::format("{} names {} twice", source, file));
      }
    }
    check_listed(listed);
  } catch (const ConfigError& wrong_type) {
    throw RunError(fmt::format("{}: {}", source, wrong_type.message()));
  }
  const std::filesystem::path state = directory_ / kState;
  state_ = value_from_json(read_text_file(state), (name_ / kState).string());
  if (!state_.is_table()) throw RunError((name_ / kState).string() + " holds no table");
}

// Only files in the manifest may be read.
void CheckpointDirectoryReader::check_listed(const std::set<std::string>& listed) const {
  const auto check = [&](const std::string& name) {
    if (listed.contains(name)) return;
    throw RunError(fmt::format("{} does not name {}", (name_ / kManifest).string(), name));
  };
  check(kState);
  std::error_code failure;
  std::filesystem::directory_iterator entry(directory_, failure), end;
  for (; !failure && entry != end; entry.increment(failure)) {
    if (entry->path().extension() == kTensors) check(entry->path().filename().string());
  }
  if (failure) throw_system_error("read", directory_, failure.value());
}

void add_to_manifest(const std::filesystem::path& directory, std::string_view key,
                     const Value& value) {
  const std::filesystem::path path = directory / kManifest;
  Value manifest = value_from_json(read_text_file(path), path.string());
  manifest.set(key, value);
  // Writes a new file, because the old one may have other hard links.
  replace_file(path, to_json(manifest, JsonStyle::indented), Durability::synced);
}

std::optional<Value> in_manifest(const std::filesystem::path& directory, std::string_view key) {
  const std::filesystem::path path = directory / kManifest;
  const Value manifest = value_from_json(read_text_file(path), path.string());
  const Value* found = manifest.is_table() ? manifest.find(key) : nullptr;
  return found == nullptr ? std::nullopt : std::optional(*found);
}

void CheckpointDirectoryReader::check_file(const Value& entry, Sums sums) const {
  const std::string source = (name_ / kManifest).string();
  const std::string& name = entry.at("name", source).as_string();
  if (!is_plain_name(name)) {
    throw RunError(fmt::format("{} names the file \"{}\" outside its directory", source, name));
  }
  if (sums == Sums::trusted) return;
  const FileSum sum = sum_of(directory_ / name);
  const std::string path = (name_ / name).string();
  const std::int64_t size = entry.at("size", source).as_integer();
  if (std::cmp_not_equal(sum.size, size)) {
    throw RunError(fmt::format("{} has {} bytes instead of {}", path, sum.size, size));
  }
  const std::string& crc = entry.at("crc32", source).as_string();
  if (sum.crc32 != crc) {
    throw RunError(
        fmt::format("{} is damaged: its CRC-32 is {} instead of {}", path, sum.crc32, crc));
  }
}

void CheckpointDirectoryReader::read_tensors(std::string_view name, NamedTensors& into,
                                             OtherTensors others) const {
  std::vector<TensorPart> parts;
  parts.reserve(into.size());
  for (const auto& [path, tensor] : into) parts.push_back({path, tensor.shape(), tensor});
  read_parts(name, parts, others);
}

void CheckpointDirectoryReader::read_parts(std::string_view name,
                                           const std::vector<TensorPart>& into,
                                           OtherTensors others) const {
  const std::filesystem::path path = directory_ / tensor_file_name(name);
  const SafetensorsFile file(path);
  const DequantizedEntries plain(file.entries(), (name_ / tensor_file_name(name)).string());
  std::map<std::string_view, const SafetensorsEntry*> found;
  for (const SafetensorsEntry& entry : plain.entries()) found[entry.name] = &entry;
  std::vector<std::string> wrong;
  std::map<std::string_view, bool> asked;
  for (const TensorPart& part : into) {
    asked[part.name] = true;
    const auto entry_at = found.find(part.name);
    const SafetensorsEntry* entry = entry_at == found.end() ? nullptr : entry_at->second;
    if (entry == nullptr) {
      wrong.push_back("missing: " + described(part.name, part.dtype(), part.shape));
    } else if (entry->dtype != part.dtype() || !(entry->shape == part.shape)) {
      wrong.push_back(fmt::format("{} in the file, {} {} in the model",
                                  described(part.name, entry->dtype, entry->shape),
                                  name_of(part.dtype()), part.shape.to_string()));
    }
  }
  for (const SafetensorsEntry& entry : plain.entries()) {
    if (others == OtherTensors::refused && !asked.contains(entry.name)) {
      wrong.push_back("only in the file: " + described(entry.name, entry.dtype, entry.shape));
    }
  }
  if (!wrong.empty()) {
    throw RunError(fmt::format("{} does not fit:\n  {}", (name_ / tensor_file_name(name)).string(),
                               fmt::join(wrong, "\n  ")),
                   {.hint = "the checkpoint was made by another model or optimizer"});
  }
  for (const TensorPart& part : into) {
    if (part.values.size() == 0) continue;
    const auto data = found.at(part.name)->data;
    assign_in_pieces(part.values, data.subspan(part.first_byte(), part.values.bytes()), file);
  }
}

bool CheckpointDirectoryReader::has_state(std::string_view key) const {
  return state_.find(key) != nullptr;
}

const Value& CheckpointDirectoryReader::state(std::string_view key) const {
  return state_.at(key, (name_ / kState).string(),
                   "weights alone, such as those of 'trivet ckpt convert', cannot resume a run: "
                   "start a new one with task.init_checkpoint");
}

std::string CheckpointDirectoryReader::description() const {
  return name_.string();
}

}  // namespace trivet
