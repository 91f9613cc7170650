// SPDX-License-Identifier: Apache-2.0
// Several inputs read together: names and shapes of fields, weights, ends, states and bad configs.
#include "data/multi/multi_input.h"

#include <catch2/catch.hpp>

#include "plugins/config_round_trip.h"
#include "plugins/data/files.h"
#include "support/plugins.h"
#include "trivet/plugin/registry.h"
#include "trivet/testing/input_check.h"

namespace multi_input_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Floats = std::vector<float>;

// Numbered images: files of 8, 16 and 5 of them, and labels.
struct Files {
  Files() {
    use_plugin("data");
    for (const std::uint32_t n : {5U, 8U, 16U}) {
      temp.write(std::to_string(n), numbered_images(n));
      temp.write(std::to_string(n) + "-labels", cyclic_labels(n, 4));
    }
  }
  Value idx(std::int64_t examples, std::int64_t batch_size, Value more = Value::table()) const {
    Value fields =
        Value::table({{"images", (temp / std::to_string(examples)).string()},
                      {"labels", (temp / (std::to_string(examples) + "-labels")).string()},
                      {"scale", 1.0},
                      {"batch_size", batch_size}});
    for (const auto& member : more.members()) fields.set(member.key, member.value);
    return fields;
  }
  // `batch_size` of all, and the inputs a and b.
  data::MultiConfig config(std::int64_t batch_size, const Value& a, const Value& b) const {
    data::MultiConfig config;
    config.batch_size = batch_size;
    config.inputs["a"] = {"data/Idx", a};
    config.inputs["b"] = {"data/Idx", b};
    return config;
  }
  TempDir temp;
};

std::unique_ptr<Input> open(const data::MultiConfig& config, Phase phase = Phase::evaluation) {
  InputContext context{.phase = phase, .name = "task.train_input"};
  return make(ConfigOf<Input>("data/Multi", encode(config)), context);
}

std::vector<std::string> problems(const data::MultiConfig& config) {
  Diagnostics found;
  config.validate(found);
  std::vector<std::string> texts;
  for (const Diagnostic& problem : found.list()) {
    texts.push_back(problem.path + " " + problem.what + " " + problem.hint);
  }
  return texts;
}

// The numbers of the images in `field`.
std::vector<int> numbers(const Batch& batch, const std::string& field) {
  std::vector<int> all;
  const Floats pixels = batch.at(field).to_host<float>();
  for (std::size_t i = 0; i < pixels.size(); i += 4) all.push_back(static_cast<int>(pixels[i]));
  return all;
}

}  // namespace

