// SPDX-License-Identifier: Apache-2.0
#include "data/augmentation/color_operations.h"

#include <algorithm>
#include <array>
#include <vector>

namespace trivet::data {
namespace {

using Table = std::array<std::uint8_t, 256>;

template <class Function>
Table table_of(const Function& function) {
  Table table{};
  for (int value = 0; value < 256; ++value) {
    table[static_cast<std::size_t>(value)] = static_cast<std::uint8_t>(function(value));
  }
  return table;
}

void look_up(const Table& table, ImageBytes image) {
  for (std::uint8_t& value : image.values) value = table[value];
}

// The same of one channel.
void look_up(const Table& table, ImageBytes image, std::int64_t channel) {
  const auto step = static_cast<std::size_t>(image.channels);
  for (auto i = static_cast<std::size_t>(channel); i < image.values.size(); i += step) {
    image.values[i] = table[image.values[i]];
  }
}

std::array<std::int64_t, 256> histogram(ImageBytes image, std::int64_t channel) {
  std::array<std::int64_t, 256> counts{};
  const auto step = static_cast<std::size_t>(image.channels);
  for (auto i = static_cast<std::size_t>(channel); i < image.values.size(); i += step) {
    ++counts[image.values[i]];
  }
  return counts;
}

// In float, as PIL computes it.
std::uint8_t blended(int other, int value, float factor) {
  const float mixed = static_cast<float>(other) + factor * static_cast<float>(value - other);
  return static_cast<std::uint8_t>(std::clamp(mixed, 0.0F, 255.0F));
}

int gray_of(const std::uint8_t* pixel) {
  return static_cast<int>((pixel[0] * 19595U + pixel[1] * 38470U + pixel[2] * 7471U + 0x8000U) >>
                          16);
}

// Smooths row `above + 1` of three rows, but for its ends.
void smooth_row(const std::uint8_t* above, std::int64_t row, std::int64_t channels,
                std::uint8_t* out) {
  for (std::int64_t i = channels; i < row - channels; ++i) {
    int sum = 4 * above[row + i];
    for (std::int64_t y = 0; y < 3; ++y) {
      const std::uint8_t* at = above + y * row + i;
      sum += at[-channels] + at[0] + at[channels];
    }
    out[i] = static_cast<std::uint8_t>((2 * sum + 13) / 26);
  }
}

}  // namespace

void auto_contrast(ImageBytes image) {
  for (std::int64_t c = 0; c < image.channels; ++c) {
    const auto counts = histogram(image, c);
    int low = 0, high = 255;
    while (low < high && counts[static_cast<std::size_t>(low)] == 0) ++low;
    while (high > low && counts[static_cast<std::size_t>(high)] == 0) --high;
    if (low == high) continue;
    // In double, as PIL computes it.
    const double scale = 255.0 / (high - low), offset = -low * scale;
    look_up(table_of([&](int v) { return std::clamp(v * scale + offset, 0.0, 255.0); }), image, c);
  }
}

void equalize(ImageBytes image) {
  for (std::int64_t c = 0; c < image.channels; ++c) {
    const auto counts = histogram(image, c);
    std::int64_t pixels = 0, highest = 0;
    for (const std::int64_t count : counts) {
      pixels += count;
      if (count > 0) highest = count;
    }
    const std::int64_t step = (pixels - highest) / 255;
    if (step == 0) continue;
    std::int64_t lower = step / 2;
    look_up(table_of([&](int v) {
              const std::int64_t level = lower / step;
              lower += counts[static_cast<std::size_t>(v)];
              return std::min<std::int64_t>(level, 255);
            }),
            image, c);
  }
}

void invert(ImageBytes image) {
  for (std::uint8_t& value : image.values) value = static_cast<std::uint8_t>(255 - value);
}

void posterize(ImageBytes image, int bits) {
  const int mask = 0xff << (8 - bits);
  for (std::uint8_t& value : image.values) value = static_cast<std::uint8_t>(value & mask);
}

void solarize(ImageBytes image, int threshold) {
  look_up(table_of([&](int v) { return v < threshold ? v : 255 - v; }), image);
}

void solarize_add(ImageBytes image, int addition) {
  look_up(table_of([&](int v) { return v < 128 ? std::min(v + addition, 255) : v; }), image);
}

void brightness(ImageBytes image, float factor) {
  look_up(table_of([&](int v) { return blended(0, v, factor); }), image);
}

void contrast(ImageBytes image, float factor) {
  std::int64_t sum = 0;
  const std::int64_t pixels = image.height * image.width;
  const std::uint8_t* at = image.values.data();
  for (std::int64_t i = 0; i < pixels; ++i) {
    sum += image.channels == 3 ? gray_of(at + 3 * i) : at[i];
  }
  const int mean = static_cast<int>((2 * sum + pixels) / (2 * pixels));
  look_up(table_of([&](int v) { return blended(mean, v, factor); }), image);
}

void color(ImageBytes image, float factor) {
  if (image.channels != 3) return;
  std::uint8_t* at = image.values.data();
  for (const std::uint8_t* end = at + image.values.size(); at != end; at += 3) {
    const int gray = gray_of(at);
    for (int c = 0; c < 3; ++c) at[c] = blended(gray, at[c], factor);
  }
}

void sharpness(ImageBytes image, float factor) {
  const std::int64_t row = image.width * image.channels;
  const std::vector<std::uint8_t> from(image.values.begin(), image.values.end());
  std::vector<std::uint8_t> smooth(static_cast<std::size_t>(row));
  for (std::int64_t y = 1; y + 1 < image.height; ++y) {
    smooth_row(from.data() + (y - 1) * row, row, image.channels, smooth.data());
    std::uint8_t* out = image.values.data() + y * row;
    for (std::int64_t i = image.channels; i < row - image.channels; ++i) {
      out[i] = blended(smooth[static_cast<std::size_t>(i)], out[i], factor);
    }
  }
}

}  // namespace trivet::data
