// SPDX-License-Identifier: Apache-2.0
#include "trivet/layer/extend_step.h"

#include <vector>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "trivet/error.h"
#include "trivet/extensions/next_token.h"
#include "trivet/ops.h"

namespace extend_step_test {
namespace {

using namespace trivet;
using Catch::Contains;

// Remembers nothing and cannot give positions back.
class Forgets final : public LayerCache {
 public:
  void reorder(std::span<const std::int32_t>) override {}
};

// The logits of a token are its id and the number of ids before it.
class Counts final : public NextToken {
 public:
  std::int64_t vocabulary_size() const override { return 2; }
  std::int64_t longest_sequence() const override { return 0; }
  std::unique_ptr<LayerCache> make_cache(std::int64_t, std::int64_t) const override {
    return nullptr;
  }
  bool sees_whole_prompt() const override { return false; }
  Tensor next_logits(const Tensor& ids, LayerCache*, FpropContext&) const override {
    std::vector<float> logits;
    const auto all = ids.to_host<std::int32_t>();
    for (std::int64_t row = 0; row < ids.dim(0); ++row) {
      logits.push_back(
          static_cast<float>(all[static_cast<std::size_t>((row + 1) * ids.dim(1) - 1)]));
      logits.push_back(static_cast<float>(seen_));
    }
    seen_ += ids.dim(1);
    return Tensor::from<float>(ids.device(), logits, {ids.dim(0), 2});
  }

 private:
  mutable std::int64_t seen_ = 0;
};

}  // namespace

TEST_CASE("a buffer gives its last positions back, and takes others after that") {
  for (const test::NamedBackend& backend : test::named_backends()) {
    const auto device = test::open(backend);
    SequenceBuffer buffer(*device, 2, 4, {});
    buffer.append(Tensor::from<float>(*device, std::vector<float>{1, 2, 3, 5, 6, 7}, {2, 3}));
    buffer.remove_last(2);
    CHECK(buffer.values().to_host<float>() == std::vector<float>{1, 5});
    buffer.append_zeros(1);  // not what was there
    buffer.append(Tensor::from<float>(*device, std::vector<float>{8, 9}, {2, 1}));
    CHECK(buffer.values().to_host<float>() == std::vector<float>{1, 0, 8, 5, 0, 9});
    buffer.remove_last(0);
    CHECK(buffer.length() == 3);
    CHECK_THROWS_WITH(buffer.remove_last(4), Contains("at most 3 positions to remove"));
    CHECK_THROWS_WITH(buffer.remove_last(-1), Contains("at most 3 positions to remove"));
  }
}

TEST_CASE("a cache that does not say how gives no positions back") {
  Forgets cache;
  CHECK_FALSE(cache.can_remove_last());
  CHECK_THROWS_WITH(cache.remove_last(1), Contains("cannot give back positions"));
}

TEST_CASE("the logits of several tokens are by default those of one after another") {
  const auto device = test::open_any();
  const Tensor ids =
      Tensor::from<std::int32_t>(*device, std::vector<std::int32_t>{4, 5, 6, 7, 8, 9}, {2, 3});
  Forgets cache;
  FpropContext context;
  const Tensor logits = Counts().all_logits(ids, cache, context);
  CHECK(logits.shape() == Shape{2, 3, 2});
  CHECK(logits.to_host<float>() == std::vector<float>{4, 0, 5, 1, 6, 2, 7, 0, 8, 1, 9, 2});
}

}  // namespace extend_step_test
