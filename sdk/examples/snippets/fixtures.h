// SPDX-License-Identifier: Apache-2.0
// What the tests of examples share: the built plugins, a device, and a folder for files.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>

#include <trivet/tensor/device.h>
#include <trivet/testing/plugins.h>

namespace snippets {

namespace fs = std::filesystem;

// The folder of the built plugins. The environment wins, as for the program.
inline fs::path plugin_dir() {
  const char* path = std::getenv("TRIVET_PLUGIN_PATH");
  return path != nullptr && *path != '\0' ? path : TRIVET_SNIPPETS_PLUGIN_DIR;
}

// The folder of the plugins that are built of these examples: acme.so, examples.so.
inline fs::path build_dir() {
  return TRIVET_SNIPPETS_BUILD_DIR;
}

inline void use_plugin(const std::string& name) {
  trivet::testing::load_plugin(plugin_dir() / (name + ".so"));
}

inline std::unique_ptr<trivet::Device> open_device() {
  use_plugin("tiny");
  return trivet::testing::open_device("tiny/Backend");
}

// A fresh folder, which is removed with its files.
class Folder {
 public:
  Folder() {
    std::string name = fs::temp_directory_path() / "trivet_example_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for an example");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const fs::path& path() const { return path_; }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  fs::path path_;
};

}  // namespace snippets
