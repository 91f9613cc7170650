// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <charconv>
#include <cstdint>

#include "trivet/config/digest.h"
#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/os/input_file.h"

namespace trivet::sentencepieces {
namespace {

constexpr std::string_view kBlank = "\u2581";
constexpr std::uint64_t kMostBytes = 64u << 20;

void check(const ::sentencepiece::util::Status& status, const char* action) {
  if (!status.ok()) {
    throw InputError(std::string("SentencePiece cannot ") + action + ": " + status.error_message());
  }
}

std::optional<std::int32_t> optional_id(int id) {
  return id < 0 ? std::nullopt : std::optional(std::int32_t{id});
}

}  // namespace

Model::Model(const Config& config) {
  file_ = input_text(config.file.text, kMostBytes);
  const auto status = model_.LoadFromSerializedProto(file_);
  // The library treats an empty file as a model without pieces.
  if (!status.ok() || model_.GetPieceSize() == 0) {
    throw InputError(config.file.text + " is not a SentencePiece model" +
                         (status.ok() ? ": it has no pieces" : ""),
                     {.hint = "the file may be cut off, or be the .vocab file of the .model"});
  }
  fingerprint_ = digest("sentencepiece/Model 1 " + file_);
}

ConfigOf<Tokenizer> Model::store(const std::filesystem::path& folder) const {
  ModelConfig config;
  config.file = "tokenizer.model";
  replace_file(folder / config.file.text, file_);
  return config;
}

std::int32_t Model::vocabulary_size() const {
  return model_.GetPieceSize();
}

std::vector<std::int32_t> Model::encode(std::string_view text) const {
  std::vector<int> ids;
  check(model_.Encode(text, &ids), "encode the text");
  return ids;
}

std::string Model::decode(std::span<const std::int32_t> ids) const {
  for (const std::int32_t id : ids) check_id(id);
  std::string text;
  check(model_.Decode(std::vector<int>(ids.begin(), ids.end()), &text), "decode the ids");
  return text;
}

std::string Model::token_text(std::int32_t id) const {
  check_id(id);
  const std::string& piece = model_.IdToPiece(id);
  if (model_.IsControl(id) || model_.IsUnknown(id)) return piece;
  if (model_.IsByte(id)) {
    // A byte piece such as "<0xE2>".
    unsigned byte = 0;
    std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16);
    return std::string(1, static_cast<char>(byte));
  }
  std::string text;
  for (std::string_view rest = piece; !rest.empty();) {
    const bool blank = rest.starts_with(kBlank);
    text += blank ? ' ' : rest.front();
    rest.remove_prefix(blank ? kBlank.size() : 1);
  }
  return text;
}

bool Model::is_special(std::int32_t id) const {
  check_id(id);
  return model_.IsControl(id);
}

std::optional<std::int32_t> Model::bos_id() const {
  return optional_id(model_.bos_id());
}
std::optional<std::int32_t> Model::eos_id() const {
  return optional_id(model_.eos_id());
}
std::optional<std::int32_t> Model::pad_id() const {
  return optional_id(model_.pad_id());
}
std::optional<std::int32_t> Model::unknown_id() const {
  return optional_id(model_.unk_id());
}

}  // namespace trivet::sentencepieces
