// SPDX-License-Identifier: Apache-2.0
// Summaries: what layers, tasks and trainers want seen of one step beside its metrics: numbers,
// distributions, images, texts. A layer adds to those of its context.
//
// Example (sdk/examples/snippets/layer.cpp#summary):
//
//   context.summaries.histogram(path_ + "/scores", scores);
//
// It may do so in every step: nothing is read from the device or kept unless somebody wants it,
// which is so in the training steps that are multiples of trainer.summary_interval and in the first
// batch of an evaluation. Values are read when they are added. [run-thread]
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/tensor.h"

namespace trivet {

// A distribution. Bucket i counts the values in (limits[i - 1], limits[i]], bucket 0 those up to
// limits[0]; the sums are over the same values. Non-finite values are only counted.
struct Histogram {
  double min = 0, max = 0, sum = 0, sum_squares = 0;  // 0 when there are no values
  std::int64_t count = 0;
  std::int64_t not_finite = 0;
  std::vector<double> limits;
  std::vector<std::int64_t> counts;
};

// Buckets of one width from the smallest to the largest value; one bucket when all are equal.
TRIVET_API Histogram histogram_of(std::span<const float> values, int buckets = 64);

// Rows from the top, pixels from the left, `channels` bytes a pixel: 1 gray, 2 gray and alpha,
// 3 RGB, 4 RGBA.
struct Image {
  std::int64_t height = 0, width = 0, channels = 0;
  std::vector<std::uint8_t> pixels;
};

enum class ImageRange {
  unit,  // [0, 1] is black to white; what is outside is cut
  fit,   // black and white are the smallest and the largest value of each image
};

class TRIVET_API Summaries {
 public:
  using Content = std::variant<double, Histogram, Image, std::string>;
  struct Entry {
    std::string name;
    Content content;
  };

  // Whether anything is kept; not until want().
  bool wanted() const { return wanted_; }
  void want() { wanted_ = true; }

  // A name that is taken gets "_1", "_2", ... appended.
  void scalar(std::string_view name, double value);
  void scalar(std::string_view name, const Tensor& value);  // of one element
  void histogram(std::string_view name, const Tensor& values);
  // The first `at_most` of [N, H, W, C] (u8 as it is, f32 by `range`), as NAME/0, NAME/1, ...; one
  // image [H, W, C] as NAME. Throws Error for other shapes and types.
  void images(std::string_view name, const Tensor& images, ImageRange range = ImageRange::unit,
              std::int64_t at_most = 8);
  void text(std::string_view name, std::string markdown);

  const std::vector<Entry>& entries() const { return entries_; }

 private:
  void add(std::string_view name, Content content);

  bool wanted_ = false;
  std::vector<Entry> entries_;
};

}  // namespace trivet
