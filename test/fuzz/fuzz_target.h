// SPDX-License-Identifier: Apache-2.0
// Fuzz targets: the functions that read untrusted bytes, each with the property that must hold for
// any bytes. libFuzzer runs them for any time (./dev fuzz); fuzz_test.cpp runs them briefly in
// every test run. A new target is a file with its function and a line in fuzz_target.cpp.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace trivet::test {

struct FuzzTarget {
  const char* name;
  // Returns true if the bytes are accepted, false if they are refused with the documented error.
  // Anything else is a finding: another exception, a broken property, a crash.
  bool (*accepts)(std::string_view bytes);
  // Accepted bytes that cover every case, as seeds for a fuzzer.
  std::vector<std::string> (*seeds)();
};

const std::vector<FuzzTarget>& fuzz_targets();
// Throws std::runtime_error if no target has this name.
const FuzzTarget& fuzz_target(std::string_view name);

// config_target.cpp: a config file, resolved.
bool accepts_config(std::string_view bytes);
std::vector<std::string> config_seeds();
// csv_target.cpp: a CSV file, by two dialects.
bool accepts_csv(std::string_view bytes);
std::vector<std::string> csv_seeds();
// override_target.cpp: overrides, one per line, and the same text after --params_override.
bool accepts_overrides(std::string_view bytes);
std::vector<std::string> override_seeds();
// hugging_face_target.cpp: a tokenizer.json of any kind.
bool accepts_hugging_face(std::string_view bytes);
std::vector<std::string> hugging_face_seeds();
// idx_target.cpp: an IDX file, gzip or not.
bool accepts_idx(std::string_view bytes);
std::vector<std::string> idx_seeds();
// plugin_target.cpp: a plugin's library, or the manifest in it.
bool accepts_plugin(std::string_view bytes);
std::vector<std::string> plugin_seeds();
// records_target.cpp: a TFRecord file, and a tf.Example.
bool accepts_records(std::string_view bytes);
std::vector<std::string> record_seeds();
// safetensors_target.cpp: a file of weights.
bool accepts_safetensors(std::string_view bytes);
std::vector<std::string> safetensors_seeds();
// tar_target.cpp: a tar archive.
bool accepts_tar(std::string_view bytes);
std::vector<std::string> tar_seeds();
// tokenizer_target.cpp: a tokenizer.json in GPT-2's form.
bool accepts_tokenizer(std::string_view bytes);
std::vector<std::string> tokenizer_seeds();
// tokens_target.cpp: a file of token ids, by every layout.
bool accepts_tokens(std::string_view bytes);
std::vector<std::string> token_seeds();

// Throws std::logic_error, which no target expects from the code under test.
void promise(bool kept, const char* what);

// A file in memory, so that fuzzing does not wear out the disk.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes = {});
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }
  std::filesystem::path path() const;

 private:
  int descriptor_;
};

}  // namespace trivet::test
