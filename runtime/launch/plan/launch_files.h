// SPDX-License-Identifier: Apache-2.0
// LaunchFiles: the files and scripts of an experiment's jobs at the time of the launch. Jobs use
// copies, XP_DIR/files/DIGEST/NAME, so later changes of the originals have no effect.
// experiment.json maps originals to copies for units that are added later.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "trivet/config/value.h"

namespace trivet {

struct LaunchFile {
  std::filesystem::path original;  // absolute
  std::string digest;              // trivet/config/digest.h; empty: a directory, or too large
  std::filesystem::path copy;      // below the experiment's directory; empty: used in place

  // The path that jobs of the experiment in `directory` use.
  std::filesystem::path path(const std::filesystem::path& directory) const {
    return copy.empty() ? original : directory / copy;
  }
};

class LaunchFiles {
 public:
  // The files of a launch from `working_directory`.
  explicit LaunchFiles(std::filesystem::path working_directory);
  // Reads the files that to_value() recorded in the experiment's directory. Null: nothing is
  // recorded.
  LaunchFiles(std::filesystem::path working_directory, const std::filesystem::path& directory,
              const Value& recorded);

  std::filesystem::path absolute(const std::filesystem::path& file) const;
  // The file to inspect: the copy if it exists, else the original.
  std::filesystem::path content(const std::filesystem::path& file) const;

  enum class Use { copy, original };
  // A file that jobs use, as a copy where it can be copied. The file must be there.
  LaunchFile take(const std::filesystem::path& file, Use use);

  // Creates the missing copies. Throws RunError, also if a file changed since it was added.
  void copy_into(const std::filesystem::path& directory) const;

  // All files that have a copy: {original: copy}.
  Value to_value() const;

 private:
  std::filesystem::path working_directory_, directory_;
  std::map<std::filesystem::path, LaunchFile> files_;  // by original
};

}  // namespace trivet
