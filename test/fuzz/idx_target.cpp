// SPDX-License-Identifier: Apache-2.0
// An untrusted data file: refused, or it holds all elements that its header declares, up to the
// limit.
#include "data/formats/idx_file.h"
#include "fuzz_target.h"
#include "plugins/data/files.h"
#include "trivet/error.h"

namespace trivet::test {

bool accepts_idx(std::string_view bytes) {
  constexpr std::int64_t kLimit = 1 << 20;
  const MemoryFile given(bytes);
  try {
    data::IdxFile file(given.path().string(), kLimit);
    promise(!file.extents().empty(), "a file has no axes");
    file.load();
    const auto wanted = static_cast<std::uint64_t>(file.records() * file.record_bytes());
    promise(file.elements().size() == wanted, "a file has not the elements that it declares");
    promise(wanted <= kLimit, "a file is larger than the limit");
    std::uint64_t sum = 0;
    for (const std::uint8_t element : file.elements()) sum += element;
    promise(sum <= wanted * 255, "elements are read");
    return true;
  } catch (const InputError& refused) {
    promise(!refused.message().empty(), "a file is refused without a reason");
    return false;
  }
}

std::vector<std::string> idx_seeds() {
  const std::string images = numbered_images(5), labels = cyclic_labels(7, 3);
  return {images, labels, gzip(images), gzip(labels),
          gzip(images.substr(0, 20)) + gzip(images.substr(20))};
}

}  // namespace trivet::test
