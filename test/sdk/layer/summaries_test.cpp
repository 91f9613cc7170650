// SPDX-License-Identifier: Apache-2.0
// Summaries: stored values, their names, and histograms of hard cases.
#include "trivet/layer/summaries.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <catch2/catch.hpp>

#include "trivet/error.h"

using namespace trivet;

namespace {

std::int64_t total(const Histogram& histogram) {
  return std::accumulate(histogram.counts.begin(), histogram.counts.end(), std::int64_t{0});
}

}  // namespace

TEST_CASE("nothing is computed or kept until it is requested") {
  Summaries summaries;
  summaries.scalar("a", 1);
  summaries.histogram("b", Tensor());
  summaries.images("c", Tensor());
  summaries.text("d", "text");
  CHECK(summaries.entries().empty());
  summaries.want();
  summaries.scalar("a", 1);
  CHECK(summaries.entries().size() == 1);
}

TEST_CASE("a duplicate name gets a number appended") {
  Summaries summaries;
  summaries.want();
  for (int i = 0; i < 3; ++i) summaries.scalar("layer/x", i);
  REQUIRE(summaries.entries().size() == 3);
  CHECK(summaries.entries()[0].name == "layer/x");
  CHECK(summaries.entries()[1].name == "layer/x_1");
  CHECK(summaries.entries()[2].name == "layer/x_2");
  CHECK(std::get<double>(summaries.entries()[2].content) == 2);
}

TEST_CASE("every finite value is in one bucket, for any range") {
  const float most = std::numeric_limits<float>::max();
  const float least = std::numeric_limits<float>::denorm_min();
  const std::vector<float> values = GENERATE_COPY(
      std::vector<float>{-most, 0, most}, std::vector<float>{0, least, 2 * least},
      std::vector<float>{1, std::nextafter(1.F, 2.F)}, std::vector<float>{5}, std::vector<float>{});
  const Histogram histogram = histogram_of(values, 7);
  CHECK(histogram.count == static_cast<std::int64_t>(values.size()));
  CHECK(total(histogram) == histogram.count);
  CHECK(histogram.limits.size() == histogram.counts.size());
  CHECK(std::is_sorted(histogram.limits.begin(), histogram.limits.end()));
  if (!values.empty()) CHECK(histogram.limits.back() == histogram.max);
}

TEST_CASE("a histogram without finite values has no buckets and reports their number") {
  const std::vector<float> values = {std::nanf(""), -std::numeric_limits<float>::infinity()};
  const Histogram histogram = histogram_of(values);
  CHECK(histogram.count == 0);
  CHECK(histogram.not_finite == 2);
  CHECK(histogram.limits.empty());
  CHECK_THROWS_AS(histogram_of(values, 0), Error);
}

TEST_CASE("images of other shapes and types are refused by name") {
  Summaries summaries;
  summaries.want();
  for (const Shape& shape : {Shape{4}, Shape{2, 3, 5}, Shape{0, 2, 2, 1}}) {
    CHECK_THROWS_WITH(summaries.images("pictures", Tensor::host(shape)),
                      Catch::Contains("summary 'pictures'"));
  }
  CHECK_THROWS_AS(summaries.images("x", Tensor::host({1, 2, 2, 1}, DType::i32)), Error);
}

TEST_CASE("bytes are unchanged, and a single image has the plain name") {
  Summaries summaries;
  summaries.want();
  Tensor image = Tensor::host({1, 2, 2}, DType::u8);
  const std::vector<std::uint8_t> pixels = {0, 1, 128, 255};
  std::copy(pixels.begin(), pixels.end(), image.mutable_span<std::uint8_t>().begin());
  summaries.images("one", image);
  REQUIRE(summaries.entries().size() == 1);
  CHECK(summaries.entries()[0].name == "one");
  const auto& kept = std::get<Image>(summaries.entries()[0].content);
  CHECK(kept.pixels == pixels);
  CHECK(kept.height == 1);
  CHECK(kept.width == 2);
  CHECK(kept.channels == 2);
}
