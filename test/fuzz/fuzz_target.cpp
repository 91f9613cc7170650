// SPDX-License-Identifier: Apache-2.0
#include "fuzz_target.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace trivet::test {

const std::vector<FuzzTarget>& fuzz_targets() {
  static const std::vector<FuzzTarget> kTargets = {
      {"config", accepts_config, config_seeds},
      {"csv", accepts_csv, csv_seeds},
      {"hugging_face", accepts_hugging_face, hugging_face_seeds},
      {"idx", accepts_idx, idx_seeds},
      {"override", accepts_overrides, override_seeds},
      {"plugin", accepts_plugin, plugin_seeds},
      {"records", accepts_records, record_seeds},
      {"safetensors", accepts_safetensors, safetensors_seeds},
      {"tar", accepts_tar, tar_seeds},
      {"tokenizer", accepts_tokenizer, tokenizer_seeds},
      {"tokens", accepts_tokens, token_seeds},
  };
  return kTargets;
}

const FuzzTarget& fuzz_target(std::string_view name) {
  for (const FuzzTarget& target : fuzz_targets()) {
    if (name == target.name) return target;
  }
  throw std::runtime_error("there is no fuzz target " + std::string(name));
}

void promise(bool kept, const char* what) {
  if (!kept) throw std::logic_error(what);
}

MemoryFile::MemoryFile(std::string_view bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
  const auto size = static_cast<ssize_t>(bytes.size());
  if (descriptor_ < 0 || ::write(descriptor_, bytes.data(), bytes.size()) != size) {
    throw std::system_error(errno, std::generic_category(), "cannot make a file in memory");
  }
}

MemoryFile::~MemoryFile() {
  ::close(descriptor_);
}

std::filesystem::path MemoryFile::path() const {
  return "/proc/self/fd/" + std::to_string(descriptor_);
}

}  // namespace trivet::test
