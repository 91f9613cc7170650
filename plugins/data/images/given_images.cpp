// SPDX-License-Identifier: Apache-2.0
#include "data/images/given_images.h"

#include <filesystem>

#include "data/images/image_folder_input.h"

namespace trivet::data {

std::unique_ptr<EncodedImages> given_images(const InputContext& context) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(context.examples, ignored);
  if (context.examples.empty() || !(is_folder || is_image_name(context.examples))) return nullptr;
  ImageFolderConfig folder;
  folder.path = context.examples;
  folder.labels = false;
  return folder_images(folder);
}

}  // namespace trivet::data
