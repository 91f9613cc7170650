// SPDX-License-Identifier: Apache-2.0
//
// LaunchFiles: the files and scripts of an experiment's jobs as they are at the launch. Its jobs
// use copies, XP_DIR/files/DIGEST/NAME, whatever becomes of the originals later; experiment.json
// says which is which, for units that are added.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "trivet/config/value.h"

namespace trivet {

struct LaunchFile {
  std::filesystem::path original;  // absolute
  std::string digest;  // trivet/config/digest.h; empty: a directory, or too large to be read
  std::filesystem::path copy;  // below the experiment's directory; empty: used where it lies

  // Where jobs of the experiment in `directory` find it.
  std::filesystem::path path(const std::filesystem::path& directory) const {
    return copy.empty() ? original : directory / copy;
  }
};

class LaunchFiles {
 public:
  // Of a launch from `working_directory`.
  explicit LaunchFiles(std::filesystem::path working_directory);
  // As to_value() has recorded them in the experiment's directory; null: nothing is recorded.
  LaunchFiles(std::filesystem::path working_directory, const std::filesystem::path& directory,
              const Value& recorded);

  std::filesystem::path absolute(const std::filesystem::path& file) const;
  // What to look at to learn something of a file: the copy where there is one already.
  std::filesystem::path content(const std::filesystem::path& file) const;

  enum class Use { copy, original };
  // A file that jobs use, as a copy where it can be copied. The file must be there.
  LaunchFile take(const std::filesystem::path& file, Use use);

  // Makes the copies that are not there yet. Throws RunError, also for a file that has changed
  // since it was taken.
  void copy_into(const std::filesystem::path& directory) const;

  // Of all that have a copy: {original: copy}.
  Value to_value() const;

 private:
  std::filesystem::path working_directory_, directory_;
  std::map<std::filesystem::path, LaunchFile> files_;  // by original
};

}  // namespace trivet
