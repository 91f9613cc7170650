// SPDX-License-Identifier: Apache-2.0
#include "data/sources/mixture.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "trivet/error.h"

namespace trivet::data {

void MixtureConfig::validate(Diagnostics& diagnostics) const {
  if (sources.empty()) diagnostics.add("sources", "is empty");
  const auto has_rate = [](const MixtureItem& item) { return item.rate.has_value(); };
  if (std::ranges::any_of(sources, has_rate) && !std::ranges::all_of(sources, has_rate)) {
    diagnostics.add("sources", "some have a rate and some do not",
                    "set all rates, or none to mix by the numbers of examples");
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string features = joined_path(joined_path("sources", i), "features");
    for (const auto& [name, text] : sources[i].features) {
      check_template(diagnostics, joined_path(features, name), text);
    }
  }
}

MixtureOrder::MixtureOrder(std::vector<double> rates, std::vector<std::int64_t> counts,
                           Exhausted exhausted)
    : rates_(std::move(rates)),
      counts_(std::move(counts)),
      taken_(rates_.size()),
      credit_(rates_.size()),
      exhausted_(exhausted) {
  for (std::size_t i = 0; i < rates_.size(); ++i) {
    if (counts_[i] == 0) rates_[i] = 0;
  }
}

bool MixtureOrder::ended() const {
  bool any = false, all = true;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    any = any || used_up(i);
    all = all && used_up(i);
  }
  return exhausted_ == Exhausted::stop ? any || all : all;
}

bool MixtureOrder::next(Turn& turn) {
  if (ended()) return false;
  const auto takes_part = [&](std::size_t i) {
    return counts_[i] > 0 && (exhausted_ != Exhausted::continue_ || !used_up(i));
  };
  double all = 0;
  for (std::size_t i = 0; i < rates_.size(); ++i) all += takes_part(i) ? rates_[i] : 0;
  std::size_t chosen = rates_.size();
  for (std::size_t i = 0; i < rates_.size(); ++i) {
    if (!takes_part(i)) continue;
    credit_[i] += rates_[i] / all;
    if (chosen == rates_.size() || credit_[i] > credit_[chosen]) chosen = i;
  }
  credit_[chosen] -= 1;
  turn = {chosen, taken_[chosen] % counts_[chosen]};
  ++taken_[chosen];
  return true;
}

// Examples of one source, with their texts concatenated.
struct Mixture::Kept {
  struct Feature {
    std::string name;
    std::size_t begin, size;
  };
  struct Example {
    std::vector<Feature> features;
    std::string location;
  };
  std::string texts;
  std::vector<Example> examples;

  void add(const SourceExample& example) {
    Example kept{{}, example.location};
    for (const auto& feature : example.features) add(kept, feature.name, feature.text);
    examples.push_back(std::move(kept));
  }
  void add(Example& kept, std::string_view name, std::string_view text) {
    kept.features.push_back({std::string(name), texts.size(), text.size()});
    texts += text;
  }
  SourceExample at(std::int64_t number) const {
    const Example& kept = examples[static_cast<std::size_t>(number)];
    SourceExample example{{}, kept.location};
    for (const Feature& feature : kept.features) {
      example.features.push_back(
          {feature.name, std::string_view(texts).substr(feature.begin, feature.size)});
    }
    return example;
  }
};

Mixture::Mixture(const Config& config) : exhausted_(config.exhausted) {
  for (const MixtureItem& item : config.sources) {
    Item& made = items_.emplace_back(Item{make(item.source), item.rate.value_or(0), {}});
    for (const auto& [name, text] : item.features) {
      made.features.emplace_back(name, TextTemplate(text));
    }
    name_ += (name_.empty() ? "" : ", ") + made.source->name();
  }
  name_ = "a mixture of " + name_;
}

std::uint64_t Mixture::bytes() const {
  std::uint64_t total = 0;
  for (const Item& item : items_) total += item.source->bytes();
  return total;
}

Mixture::Kept Mixture::keep(const Item& item) {
  Kept kept;
  item.source->read([&](const SourceExample& example) {
    if (item.features.empty()) return kept.add(example);
    Kept::Example made{{}, example.location};
    for (const auto& [name, text] : item.features) kept.add(made, name, text.fill(example));
    kept.examples.push_back(std::move(made));
  });
  return kept;
}

void Mixture::read(const Visit& visit) {
  std::vector<Kept> kept;
  std::vector<double> rates;
  std::vector<std::int64_t> counts;
  for (const Item& item : items_) {
    kept.push_back(keep(item));
    counts.push_back(std::ssize(kept.back().examples));
    rates.push_back(item.rate > 0 ? item.rate : static_cast<double>(counts.back()));
  }
  MixtureOrder order(std::move(rates), std::move(counts), exhausted_);
  for (MixtureOrder::Turn turn; order.next(turn);) visit(kept[turn.source].at(turn.example));
}

}  // namespace trivet::data
