// SPDX-License-Identifier: Apache-2.0
// An untrusted tar archive: refused, or its members lie within the bytes, in order, under names
// that stay below the archive.
#include "data/formats/tar_file.h"
#include "fuzz_target.h"
#include "plugins/data/tars.h"
#include "trivet/error.h"
#include "trivet/text/utf8.h"

namespace trivet::test {

bool accepts_tar(std::string_view bytes) {
  try {
    std::uint64_t end = 0;
    for (const data::TarMember& member : data::tar_members(bytes, "file")) {
      promise(!member.name.empty() && !member.name.starts_with('/'), "a name is below a folder");
      promise(("/" + member.name + "/").find("/../") == std::string::npos,
              "a name stays in the archive");
      promise(!find_invalid_utf8(member.name), "a name is UTF-8");
      promise(member.offset >= end + 512, "a header is before each member");
      end = member.offset + member.size;
      promise(end <= bytes.size(), "a member is within the bytes");
    }
    return true;
  } catch (const InputError& refused) {
    promise(!refused.message().empty(), "an archive is refused without a reason");
    return false;
  }
}

std::vector<std::string> tar_seeds() {
  const TarEntry plain{"1.cls", "3"};
  return {tar({plain, {"d/", "", '5'}, {"a.png", std::string(600, 'x'), '0', "folder"}}),
          tar({{"", std::string("long/name\0", 10), 'L'}, plain}),
          tar({{"", pax_records({{"path", "p/q"}, {"size", "1"}}), 'x'}, plain}),
          tar({{"", pax_records({{"comment", "c"}}), 'g'}, plain})};
}

}  // namespace trivet::test
