// SPDX-License-Identifier: Apache-2.0
// The shipped backends pass the conformance kit, and the kit detects faults.

#include "cpu/backend.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <Random123/threefry.h>
#include <catch2/catch.hpp>
#include <hwy/targets.h>

#include <trivet/testing/backend_conformance.h>

#include "tiny/backend.h"

namespace {

using trivet::testing::BackendCheckOptions;
using trivet::testing::BackendReport;
using trivet::testing::check_backend;

TEST_CASE("tiny/Backend passes the conformance kit", "[backend]") {
  const auto report = check_backend(tiny::get());
  INFO(report.text());
  CHECK(report.checks.size() > 900);
  CHECK(report.passed());
}

TEST_CASE("cpu/Highway passes the conformance kit", "[slow][backend]") {
  const auto report = check_backend(cpu::get());
  INFO(report.text());
  CHECK(report.checks.size() > 1300);
  CHECK(report.absent.size() < 10);
  CHECK(report.passed());
}

// Makes the kernels of one instruction set run during its lifetime.
class InstructionSet {
 public:
  explicit InstructionSet(std::int64_t target) { choose(target); }
  InstructionSet(const InstructionSet&) = delete;
  InstructionSet& operator=(const InstructionSet&) = delete;
  ~InstructionSet() { choose(0); }

 private:
  static void choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
  }
};

TEST_CASE("products, attention and recurrence agree with float64 on every instruction set",
          "[slow][backend]") {
  std::size_t sets = 0;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const InstructionSet set(target);
    for (const char* only : {"matmul", "linear_fwd", "linear_bwd", "linear_xent", "attention_fwd",
                             "attention_bwd", "conv2d", "lstm", "gru"}) {
      BackendCheckOptions options;
      options.only = only;
      const auto report = check_backend(cpu::get(), options);
      INFO(hwy::TargetName(target) << ": " << report.text());
      CHECK(!report.checks.empty());
      CHECK(report.passed());
    }
    ++sets;
  }
  CHECK(sets > 0);  // one where sanitizers watch
}

const tv_host kQuietHost = [] {
  tv_host host = {};
  host.struct_size = sizeof(host);
  host.api_version = TV_BACKEND_API_VERSION;
  host.set_error = [](const tv_host*, const char*) {};
  host.parallel_for = [](const tv_host*, std::int64_t n, std::int64_t, auto fn, void* arg) {
    fn(arg, 0, n, 0);
  };
  host.max_workers = 1;
  return host;
}();

TEST_CASE("cpu/Highway asks for huge pages for large memory", "[backend]") {
  const tv_backend* table = cpu::get();
  tv_ctx* context = nullptr;
  REQUIRE(table->open(0, nullptr, 0, &kQuietHost, &context) == TV_OK);
  // Whether the page of the address is of memory for which huge pages were asked ("hg").
  const auto asked = [](const void* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    std::ifstream maps("/proc/self/smaps");
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
      std::uintptr_t begin = 0, end = 0;
      const bool starts = std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2;
      if (starts) inside = begin <= at && at < end;
      if (inside && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
    }
    return false;
  };
  const bool there = std::filesystem::exists("/sys/kernel/mm/transparent_hugepage/enabled");
  constexpr std::uint64_t kHuge = 2 << 20;
  void *large = nullptr, *small = nullptr, *none = nullptr;
  REQUIRE(table->alloc(context, 3 * kHuge + kHuge / 2, &large) == TV_OK);
  REQUIRE(table->alloc(context, 100, &small) == TV_OK);
  CHECK(reinterpret_cast<std::uintptr_t>(large) % kHuge == 0);
  CHECK(asked(large) == there);
  CHECK(asked(static_cast<char*>(large) + 3 * kHuge - 1) == there);
  for (const std::uint64_t most : {UINT64_MAX, UINT64_MAX - kHuge + 1}) {
    CHECK(table->alloc(context, most, &none) == TV_OUT_OF_MEMORY);
    CHECK(none == nullptr);
  }
  table->free(context, large);
  table->free(context, small);
  table->close(context);
}

