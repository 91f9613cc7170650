// SPDX-License-Identifier: Apache-2.0
// Computes (value * scale - mean) / std, with one mean and std for all values or one per channel.
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
  // `channels` is the last extent of an example. Throws InputError with `name` unless the config
  // has one number or one per channel.
  Normalizer(const DatasetConfig& config, double default_scale, std::int64_t channels,
             const std::string& name);

  // Normalizes bytes through a table of 256 results per channel: exactly rounded, so equal on all
  // machines, and as fast as memory. Both sizes are equal and a multiple of the channels.
  void bytes(std::span<const std::uint8_t> in, std::span<float> out) const;

  // Normalizes any other value, of channel index % channels.
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
  std::vector<Channel> channels_;  // one if all channels are equal
  std::vector<std::array<float, 256>> tables_;
};

}  // namespace trivet::data
