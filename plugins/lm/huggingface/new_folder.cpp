// SPDX-License-Identifier: Apache-2.0
#include "lm/huggingface/new_folder.h"

#include <system_error>

#include "trivet/error.h"

namespace trivet::lm {

namespace fs = std::filesystem;

NewFolder::NewFolder(const std::string& path) : path_(fs::absolute(path).lexically_normal()) {
  if (!path_.has_filename()) path_ = path_.parent_path();
  std::error_code error;
  was_there_ = fs::exists(path_, error);
  if (was_there_ && (!fs::is_directory(path_, error) || !fs::is_empty(path_, error))) {
    throw UsageError(path + " exists already", {.hint = "name a new folder with -o"});
  }
  fs::create_directories(path_, error);
  if (error) throw RunError("cannot create " + path_.string() + ": " + error.message());
}

NewFolder::~NewFolder() {
  if (kept_) return;
  std::error_code ignored;
  if (!was_there_) {
    fs::remove_all(path_, ignored);
    return;
  }
  for (const auto& entry : fs::directory_iterator(path_, ignored)) {
    fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace trivet::lm