TEST_CASE("fields are named by their inputs, and larger batches get an axis", "[multi]") {
  const Files files;
  const auto input = open(files.config(2, files.idx(8, 4), files.idx(16, 8)));
  const Batch batch = *input->get_next();
  CHECK(batch.at("a/image").shape() == Shape{2, 2, 2, 2, 1});
  CHECK(batch.at("b/image").shape() == Shape{2, 4, 2, 2, 1});
  CHECK(batch.at("b/label").shape() == Shape{2, 4});
  CHECK(batch.at("b/label").dtype() == DType::i32);
  CHECK(batch.at("a/weight").shape() == Shape{2, 2});
  CHECK(batch.at("weight").to_host<float>() == Floats{1, 1});
  CHECK(numbers(batch, "a/image") == std::vector<int>{0, 1, 2, 3});
  CHECK(numbers(batch, "b/image") == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(batch.child("b").at("label").to_host<std::int32_t>() ==
        std::vector<std::int32_t>{0, 1, 2, 3, 0, 1, 2, 3});
  CHECK(numbers(*input->get_next(), "a/image") == std::vector<int>{4, 5, 6, 7});
  CHECK_FALSE(input->get_next().has_value());
  CHECK(input->batches_per_epoch() == 2);
  // Equal sizes stay as they are.
  const Batch plain = *open(files.config(4, files.idx(8, 4), files.idx(16, 8)))->get_next();
  CHECK(plain.at("a/image").shape() == Shape{4, 2, 2, 1});
  CHECK(plain.at("b/image").shape() == Shape{4, 2, 2, 2, 1});
}

TEST_CASE("a row counts if one of its examples does", "[multi]") {
  const Files files;
  // The second batch of a has one example of four, that of b four of eight in two rows.
  const auto input = open(files.config(4, files.idx(5, 4), files.idx(16, 8)));
  CHECK(input->get_next()->at("weight").to_host<float>() == Floats{1, 1, 1, 1});
  CHECK(input->get_next()->at("weight").to_host<float>() == Floats{1, 1, 1, 1});
  const auto both = open(files.config(2, files.idx(5, 4), files.idx(5, 4)));
  both->get_next();
  const Batch last = *both->get_next();
  CHECK(last.at("a/weight").to_host<float>() == Floats{1, 0, 0, 0});
  CHECK(last.at("weight").to_host<float>() == Floats{1, 0});
}

TEST_CASE("inputs read together keep the promises of an input", "[multi]") {
  const Files files;
  const Value shuffled = Value::table({{"shuffle", true}, {"seed", 3}});
  const data::MultiConfig config = files.config(2, files.idx(8, 4, shuffled), files.idx(5, 4));
  CHECK(testing::check_input([&] { return open(config); }, 2) == "");
  CHECK(testing::check_input([&] { return open(config, Phase::training); }, 2,
                             {.batches = 9, .resets = false}) == "");
  // In itself, too.
  data::MultiConfig outer;
  outer.batch_size = 1;
  outer.inputs["c"] = {"data/Multi", encode(config)};
  outer.inputs["d"] = {"data/Idx", files.idx(16, 8)};
  CHECK(open(outer)->get_next()->at("c/a/image").shape() == Shape{1, 2, 2, 2, 2, 1});
  CHECK(testing::check_input([&] { return open(outer); }, 1) == "");
}

TEST_CASE("hosts are those of all inputs together", "[multi]") {
  const Files files;
  data::MultiConfig config = files.config(2, files.idx(8, 2), files.idx(16, 4));
  config.num_infeed_hosts = 2;
  config.infeed_host_index = 1;
  const Batch batch = *open(config)->get_next();
  CHECK(numbers(batch, "a/image") == std::vector<int>{2, 3});
  CHECK(numbers(batch, "b/image") == std::vector<int>{4, 5, 6, 7});
  config.inputs["b"] = {"data/Idx", files.idx(16, 4, Value::table({{"num_infeed_hosts", 4}}))};
  CHECK_THROWS_WITH(open(config), Contains("inputs.b.num_infeed_hosts") && Contains("is 4") &&
                                      Contains("set it beside `inputs` only"));
}

TEST_CASE("inputs that end at different batches are refused, in training when they do", "[multi]") {
  const Files files;
  const Value once = Value::table({{"epochs", 1}});
  CHECK_THAT(input_error([&] { open(files.config(2, files.idx(8, 4), files.idx(16, 4))); }),
             Contains("'b' has 4 batches, and 'a' has 2") && Contains("task.eval_inputs"));
  const auto training =
      open(files.config(2, files.idx(8, 4, once), files.idx(16, 4, once)), Phase::training);
  training->get_next();
  training->get_next();
  CHECK_THAT(input_error([&] { training->get_next(); }),
             Contains("the input 'a' has ended before 'b'") && Contains("leave epochs at 0"));
  // Without end in training.
  const auto endless = open(files.config(2, files.idx(8, 4), files.idx(16, 4)), Phase::training);
  for (int i = 0; i < 9; ++i) CHECK(endless->get_next().has_value());
  CHECK_FALSE(endless->batches_per_epoch().has_value());
}

TEST_CASE("problems of one input name it", "[multi]") {
  const Files files;
  data::MultiConfig config = files.config(2, files.idx(8, 4), files.idx(8, 4));
  config.inputs["b"] = {"data/Idx", Value::table({{"images", "/none"}, {"batch_size", 4}})};
  CHECK_THROWS_WITH(open(config), Contains("/none") && Contains("inputs.b"));
  InputContext context{.phase = Phase::evaluation, .name = "task.eval_input", .examples = "x"};
  CHECK_THAT(input_error([&] {
               data::MultiInput(files.config(2, files.idx(8, 4), files.idx(8, 4)), context);
             }),
             Contains("cannot read examples to predict"));
}

TEST_CASE("a state of other inputs is refused", "[multi]") {
  const Files files;
  data::MultiConfig config = files.config(2, files.idx(8, 4), files.idx(8, 4));
  const Value state = open(config)->save_state();
  config.inputs.erase("b");
  CHECK_THAT(input_error([&] { open(config)->restore_state(state); }),
             Contains("has the input 'b', which the config does not have"));
  config.inputs["c"] = {"data/Idx", files.idx(8, 4)};
  CHECK_THROWS_AS(open(config)->restore_state(state), Error);
  CHECK_THROWS_AS(open(config)->restore_state(Value::table({})), Error);
  CHECK_THROWS_AS(open(config)->restore_state(Value::table({{"inputs", 1}})), Error);
}

TEST_CASE("fields of inputs read together are checked", "[multi]") {
  const Files files;
  data::MultiConfig config = files.config(2, files.idx(8, 4), files.idx(16, 8));
  CHECK(problems(config).empty());
  check_round_trip(config);
  config.batch_size = 3;
  const auto sizes = problems(config);
  REQUIRE(sizes.size() == 2);
  CHECK(sizes[1] ==
        "inputs.b.batch_size is 8, no multiple of batch_size = 3 the greatest common "
        "divisor of the inputs' sizes is 4");
  config.batch_size = 4;
  config.shuffle = true;
  config.epochs = 2;
  CHECK(problems(config).size() == 2);
  config.shuffle = false;
  config.epochs = 0;
  for (const char* name : {"", "weight", "a/b", "a b", "a.b"}) {
    CAPTURE(name);
    config.inputs = {{name, ConfigOf<Input>("data/Idx", files.idx(8, 4))}};
    REQUIRE(problems(config).size() == 1);
    CHECK_THAT(problems(config)[0], Contains("is not the name of an input"));
  }
  config.inputs.clear();
  CHECK(problems(config).size() == 1);
  config.inputs["a"] = {};
  CHECK(problems(config).size() == 1);
}

}  // namespace multi_input_test
