// SPDX-License-Identifier: Apache-2.0
// Images that are given in place of those of an input's config: `trivet predict RUN --input`.
#pragma once

#include <memory>

#include "data/images/encoded_source.h"
#include "trivet/error.h"

namespace trivet::data {

// The images of `context.examples`, where that is an image or a folder of images; null otherwise.
std::unique_ptr<EncodedImages> given_images(const InputContext& context);

// Changes a config to read given examples once, in their order, without labels. `own` is the field
// that names the input's own files. Throws InputError for standard input.
template <class Config, class Field>
Config given_config(Config config, const InputContext& context, Field own) {
  if (context.examples.empty()) return config;
  if (context.examples == "-") {
    throw InputError("images are read from a file or a folder, not from standard input");
  }
  config.*own = {Path(context.examples)};
  config.labels = config.shuffle = config.drop_remainder = false;
  config.epochs = 1;
  return config;
}

}  // namespace trivet::data
