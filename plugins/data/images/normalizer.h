// SPDX-License-Identifier: Apache-2.0
// (value * scale - mean) / std, with one mean and std for all values or one per channel.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/images/image_config.h"

namespace trivet::data {

class Normalizer {
 public:
  // `channels` is the last extent of an example. Throws InputError naming `name` when the config
  // has neither one number nor one per channel.
  Normalizer(const DatasetConfig& config, double default_scale, std::int64_t channels,
             const std::string& name);

  // Bytes, through a table of their 256 results for each channel: exactly rounded, so the same bits
  // everywhere, and as fast as memory. Sizes are equal, multiples of the channels.
  void bytes(std::span<const std::uint8_t> in, std::span<float> out) const;

  // Any other value, of channel index % channels.
  float one(double value, std::size_t index) const {
    const Channel& channel = channels_[channels_.size() == 1 ? 0 : index % channels_.size()];
    return static_cast<float>((value * scale_ - channel.mean) / channel.std);
  }
  bool identity() const;

 private:
  struct Channel {
    double mean, std;
  };
  double scale_;
  std::vector<Channel> channels_;  // one when all are alike
  std::vector<std::array<float, 256>> tables_;
};

}  // namespace trivet::data
