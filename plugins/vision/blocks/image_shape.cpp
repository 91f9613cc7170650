// SPDX-License-Identifier: Apache-2.0
#include "vision/blocks/image_shape.h"

#include "trivet/error.h"

namespace trivet::vision {

void check_image_shape(Diagnostics& diagnostics, const std::vector<std::int64_t>& shape) {
  if (shape.size() == 3) return;  // the field's range requires positive numbers
  diagnostics.add("image_shape", "must be [height, width, channels], has " +
                                     std::to_string(shape.size()) + " numbers");
}

const Tensor& expected_image(const std::string& model, const Batch& batch,
                             const std::vector<std::int64_t>& shape) {
  const Tensor& image = batch.at("image");
  const bool fits = image.rank() == 4 && image.dim(1) == shape[0] && image.dim(2) == shape[1] &&
                    image.dim(3) == shape[2];
  if (!fits) {
    throw Error(model + ": expected images [B, " + std::to_string(shape[0]) + ", " +
                    std::to_string(shape[1]) + ", " + std::to_string(shape[2]) + "], got " +
                    image.to_string(),
                {.hint = "set the model's image_shape to the shape of the input's images"});
  }
  return image;
}

}  // namespace trivet::vision
