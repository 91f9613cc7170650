// SPDX-License-Identifier: Apache-2.0
#include "data/images/normalizer.h"

#include <algorithm>

#include "trivet/error.h"

namespace trivet::data {

Normalizer::Normalizer(const DatasetConfig& config, double default_scale, std::int64_t channels,
                       const std::string& name)
    : scale_(config.scale.value_or(default_scale)) {
  const auto fits = [&](const std::vector<double>& values) {
    return values.size() == 1 || values.size() == static_cast<std::size_t>(channels);
  };
  if (!fits(config.mean) || !fits(config.std)) {
    throw InputError(name + ": mean and std need one number, or one for each of its " +
                     std::to_string(channels) + " channels");
  }
  channels_.resize(std::max(config.mean.size(), config.std.size()));
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    channels_[i] = {config.mean[config.mean.size() == 1 ? 0 : i],
                    config.std[config.std.size() == 1 ? 0 : i]};
  }
  tables_.resize(channels_.size());
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      tables_[i][byte] = one(static_cast<double>(byte), i);
    }
  }
}

void Normalizer::bytes(std::span<const std::uint8_t> in, std::span<float> out) const {
  const std::uint8_t* from = in.data();
  float* to = out.data();
  const std::size_t step = tables_.size();
  for (std::size_t channel = 0; channel < step; ++channel) {
    const float* table = tables_[channel].data();
    for (std::size_t i = channel; i < in.size(); i += step) to[i] = table[from[i]];
  }
}

bool Normalizer::identity() const {
  return scale_ == 1 && channels_.size() == 1 && channels_[0].mean == 0 && channels_[0].std == 1;
}

}  // namespace trivet::data