// 20 pairs of words from a counter on.
void check_threefry(const tv_backend& table, tv_ctx* context, std::uint64_t key,
                    std::uint64_t counter) {
  std::uint32_t words[40] = {};
  tv_view out = {};
  out.data = words, out.rank = 1, out.shape[0] = 40, out.stride[0] = 1, out.dtype = TV_U32;
  REQUIRE(table.rng_bits(context, &out, key, 2 * counter) == TV_OK);
  for (std::uint64_t i = 0; i < 20; ++i) {
    const std::uint64_t at = counter + i;
    const threefry2x32_ctr_t from = {
        {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at >> 32)}};
    const threefry2x32_key_t with = {
        {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)}};
    const auto want = threefry2x32_R(20, from, with);
    CHECK(words[2 * i] == want.v[0]);
    CHECK(words[2 * i + 1] == want.v[1]);
  }
}

TEST_CASE("cpu/Highway draws the bits of Random123's Threefry-2x32-20", "[backend]") {
  const tv_backend* table = cpu::get();
  tv_ctx* context = nullptr;
  REQUIRE(table->open(0, nullptr, 0, &kQuietHost, &context) == TV_OK);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const InstructionSet set(target);
    INFO(hwy::TargetName(target));
    for (const std::uint64_t key : {0ull, 1ull, 0x13198a2e03707344ull, ~0ull}) {
      for (const std::uint64_t counter :
           {0ull, 0xfffffff0ull, 0xfffffffdull, 0x7123456789abcdefull}) {
        check_threefry(*table, context, key, counter);
      }
    }
  }
  table->close(context);
}

// Checks one function of a changed copy of tiny's table.
template <typename Change>
BackendReport check_changed(const std::string& only, Change change) {
  tv_backend table = *tiny::get();
  change(table);
  BackendCheckOptions options;
  options.only = only;
  return check_backend(&table, options);
}

bool says(const BackendReport& report, const std::string& text) {
  return std::any_of(report.checks.begin(), report.checks.end(), [&](const auto& check) {
    return !check.passed && check.message.find(text) != std::string::npos;
  });
}

TEST_CASE("the conformance kit names a mandatory function that is missing", "[backend]") {
  const auto report = check_changed("", [](tv_backend& t) { t.select = nullptr; });
  CHECK(says(report, "missing: select"));
}

TEST_CASE("the conformance kit treats functions beyond struct_size as missing", "[backend]") {
  const auto report = check_changed(
      "", [](tv_backend& t) { t.struct_size = offsetof(tv_backend, scatter_add_rows); });
  CHECK(says(report, "missing: scatter_add_rows"));
}

TEST_CASE("the conformance kit notices a wrong value", "[backend]") {
  const auto report = check_changed("binary", [](tv_backend& t) {
    t.binary = [](tv_ctx* ctx, tv_binary_op op, const tv_view* out, const tv_view* a,
                  const tv_view* b) {
      return tiny::get()->binary(ctx, op == TV_SUB ? TV_ADD : op, out, a, b);
    };
  });
  CHECK(says(report, "element"));
  CHECK(std::all_of(report.checks.begin(), report.checks.end(), [](const auto& check) {
    return check.passed || check.function != "binary" || check.subject.starts_with("sub");
  }));
}

TEST_CASE("the conformance kit detects a write past an output", "[backend]") {
  const auto report = check_changed("fill", [](tv_backend& t) {
    t.fill = [](tv_ctx* ctx, const tv_view* dst, double value) {
      tv_view longer = *dst;
      if (longer.rank > 0) longer.shape[0] += 1;
      return tiny::get()->fill(ctx, &longer, value);
    };
  });
  CHECK(says(report, "bytes after an output were written"));
}

