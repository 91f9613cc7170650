// SPDX-License-Identifier: Apache-2.0
// The order of examples, which all inputs of the data plugin share: epochs, shuffling, hosts, the
// remainder, saving and restoring.
#include <algorithm>
#include <numeric>

#include <catch2/catch.hpp>

#include "plugins/data/files.h"

namespace data_order_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

namespace {

// Numbered images, which identify the examples of a batch.
class Numbered {
 public:
  explicit Numbered(std::uint32_t n) {
    write_file(dir_.path() / "images", numbered_images(n));
    config.images = (dir_.path() / "images").string();
    config.scale = 1;
    config.batch_size = 8;
  }
  std::unique_ptr<Input> make(Phase phase = Phase::training) const {
    InputContext context{.phase = phase, .name = "input"};
    return std::make_unique<data::IdxInput>(config, context);
  }
  data::IdxConfig config;

 private:
  TempDir dir_;
};

std::vector<std::int64_t> all(std::int64_t n) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::vector<std::int64_t> sorted(std::vector<std::int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

TEST_CASE("without shuffling examples come in the order of the file, padding last") {
  const Numbered data(21);
  const Seen seen = take(*data.make(Phase::evaluation));
  CHECK(seen.examples == all(21));
  CHECK(seen.batches == 3);
  CHECK(seen.padding == 3);
  CHECK(data.make(Phase::evaluation)->batches_per_epoch() == 3);
  const Numbered even(16);
  CHECK(even.make(Phase::evaluation)->batches_per_epoch() == 2);
  CHECK(take(*even.make(Phase::evaluation)).padding == 0);
}

TEST_CASE("padding repeats real examples, with weight 0") {
  const Numbered data(3);
  const auto batch = data.make(Phase::evaluation)->get_next().value();
  const auto pixels = batch.at("image").to_host<float>();
  for (std::size_t i = 0; i < 8; ++i) CHECK(pixels[4 * i] == static_cast<float>(i % 3));
  CHECK(batch.at("weight").to_host<float>() == std::vector<float>{1, 1, 1, 0, 0, 0, 0, 0});
}

TEST_CASE("every example comes exactly once in every epoch, in another order") {
  Numbered data(1001);
  data.config.shuffle = true;
  data.config.seed = 5;
  data.config.epochs = 3;
  const auto input = data.make();
  CHECK(input->batches_per_epoch() == 126);
  std::vector<std::vector<std::int64_t>> orders;
  for (int epoch = 0; epoch < 3; ++epoch) {
    const Seen seen = take(*input, 126);
    CHECK(sorted(seen.examples) == all(1001));
    CHECK(seen.padding == 126 * 8 - 1001);
    orders.push_back(seen.examples);
  }
  CHECK(orders[0] != orders[1]);
  CHECK(orders[1] != orders[2]);
  CHECK(orders[0] != all(1001));
  CHECK_FALSE(input->get_next().has_value());
  CHECK_FALSE(input->get_next().has_value());

  input->reset();
  CHECK(take(*input, 126).examples == orders[0]);
  data.config.seed = 6;
  CHECK(take(*data.make(), 126).examples != orders[0]);
}

TEST_CASE("dropping the remainder leaves only full batches") {
  Numbered data(21);
  data.config.drop_remainder = true;
  const Seen seen = take(*data.make(Phase::evaluation));
  CHECK(seen.examples == all(16));
  CHECK(seen.padding == 0);
  CHECK(data.make(Phase::evaluation)->batches_per_epoch() == 2);
  data.config.batch_size = 22;
  CHECK_THAT(complaint<data::IdxInput>(data.config),
             Contains("21 examples do not fill one batch of 22") && Contains("drop_remainder"));
}

TEST_CASE("training repeats forever by default, evaluation makes one pass") {
  const Numbered data(16);
  CHECK(take(*data.make(Phase::training), 100).batches == 100);
  CHECK(take(*data.make(Phase::evaluation)).batches == 2);
}

TEST_CASE("hosts together produce the global sequence and end together") {
  for (const bool drop : {false, true}) {
    Numbered data(101);
    data.config.shuffle = true;
    data.config.epochs = 2;
    data.config.drop_remainder = drop;
    data.config.batch_size = 16;
    const Seen global = take(*data.make());
    for (const std::int64_t hosts : {1, 2, 4}) {
      data.config.batch_size = 16 / hosts;
      data.config.num_infeed_hosts = hosts;
      std::vector<std::unique_ptr<Input>> inputs;
      for (std::int64_t host = 0; host < hosts; ++host) {
        data.config.infeed_host_index = host;
        inputs.push_back(data.make());
      }
      Seen together;
      for (bool more = true; more;) {
        for (const auto& input : inputs) {
          const auto batch = input->get_next();
          if (input == inputs.front()) more = batch.has_value();
          REQUIRE(batch.has_value() == more);
          if (batch) note(*batch, together);
        }
      }
      CHECK(together.batches == global.batches * hosts);
      together.batches = global.batches;
      CHECK(together == global);
    }
  }
}

TEST_CASE("a batch that is peeked at is not taken") {
  Numbered data(43);
  data.config.shuffle = true;
  data.config.epochs = 2;
  const Seen whole = take(*data.make());
  const auto input = data.make();
  Seen seen;
  for (bool more = true; more;) {
    const auto first = peek(*input), second = peek(*input);
    const Value position = input->save_state();
    const auto batch = input->get_next();
    more = batch.has_value();
    REQUIRE(first.has_value() == more);
    REQUIRE(second.has_value() == more);
    if (!more) break;
    CHECK_FALSE(position == input->save_state());
    note(*batch, seen);
    Seen both[2], taken;
    note(*first, both[0]);
    note(*second, both[1]);
    note(*batch, taken);
    CHECK(both[0] == taken);
    CHECK(both[1] == taken);
  }
  CHECK(seen == whole);
}

TEST_CASE("saved and restored after any batch, a fresh input continues the same sequence") {
  for (const bool drop : {false, true}) {
    Numbered data(43);
    data.config.shuffle = true;
    data.config.epochs = 3;
    data.config.drop_remainder = drop;
    const Seen whole = take(*data.make());
    for (std::int64_t batches = 0; batches <= whole.batches; ++batches) {
      const auto before = data.make();
      Seen seen = take(*before, batches);
      const auto after = data.make();
      after->restore_state(before->save_state());
      CHECK(after->save_state() == before->save_state());
      const Seen rest = take(*after);
      seen.examples.insert(seen.examples.end(), rest.examples.begin(), rest.examples.end());
      CHECK(seen.examples == whole.examples);
      CHECK(seen.padding + rest.padding == whole.padding);
      CHECK(seen.batches + rest.batches == whole.batches);
    }
  }
}

TEST_CASE("a state continues with another number of hosts and another batch size") {
  Numbered data(64);
  data.config.shuffle = true;
  data.config.epochs = 2;
  const auto all_at_once = data.make();
  Seen expected = take(*all_at_once, 3);
  const Value state = all_at_once->save_state();
  expected = take(*all_at_once);
  data.config.batch_size = 4;
  const auto smaller = data.make();
  smaller->restore_state(state);
  CHECK(take(*smaller).examples == expected.examples);
}

TEST_CASE("a state of smaller batches without room for a full one starts the next epoch") {
  Numbered data(21);
  data.config.drop_remainder = true;
  data.config.epochs = 2;
  data.config.batch_size = 4;
  const auto smaller = data.make();
  take(*smaller, 4);  // 16 of 21
  data.config.batch_size = 8;
  const auto larger = data.make();
  larger->restore_state(smaller->save_state());
  CHECK(take(*larger).examples == all(16));
}

TEST_CASE("a state that does not fit the data is refused") {
  const Numbered data(43), other(44);
  const auto input = data.make();
  const Value state = other.make()->save_state();
  CHECK_THAT(input_error([&] { input->restore_state(state); }),
             Contains("saved with 44 examples") && Contains("has 43"));
  CHECK_THAT(input_error([&] { input->restore_state(Value::table()); }), Contains("\"epoch\""));
  Value bad = input->save_state();
  bad.set("position", 43);
  CHECK_THAT(input_error([&] { input->restore_state(bad); }), Contains("past the last example"));
  bad.set("position", -1);
  CHECK_THAT(input_error([&] { input->restore_state(bad); }), Contains("\"position\""));
  bad.set("position", "0");
  CHECK_THAT(input_error([&] { input->restore_state(bad); }), Contains("\"position\""));
}

TEST_CASE("batch sizes that overflow are refused") {
  Numbered data(43);
  data.config.batch_size = std::int64_t{1} << 62;
  data.config.num_infeed_hosts = 4;
  CHECK_THAT(complaint<data::IdxInput>(data.config), Contains("out of range"));
}

}  // namespace data_order_test
