// SPDX-License-Identifier: Apache-2.0
// data/Mixture: examples of several sources by rates. Orders are computed by hand.
#include "data/sources/mixture.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <catch2/catch.hpp>

#include "plugins/config_round_trip.h"
#include "plugins/data/files.h"
#include "support/plugins.h"
#include "support/property.h"

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using data::Exhausted;
using Texts = std::vector<std::string>;

namespace {

// "a0 b0 a1": the turns of a pass.
std::string turns(std::vector<double> rates, std::vector<std::int64_t> counts,
                  Exhausted exhausted) {
  data::MixtureOrder order(std::move(rates), std::move(counts), exhausted);
  std::string text;
  for (data::MixtureOrder::Turn turn; order.next(turn);) {
    text += (text.empty() ? "" : " ") + std::string(1, static_cast<char>('a' + turn.source)) +
            std::to_string(turn.example);
  }
  return text;
}

struct MixtureFolder {
  MixtureFolder() { use_plugin("data"); }
  void add(const std::string& lines, std::optional<double> rate = {}) {
    const auto file = dir.write(std::to_string(config.sources.size()) + ".jsonl", lines);
    data::MixtureItem item;
    item.source = {"data/Jsonl", Value::table({{"files", Value::array({file.string()})}})};
    item.rate = rate;
    config.sources.push_back(item);
  }
  Texts texts() const {
    Texts seen;
    data::Mixture mixture(config);
    mixture.read([&](const SourceExample& example) {
      std::string text = example.location.substr(example.location.rfind('/') + 1);
      for (const auto& feature : example.features) {
        text += " " + std::string(feature.name) + "=" + std::string(feature.text);
      }
      seen.push_back(text);
    });
    return seen;
  }
  TempDir dir;
  data::MixtureConfig config;
};

}  // namespace

TEST_CASE("the next example comes from the source furthest behind its share", "[data-mixture]") {
  CHECK(turns({2, 1}, {4, 2}, Exhausted::continue_) == "a0 b0 a1 a2 b1 a3");
  CHECK(turns({1, 1, 2}, {2, 2, 4}, Exhausted::continue_) == "c0 a0 b0 c1 c2 a1 b1 c3");
  CHECK(turns({5}, {3}, Exhausted::stop) == "a0 a1 a2");
}

TEST_CASE("an exhausted source stops, leaves or repeats as configured", "[data-mixture]") {
  CHECK(turns({1, 1}, {2, 3}, Exhausted::stop) == "a0 b0 a1");
  CHECK(turns({1, 1}, {2, 3}, Exhausted::continue_) == "a0 b0 a1 b1 b2");
  CHECK(turns({1, 1}, {2, 3}, Exhausted::repeat) == "a0 b0 a1 b1 a0 b2");
  // A source without examples is ignored.
  for (const auto exhausted : {Exhausted::stop, Exhausted::continue_, Exhausted::repeat}) {
    CHECK(turns({1, 1}, {0, 2}, exhausted) == "b0 b1");
    CHECK(turns({1}, {0}, exhausted) == "");
  }
}

TEST_CASE("at every location sources have had about their shares", "[data-mixture]") {
  check_property([](const std::vector<std::uint8_t>& given) {
    std::vector<double> rates;
    for (const std::uint8_t rate : given) rates.push_back(1 + rate);
    if (rates.empty()) return;
    double all = 0;
    for (const double rate : rates) all += rate;
    std::vector<std::int64_t> taken(rates.size());
    data::MixtureOrder order(rates, std::vector<std::int64_t>(rates.size(), 1000),
                             Exhausted::repeat);
    data::MixtureOrder::Turn turn;
    for (int n = 1; n <= 500; ++n) {
      RC_ASSERT(order.next(turn));
      RC_ASSERT(turn.example == taken[turn.source]++);
      for (std::size_t i = 0; i < rates.size(); ++i) {
        RC_ASSERT(std::abs(static_cast<double>(taken[i]) - n * rates[i] / all) <
                  std::max<double>(2, static_cast<double>(rates.size()) / 2));
      }
    }
  });
}

