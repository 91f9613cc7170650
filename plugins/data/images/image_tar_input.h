// SPDX-License-Identifier: Apache-2.0
// data/ImageTar: JPEG and PNG files in tar archives, each with its class beside it, as WebDataset
// stores them. Members with one name up to the first dot of the file are one example:
//
//   train-0000.tar:  0001.jpg  0001.cls  0002.png  0002.cls  ...
//
// Examples are in the order of the archives' names, then in that of the images of an archive. A key
// is that of an example within its archive: another archive may have it, too.
#pragma once

#include "data/images/encoded_source.h"

namespace trivet::data {

struct ImageTarConfig : EncodedConfig {
  std::vector<Path> files;
  bool labels = true;
  std::vector<std::string> classes;
  std::vector<std::string> ignore;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    ImageTarConfig, EncodedConfig,
    (files,
     "Tar files and patterns (*, ?, [a-z]), read in the order of their names. Images stay on disk "
     "where the file is plain; a gzip or zstd file is decompressed into memory.",
     required),
    (labels, "false: images are examples without labels, and .cls members are left out."),
    (classes,
     "Names of the classes, in the order of their numbers, which .cls members then hold; empty: "
     "they hold the numbers."),
    (ignore,
     "Extensions of members to leave out, from the first dot of the name, such as \"json\"; others "
     "are refused. Names that begin with a dot are left out."))

class ImageTarInput final : public ExampleInput {
 public:
  using Config = ImageTarConfig;
  ImageTarInput(const Config& own, InputContext& context);
  const void* extension(std::string_view id) const noexcept override;
};

}  // namespace trivet::data