TEST_CASE("the conformance kit notices an input that was changed", "[backend]") {
  const auto report = check_changed("unary", [](tv_backend& t) {
    t.unary = [](tv_ctx* ctx, tv_unary_op op, const tv_view* out, const tv_view* x) {
      const tv_status status = tiny::get()->unary(ctx, op, out, x);
      tiny::get()->copy(ctx, x, out);
      return status;
    };
  });
  CHECK(says(report, "an input was written"));
}

TEST_CASE("the conformance kit notices results that differ from call to call", "[backend]") {
  const auto report = check_changed("reduce", [](tv_backend& t) {
    t.reduce = [](tv_ctx* ctx, tv_reduce_op op, const tv_view* out, const tv_view* x) {
      static int calls = 0;
      const tv_status status = tiny::get()->reduce(ctx, op, out, x);
      const bool last_bit = ++calls % 2 == 0 && op == TV_REDUCE_SUM && out->shape[0] > 0;
      if (last_bit && out->shape[1] > 0) *static_cast<unsigned*>(out->data) ^= 1u;
      return status;
    };
  });
  CHECK(says(report, "other bits"));
}

TEST_CASE("the conformance kit notices TV_UNSUPPORTED after a write", "[backend]") {
  const auto report = check_changed("gather_rows", [](tv_backend& t) {
    t.gather_rows = [](tv_ctx* ctx, const tv_view* out, const tv_view* table, const tv_view* idx) {
      const tv_status status = tiny::get()->gather_rows(ctx, out, table, idx);
      return status == TV_OK ? tv_status{TV_UNSUPPORTED} : status;
    };
  });
  CHECK(says(report, "TV_UNSUPPORTED, but"));
}

TEST_CASE("the conformance kit notices a mandatory function that declines f32", "[backend]") {
  const auto report = check_changed("matmul", [](tv_backend& t) {
    t.matmul = [](tv_ctx*, const tv_matmul*) { return tv_status{TV_UNSUPPORTED}; };
  });
  CHECK(says(report, "mandatory"));
}

TEST_CASE("the conformance kit detects a missing index error", "[backend]") {
  const auto report = check_changed("gather_rows", [](tv_backend& t) {
    t.gather_rows = [](tv_ctx*, const tv_view*, const tv_view*, const tv_view*) {
      return tv_status{TV_OK};
    };
  });
  CHECK(says(report, "instead of TV_ERROR"));
}

TEST_CASE("the conformance kit detects an accepted invalid class", "[backend]") {
  tv_backend table = *cpu::get();
  table.softmax_xent = [](tv_ctx* ctx, const tv_softmax_xent* d) {
    std::vector<std::int32_t> targets(d->targets, d->targets + d->rows);
    for (auto& target : targets) target = target < d->classes ? target : -1;
    tv_softmax_xent lenient = *d;
    lenient.targets = targets.data();
    return cpu::get()->softmax_xent(ctx, &lenient);
  };
  BackendCheckOptions options;
  options.only = "softmax_xent";
  const auto report = check_backend(&table, options);
  CHECK(says(report, "instead of TV_ERROR"));
  CHECK(report.failures() == 2);  // forward and gradient
}

TEST_CASE("the conformance kit accepts an index error of queued work at the next sync",
          "[backend]") {
  static bool failed;
  failed = false;
  const auto report = check_changed("gather_rows", [](tv_backend& t) {
    t.gather_rows = [](tv_ctx* ctx, const tv_view* out, const tv_view* table, const tv_view* idx) {
      failed = tiny::get()->gather_rows(ctx, out, table, idx) == TV_ERROR;
      return tv_status{TV_OK};
    };
    t.sync = [](tv_ctx*) { return tv_status{std::exchange(failed, false) ? TV_ERROR : TV_OK}; };
  });
  INFO(report.text());
  CHECK(report.passed());
}

}  // namespace
