// SPDX-License-Identifier: Apache-2.0
// PrefetchInput returns the batches of the inner input, and its state is that of the consumer.
#include "step/prefetch_input.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <catch2/catch.hpp>

#include "../train/train_parts.h"
#include "trivet/error.h"

using namespace trivet;
using Catch::Contains;

namespace {

test::CountConfig ends_after(std::int64_t batches) {
  test::CountConfig config;
  config.batches = batches;
  return config;
}

test::CountConfig fails_at(std::int64_t batch) {
  test::CountConfig config;
  config.fail_at = batch;
  return config;
}

std::unique_ptr<Input> count(test::CountConfig config) {
  config.batch_size = 1;
  InputContext context;
  return std::make_unique<test::CountInput>(config, context);
}

std::unique_ptr<PrefetchInput> prefetched(test::CountConfig config, std::int64_t depth) {
  return std::make_unique<PrefetchInput>(count(config), depth);
}

// The x of the next n batches; -1 is the end.
std::vector<float> take(Input& input, int n) {
  std::vector<float> all;
  for (int i = 0; i < n; ++i) {
    const auto batch = input.get_next();
    all.push_back(batch ? batch->at("x").to_host<float>()[0] : -1);
  }
  return all;
}

}  // namespace

TEST_CASE("prefetching changes neither the batches nor their end", "[tsan]") {
  for (const std::int64_t depth : {1, 2, 64}) {
    const auto input = prefetched(ends_after(4), depth);
    CHECK(input->batches_per_epoch() == 4);
    CHECK(take(*input, 6) == std::vector<float>{0, 1, 2, 3, -1, -1});
    input->reset();
    CHECK(take(*input, 5) == std::vector<float>{0, 1, 2, 3, -1});
  }
}

TEST_CASE("the saved state is that of the consumer, regardless of prefetched batches", "[tsan]") {
  for (int taken = 0; taken <= 6; ++taken) {
    const auto input = prefetched(ends_after(5), 3);
    input->start();
    take(*input, taken);
    const Value state = input->save_state();
    CHECK(state.find("next")->as_integer() == std::min(taken, 5));

    const auto continued = prefetched(ends_after(5), 3);
    continued->restore_state(state);
    std::vector<float> rest;
    for (int i = taken; i < 5; ++i) rest.push_back(static_cast<float>(i));
    rest.push_back(-1);
    CHECK(take(*continued, static_cast<int>(rest.size())) == rest);
  }
}

TEST_CASE("a state restored in the middle discards prefetched batches", "[tsan]") {
  const auto input = prefetched(ends_after(0), 4);
  const Value start = input->save_state();
  take(*input, 3);
  input->restore_state(start);
  CHECK(input->save_state().find("next")->as_integer() == 0);
  CHECK(take(*input, 2) == std::vector<float>{0, 1});
}

TEST_CASE("an error arrives after the batches before it, and stays", "[tsan]") {
  const auto input = prefetched(fails_at(2), 8);
  CHECK(take(*input, 2) == std::vector<float>{0, 1});
  CHECK_THROWS_WITH(input->get_next(), Contains("record 2"));
  CHECK_THROWS_AS(input->get_next(), InputError);
  CHECK(input->save_state().find("next")->as_integer() == 2);
  input->reset();
  CHECK(take(*input, 1) == std::vector<float>{0});
}

TEST_CASE("the input ends cleanly in any state of its thread", "[tsan]") {
  for (int i = 0; i < 50; ++i) {
    const auto input = prefetched(ends_after(0), 1 + i % 3);
    if (i % 2 == 0) input->start();
    take(*input, i % 5);
  }
  SUCCEED("every destructor came back");
}
