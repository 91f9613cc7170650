// SPDX-License-Identifier: Apache-2.0
// data/Mixture: interleaves the examples of several sources.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/sources/source_config.h"
#include "data/sources/text_template.h"
#include "trivet/data_source.h"

namespace trivet::data {

// Decides which source gives the next example, see MixtureConfig.
class MixtureOrder {
 public:
  // `counts`: the examples of each source. A source without examples is ignored.
  MixtureOrder(std::vector<double> rates, std::vector<std::int64_t> counts, Exhausted exhausted);

  struct Turn {
    std::size_t source = 0;
    std::int64_t example = 0;  // of the source
  };
  // False at the end of a pass.
  bool next(Turn& turn);

 private:
  bool used_up(std::size_t source) const { return taken_[source] >= counts_[source]; }
  bool ended() const;

  std::vector<double> rates_;
  std::vector<std::int64_t> counts_;
  std::vector<std::int64_t> taken_;  // per source
  std::vector<double> credit_;       // examples owed to each source
  Exhausted exhausted_;
};

// Keeps the texts of all sources in memory while it reads them, since it cannot control the order
// in which a source yields examples.
class Mixture final : public DataSource {
 public:
  using Config = MixtureConfig;
  explicit Mixture(const Config& config);

  const std::string& name() const override { return name_; }
  std::uint64_t bytes() const override;
  void read(const Visit& visit) override;

 private:
  struct Item {
    std::unique_ptr<DataSource> source;
    double rate = 0;  // 0: use the number of examples
    std::vector<std::pair<std::string, TextTemplate>> features;
  };
  struct Kept;
  static Kept keep(const Item& item);

  std::vector<Item> items_;
  std::string name_;
  Exhausted exhausted_;
};

}  // namespace trivet::data
