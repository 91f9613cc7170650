// SPDX-License-Identifier: Apache-2.0
// data/ImageFolder: JPEG and PNG files, in a folder for each class (torchvision's ImageFolder):
//
//   train/cat/1.jpg  train/cat/2.png  train/dog/a.jpg  ...
#pragma once

#include "data/images/example_source.h"

namespace trivet::data {

struct ImageFolderConfig : DatasetConfig {
  Path path;
  bool labels = true;
  std::vector<std::string> classes;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  bool in_memory = true;
  Bytes limit = std::int64_t{4} << 30;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    ImageFolderConfig, DatasetConfig,
    (path, "Folder with a folder of JPEG and PNG files for each class.", required),
    (labels, "false: the files are examples without labels, in any folders."),
    (classes,
     "Folders of the classes, in the order of their numbers; empty: all, in the order of their "
     "names."),
    (height, "Rows to resize images to, with width; 0: all must have the size of the first one.",
     at_least(0), at_most(65535)),
    (width, "Columns to resize images to, with height.", at_least(0), at_most(65535)),
    (channels, "1: gray, 3: RGB; others are converted. 0: those of the first image.", at_least(0),
     at_most(3)),
    (in_memory,
     "Decodes all images when the input is opened, and keeps a byte for each value; false: decodes "
     "an image whenever it is read."),
    (limit, "Most bytes of decoded images with in_memory.", at_least(1)))

class ImageFolderInput final : public ExampleInput {
 public:
  using Config = ImageFolderConfig;
  ImageFolderInput(const Config& config, InputContext& context);
  const void* extension(std::string_view id) const noexcept override;
};

}  // namespace trivet::data
