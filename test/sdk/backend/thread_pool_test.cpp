// SPDX-License-Identifier: Apache-2.0
// The pool: pieces, workers, errors, nesting, several callers.
#include "trivet/backend/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "trivet/error.h"

namespace trivet::test {

TEST_CASE("every index is visited once, in pieces that do not depend on the threads", "[tsan]") {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    CHECK(pool.threads() == threads);
    for (const std::int64_t n : {0, 1, 7, 64, 1000}) {
      for (const std::int64_t grain : {1, 3, 64, 2000}) {
        std::vector<std::atomic<int>> visits(static_cast<std::size_t>(n));
        std::atomic<int> wrong{0};
        pool.parallel_for(n, grain, [&](std::int64_t b, std::int64_t e, std::int32_t) {
          if (b % grain != 0 || e != std::min(n, b + grain)) ++wrong;
          for (std::int64_t i = b; i < e; ++i) ++visits[static_cast<std::size_t>(i)];
        });
        CHECK(wrong == 0);
        for (const auto& count : visits) REQUIRE(count == 1);
      }
    }
  }
}

TEST_CASE("no two pieces run at the same time with the same worker", "[tsan]") {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> busy(4);
  std::atomic<int> clashes{0};
  for (int round = 0; round < 200; ++round) {
    pool.parallel_for(64, 1, [&](std::int64_t, std::int64_t, std::int32_t worker) {
      if (busy[static_cast<std::size_t>(worker)]++ != 0) ++clashes;
      --busy[static_cast<std::size_t>(worker)];
    });
  }
  CHECK(clashes == 0);
}

TEST_CASE("the caller and the next region see a region's writes", "[tsan]") {
  ThreadPool pool(3);
  std::vector<std::int64_t> values(1000, 0);  // not atomic on purpose
  for (int round = 0; round < 500; ++round) {
    pool.parallel_for(1000, 10, [&](std::int64_t b, std::int64_t e, std::int32_t) {
      for (std::int64_t i = b; i < e; ++i) values[static_cast<std::size_t>(i)] += i;
    });
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    REQUIRE(values[i] == 500 * static_cast<std::int64_t>(i));
  }
}

TEST_CASE("an error leaves the region as the first by piece, after all pieces ran", "[tsan]") {
  ThreadPool pool(3);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> ran{0};
    const auto run = [&] {
      pool.parallel_for(30, 1, [&](std::int64_t b, std::int64_t, std::int32_t) {
        ++ran;
        if (b >= 10) throw std::runtime_error("piece " + std::to_string(b));
      });
    };
    CHECK_THROWS_WITH(run(), "piece 10");
    CHECK(ran == 30);
  }
  int after = 0;
  pool.parallel_for(1, 1, [&](std::int64_t, std::int64_t, std::int32_t) { ++after; });
  CHECK(after == 1);
}

TEST_CASE("a call from inside a piece runs inline", "[tsan]") {
  ThreadPool pool(2);
  std::atomic<std::int64_t> sum{0};
  std::atomic<int> elsewhere{0};
  pool.parallel_for(8, 1, [&](std::int64_t, std::int64_t, std::int32_t outer) {
    const auto here = std::this_thread::get_id();
    pool.parallel_for(10, 3, [&](std::int64_t b, std::int64_t e, std::int32_t inner) {
      if (std::this_thread::get_id() != here || inner != outer) ++elsewhere;
      sum += e - b;
    });
  });
  CHECK(sum == 80);
  CHECK(elsewhere == 0);
}

TEST_CASE("concurrent calls run one at a time", "[tsan]") {
  ThreadPool pool(2);
  std::vector<std::int64_t> sums(4, 0);
  std::vector<std::thread> callers;
  for (std::size_t c = 0; c < sums.size(); ++c) {
    callers.emplace_back([&, c] {
      for (int round = 0; round < 100; ++round) {
        std::atomic<std::int64_t> sum{0};
        pool.parallel_for(100, 7, [&](std::int64_t b, std::int64_t e, std::int32_t) {
          for (std::int64_t i = b; i < e; ++i) sum += i;
        });
        sums[c] += sum;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const std::int64_t sum : sums) CHECK(sum == 4950 * 100);
}

TEST_CASE("denormals are zero inside a region and unchanged outside", "[tsan]") {
  ThreadPool pool(2);
  volatile float tiny = 1e-30F, factor = 1e-10F;  // the product is a denormal
  std::atomic<int> kept{0};
  pool.parallel_for(64, 1, [&](std::int64_t, std::int64_t, std::int32_t) {
    if (tiny * factor != 0) ++kept;
  });
  CHECK(kept == 0);
  CHECK(tiny * factor != 0);
  {
    FlushDenormals flush;
    CHECK(tiny * factor == 0);
  }
  CHECK(tiny * factor != 0);
}

TEST_CASE("a pool of no sensible size is an error") {
  CHECK_THROWS_AS(ThreadPool(-1), Error);
  CHECK_THROWS_AS(ThreadPool(100000), Error);
  CHECK(ThreadPool(0).threads() >= 1);
}

}  // namespace trivet::test
