// SPDX-License-Identifier: Apache-2.0
// The members of a tar archive, by offset: ustar and pax (POSIX.1-2017, pax, "ustar Interchange
// Format" and "pax Extended Header"), GNU tar's long names and large sizes, and version 7.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/memory.h"

namespace trivet::data {

// A regular file of an archive.
struct TarMember {
  std::string name;  // without a leading "./"
  std::uint64_t offset = 0, size = 0;
};

// The files in the bytes of an archive, by their headers alone; folders are left out. Throws
// InputError, with `file` and the member or the byte, for what is no archive, is cut off or
// damaged; for links, devices and sparse files; and for names that are not UTF-8, are absolute or
// have a part "..".
std::vector<TarMember> tar_members(std::string_view bytes, const std::string& file);

class TarFile {
 public:
  // Maps a plain archive, which must not shrink while it is open; decompresses one of gzip or zstd
  // into memory. Throws as tar_members, and for more than `limit` decompressed bytes.
  TarFile(std::string name, std::uint64_t limit);

  const std::string& name() const { return name_; }
  const std::vector<TarMember>& members() const { return members_; }
  std::string_view contents(const TarMember& member) const;  // empty after close()
  // "a.tar:cat/1.jpg", for messages.
  std::string location(const TarMember& member) const { return name_ + ":" + member.name; }
  // What a compressed archive takes in memory; 0 for a plain one.
  std::uint64_t decompressed() const { return decompressed_; }
  void close() { memory_ = Memory(); }

 private:
  std::string name_;
  Memory memory_;
  std::uint64_t decompressed_ = 0;
  std::vector<TarMember> members_;
};

}  // namespace trivet::data