TEST_CASE("continue uses every example once, repeat leaves none out", "[data-mixture]") {
  check_property([](const std::vector<std::uint8_t>& given, bool repeat) {
    std::vector<double> rates;
    std::vector<std::int64_t> counts;
    for (const std::uint8_t x : given) {
      rates.push_back(1 + x % 7);
      counts.push_back(x / 8);
    }
    std::map<std::pair<std::size_t, std::int64_t>, int> seen;
    data::MixtureOrder order(rates, counts, repeat ? Exhausted::repeat : Exhausted::continue_);
    for (data::MixtureOrder::Turn turn; order.next(turn);) ++seen[{turn.source, turn.example}];
    for (std::size_t i = 0; i < counts.size(); ++i) {
      for (std::int64_t example = 0; example < counts[i]; ++example) {
        const auto found = seen.find({i, example});
        RC_ASSERT(found != seen.end());
        if (!repeat) RC_ASSERT(found->second == 1);
      }
    }
  });
}

TEST_CASE("a mixture yields its sources' examples, renamed if configured", "[data-mixture]") {
  MixtureFolder folder;
  folder.add("{\"text\": \"a\"}\n{\"text\": \"b\"}\n", 1);
  folder.add("{\"q\": \"c\", \"a\": \"d\"}\n", 1);
  folder.config.sources[1].features["text"] = "{q} {a}";
  const Texts once = folder.texts();
  CHECK(once == Texts{"0.jsonl:1 text=a", "1.jsonl:1 text=c d", "0.jsonl:2 text=b"});
  data::Mixture mixture(folder.config);
  CHECK_THAT(mixture.name(), Contains("0.jsonl") && Contains("1.jsonl"));
  CHECK(mixture.bytes() == 49);
}

TEST_CASE("the plugin offers data/Mixture and the sources that it mixes", "[data-mixture]") {
  MixtureFolder folder;
  folder.add("{\"t\": 1}\n");
  const auto made = make(ConfigOf<DataSource>("data/Mixture", encode(folder.config)));
  CHECK_THAT(made->name(), Contains("a mixture of"));
  const Value files = Value::table({{"files", Value::array({(folder.dir / "*").string()})}});
  for (const char* key : {"data/Jsonl", "data/TextFiles", "data/TfRecord"}) {
    INFO(key);
    CHECK(make(ConfigOf<DataSource>(key, files))->bytes() == 9);
  }
}

TEST_CASE("without rates a mixture goes by numbers of examples", "[data-mixture]") {
  MixtureFolder folder;
  folder.add("{\"t\": 1}\n{\"t\": 2}\n{\"t\": 3}\n{\"t\": 4}\n");
  folder.add("{\"t\": 5}\n{\"t\": 6}\n");
  CHECK(folder.texts() == Texts{"0.jsonl:1 t=1", "1.jsonl:1 t=5", "0.jsonl:2 t=2", "0.jsonl:3 t=3",
                                "1.jsonl:2 t=6", "0.jsonl:4 t=4"});
}

TEST_CASE("the config of data/Mixture survives the way to a file, and its rules hold",
          "[data-mixture]") {
  MixtureFolder folder;
  folder.add("{}\n", 0.5);
  folder.add("{}\n", 2);
  folder.config.sources[0].features["targets"] = "{a}";
  folder.config.exhausted = Exhausted::stop;
  check_round_trip(folder.config);
  folder.config.sources[1].rate.reset();
  folder.config.sources[0].features["targets"] = "{a";
  Diagnostics diagnostics;
  folder.config.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 2);
  CHECK(diagnostics.list()[0].path == "sources");
  CHECK(diagnostics.list()[1].path == "sources[0].features.targets");
  Diagnostics none;
  data::MixtureConfig().validate(none);
  CHECK(none.list().size() == 1);
}
