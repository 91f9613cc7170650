// SPDX-License-Identifier: Apache-2.0
// What the headers of extensions of models show: the next token, and that of the target of a
// source.
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/extensions/next_token.h>
#include <trivet/extensions/target_decoding.h>
#include <trivet/model.h>
#include <trivet/ops.h>

#include "fixtures.h"

namespace model_extensions_example {

using namespace trivet;

namespace {

constexpr std::int64_t kTokens = 4;

// Says that the token after i is i + shift.
class Counting final : public Model, public NextToken {
 public:
  explicit Counting(std::int64_t shift) : shift_(shift) {}

  // [next_token]
  const void* extension(std::string_view id) const noexcept override {
    return id == kModelNextToken ? static_cast<const NextToken*>(this) : nullptr;
  }
  // [/next_token]

  NestedMap fprop(const Batch&, FpropContext&) override { return {}; }
  std::int64_t vocabulary_size() const override { return kTokens; }
  std::int64_t longest_sequence() const override { return 0; }
  std::unique_ptr<LayerCache> make_cache(std::int64_t, std::int64_t) const override {
    return nullptr;
  }
  bool sees_whole_prompt() const override { return false; }
  Tensor next_logits(const Tensor& ids, LayerCache*, FpropContext&) const override {
    const std::int64_t rows = ids.dim(0), length = ids.dim(1);
    const auto tokens = ids.to_host<std::int32_t>();
    std::vector<float> logits(static_cast<std::size_t>(rows * kTokens));
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto last = tokens[static_cast<std::size_t>((row + 1) * length - 1)];
      logits[static_cast<std::size_t>(row * kTokens + (last + shift_) % kTokens)] = 1;
    }
    return Tensor::from<float>(ids.device(), logits, {rows, kTokens});
  }

 private:
  std::int64_t shift_;
};

// The first token of the source says how far the target counts on.
class Translator final : public Model, public TargetDecoding {
 public:
  // [target_decoding]
  const void* extension(std::string_view id) const noexcept override {
    return id == kModelTargetDecoding ? static_cast<const TargetDecoding*>(this) : nullptr;
  }
  // [/target_decoding]

  NestedMap fprop(const Batch&, FpropContext&) override { return {}; }
  std::shared_ptr<const NextToken> with_sources(std::span<const Tensor> ids) const override {
    return std::make_shared<Counting>(ids.front().to_host<std::int32_t>().front());
  }
};

// The most likely token after `last`.
std::int32_t next_of(Device& device, const NextToken& model, std::int32_t last) {
  FpropContext context;
  const Tensor ids = Tensor::from<std::int32_t>(device, std::vector{last}, {1, 1});
  return ops::argmax(model.next_logits(ids, nullptr, context), 1).to_host<std::int32_t>().front();
}

}  // namespace

TEST_CASE("example: a model tells the next token, also of the target of a source") {
  const auto device = snippets::open_device();
  const Counting counting(1);
  const auto* next = static_cast<const NextToken*>(counting.extension(kModelNextToken));
  REQUIRE(next != nullptr);
  CHECK(next_of(*device, *next, 2) == 3);
  CHECK(counting.extension(kModelTargetDecoding) == nullptr);

  const Translator translator;
  const auto* targets =
      static_cast<const TargetDecoding*>(translator.extension(kModelTargetDecoding));
  REQUIRE(targets != nullptr);
  const Tensor source = Tensor::from<std::int32_t>(*device, std::vector{2, 0}, {1, 2});
  CHECK(next_of(*device, *targets->with_sources({&source, 1}), 1) == 3);
}

}  // namespace model_extensions_example
