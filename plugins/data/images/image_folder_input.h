// SPDX-License-Identifier: Apache-2.0
// data/ImageFolder: JPEG and PNG files, in a folder for each class (torchvision's ImageFolder):
//
//   train/cat/1.jpg  train/cat/2.png  train/dog/a.jpg  ...
#pragma once

#include <memory>

#include "data/images/encoded_source.h"

namespace trivet::data {

struct ImageFolderConfig : EncodedConfig {
  Path path;
  bool labels = true;
  std::vector<std::string> classes;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    ImageFolderConfig, EncodedConfig,
    (path, "Folder with a folder of JPEG and PNG files for each class.", required),
    (labels, "false: the files are examples without labels, in any folders."),
    (classes,
     "Folders of the classes, in the order of their numbers; empty: all, in the order of their "
     "names."))

// The images of the folder; of one file where the config has no labels. Throws InputError.
std::unique_ptr<EncodedImages> folder_images(const ImageFolderConfig& config);

class ImageFolderInput final : public ExampleInput {
 public:
  using Config = ImageFolderConfig;
  ImageFolderInput(const Config& own, InputContext& context);
  const void* extension(std::string_view id) const noexcept override;
};

}  // namespace trivet::data
