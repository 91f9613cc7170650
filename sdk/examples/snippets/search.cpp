// SPDX-License-Identifier: Apache-2.0
// What trivet/search/sampler.h and stopper.h show: the next trial of a search, and the end of one.
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/config.h>
#include <trivet/search/sampler.h>
#include <trivet/search/stopper.h>

#include "fixtures.h"

namespace search_example {

using namespace trivet;

namespace {

struct SearchConfig {
  ConfigOf<search::Sampler> sampler = "search/Tpe";
  ConfigOf<search::Stopper> stopper = "search/Median";
};

search::SearchSpace rates() {
  Map<search::DimensionConfig> dimensions;
  dimensions["trainer.learning_rate"].log_uniform = {1e-5, 1e-1};
  return search::SearchSpace(dimensions);
}

// One measurement, at step 10.
search::Trial measured(std::int64_t number, double value, search::TrialState state) {
  return {.number = number,
          .state = state,
          .point = {},
          .value = {},
          .measurements = {{.step = 10, .value = value}}};
}

}  // namespace

TEST_CASE("example: a sampler says where the next trial is made") {
  snippets::use_plugin("search");
  const SearchConfig config;
  const search::SearchSpace space = rates();
  const std::vector<search::Trial> history;
  const std::int64_t number = 0;
  // [sampler]
  search::SamplerContext context{.space = space, .goal = Goal::min, .seed = 1};
  auto sampler = trivet::make(config.sampler, context);  // "search/Tpe"
  search::SearchPoint point = sampler->ask(number, history);
  // [/sampler]
  REQUIRE(point.size() == 1);
  CHECK(point[0].first == "trainer.learning_rate");
  CHECK(point[0].second.as_float() >= 1e-5);
  CHECK(point[0].second.as_float() <= 1e-1);
  CHECK(point == trivet::make(config.sampler, context)->ask(number, history));
}

TEST_CASE("example: a stopper ends a trial that is worse than the others") {
  snippets::use_plugin("search");
  const SearchConfig config;
  std::vector<search::Trial> trials;
  for (int i = 0; i < 5; ++i) trials.push_back(measured(i, 0.9, search::TrialState::complete));
  trials.push_back(measured(5, 0.5, search::TrialState::running));
  const search::Trial& trial = trials.back();
  std::vector<std::int64_t> stopped;
  const auto stop = [&](const search::Trial& ended, const std::string&) {
    stopped.push_back(ended.number);
  };
  // [stopper]
  search::StopperContext context{.goal = Goal::max};
  auto stopper = trivet::make(config.stopper, context);  // "search/Median"
  if (const auto reason = stopper->should_stop(trial, trials)) stop(trial, *reason);
  // [/stopper]
  CHECK(stopped == std::vector<std::int64_t>{5});
}

}  // namespace search_example
