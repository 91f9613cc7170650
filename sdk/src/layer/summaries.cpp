// SPDX-License-Identifier: Apache-2.0
#include "trivet/layer/summaries.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "trivet/error.h"

namespace trivet {
namespace {

std::uint8_t to_byte(double fraction) {
  if (std::isnan(fraction)) return 0;
  return static_cast<std::uint8_t>(std::lround(std::clamp(fraction, 0.0, 1.0) * 255));
}

std::vector<std::uint8_t> to_bytes(std::span<const float> values, ImageRange range) {
  double low = 0, high = 1;
  if (range == ImageRange::fit) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    low = *least, high = *most;
  }
  const double scale = high > low ? 1 / (high - low) : 0;
  std::vector<std::uint8_t> bytes(values.size());
  std::transform(values.begin(), values.end(), bytes.begin(),
                 [&](float value) { return to_byte((value - low) * scale); });
  return bytes;
}

bool is_image(const Tensor& images) {
  const bool shaped = images.rank() == 3 || images.rank() == 4;
  if (!shaped || images.size() == 0) return false;
  const std::int64_t channels = images.dim(images.rank() - 1);
  const bool typed = images.dtype() == DType::u8 || images.dtype() == DType::f32;
  return channels >= 1 && channels <= 4 && typed;
}

}  // namespace

Histogram histogram_of(std::span<const float> values, int buckets) {
  if (buckets < 1) throw Error("a histogram needs at least one bucket");
  Histogram histogram;
  for (const float value : values) {
    if (!std::isfinite(value)) {
      ++histogram.not_finite;
      continue;
    }
    histogram.min = histogram.count == 0 ? value : std::min<double>(histogram.min, value);
    histogram.max = histogram.count == 0 ? value : std::max<double>(histogram.max, value);
    histogram.sum += value;
    histogram.sum_squares += static_cast<double>(value) * value;
    ++histogram.count;
  }
  if (histogram.count == 0) return histogram;
  const double width = (histogram.max - histogram.min) / buckets;
  const int used = width > 0 ? buckets : 1;
  for (int i = 1; i < used; ++i) histogram.limits.push_back(histogram.min + i * width);
  histogram.limits.push_back(histogram.max);
  histogram.counts.assign(static_cast<std::size_t>(used), 0);
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const auto limit = std::lower_bound(histogram.limits.begin(), histogram.limits.end(), value);
    ++histogram.counts[static_cast<std::size_t>(limit - histogram.limits.begin())];
  }
  return histogram;
}

void Summaries::add(std::string_view name, Content content) {
  const auto taken = [&](const std::string& candidate) {
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const Entry& entry) { return entry.name == candidate; });
  };
  std::string free(name);
  for (int i = 1; taken(free); ++i) free = std::string(name) + "_" + std::to_string(i);
  entries_.push_back({std::move(free), std::move(content)});
}

void Summaries::scalar(std::string_view name, double value) {
  if (wanted_) add(name, value);
}

void Summaries::scalar(std::string_view name, const Tensor& value) {
  if (wanted_) add(name, static_cast<double>(value.item()));
}

void Summaries::histogram(std::string_view name, const Tensor& values) {
  if (wanted_) add(name, histogram_of(values.to_host<float>()));
}

void Summaries::images(std::string_view name, const Tensor& images, ImageRange range,
                       std::int64_t at_most) {
  if (!wanted_) return;
  if (!is_image(images)) {
    throw Error("summary '" + std::string(name) +
                "': images are f32 or u8 [N, H, W, C] or [H, W, C] with 1 to 4 channels, not " +
                images.to_string());
  }
  const bool many = images.rank() == 4;
  const int first = many ? 1 : 0;
  Image image{.height = images.dim(first),
              .width = images.dim(first + 1),
              .channels = images.dim(first + 2),
              .pixels = {}};
  const auto size = static_cast<std::size_t>(image.height * image.width * image.channels);
  const std::int64_t count = many ? std::min(images.dim(0), at_most) : 1;
  std::vector<float> floats;
  std::vector<std::uint8_t> bytes;
  if (images.dtype() == DType::u8) {
    bytes = images.to_host<std::uint8_t>();
  } else {
    floats = images.to_host<float>();
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t offset = static_cast<std::size_t>(i) * size;
    if (floats.empty()) {
      const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
      image.pixels.assign(begin, begin + static_cast<std::ptrdiff_t>(size));
    } else {
      image.pixels = to_bytes(std::span(floats).subspan(offset, size), range);
    }
    add(many ? std::string(name) + "/" + std::to_string(i) : std::string(name), image);
  }
}

void Summaries::text(std::string_view name, std::string markdown) {
  if (wanted_) add(name, std::move(markdown));
}

}  // namespace trivet
