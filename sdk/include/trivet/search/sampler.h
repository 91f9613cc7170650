// SPDX-License-Identifier: Apache-2.0
// Sampler: the strategy of a search for hyper-parameters; it says where the next trial is made.
//
// Example (sdk/examples/snippets/search.cpp#sampler):
//
//   search::SamplerContext context{.space = space, .goal = Goal::min, .seed = 1};
//   auto sampler = trivet::make(config.sampler, context);  // "search/Tpe"
//   search::SearchPoint point = sampler->ask(number, history);
//
// A sampler keeps nothing between two calls: the list of trials is the whole state of a search. The
// same space, goal, seed, number and history give the same point, so a restarted search continues
// exactly. The caller owns the list and stores it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/object.h"
#include "trivet/plugin/registry.h"
#include "trivet/search/search_space.h"
#include "trivet/search/trial.h"

namespace trivet::search {

struct SamplerConfig {};
TRIVET_CONFIG(SamplerConfig, trivet::NoBase)

struct SamplerContext {
  SearchSpace space;
  Goal goal = Goal::min;  // of the first objective
  std::int64_t seed = 0;
  std::vector<Goal> goals{};  // of all objectives; may be empty where there is one

  std::vector<Goal> all_goals() const { return goals.empty() ? std::vector{goal} : goals; }
};

class TRIVET_API Sampler : public Object {
 public:
  static constexpr std::string_view kKind = "sampler";
  using Config = SamplerConfig;
  using Context = SamplerContext;

  ~Sampler() override;
  // The point of trial `number`. `history` holds all trials asked for before: first those that
  // ended, in the order in which they did, then those that run. Throws Error for a point in it that
  // the space does not have. [any-thread]
  virtual SearchPoint ask(std::int64_t number, std::span<const Trial> history) const = 0;

  // A search refuses a sampler for what it does not take: several objectives, and spaces of which
  // some dimensions have conditions (SearchSpace::is_conditional). Default: false. [any-thread]
  virtual bool takes_several_objectives() const;
  virtual bool takes_conditions() const;
};

}  // namespace trivet::search
