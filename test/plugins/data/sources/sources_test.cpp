// SPDX-License-Identifier: Apache-2.0
// Text sources other than plain files, and data/LanguageModel, which makes rows of any source.
#include <sstream>

#include <catch2/catch.hpp>

#include "data/formats/tfrecord_reader.h"
#include "data/sequences/language_model_input.h"
#include "data/sources/jsonl_files.h"
#include "data/sources/record_files.h"
#include "plugins/config_round_trip.h"
#include "plugins/data/jsonl.h"
#include "plugins/data/records.h"
#include "plugins/data/sequences.h"
#include "support/plugins.h"

namespace data_sources_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Texts = std::vector<std::string>;

namespace {

// "LOCATION: name=text name=text" of each example.
Texts examples(DataSource& source) {
  Texts texts;
  source.read([&](const SourceExample& example) {
    std::string text = example.location.substr(example.location.rfind('/') + 1) + ":";
    for (const auto& feature : example.features) {
      text += " " + std::string(feature.name) + "=" + std::string(feature.text);
    }
    texts.push_back(text);
  });
  return texts;
}

template <class Source>
Texts examples_of(const std::filesystem::path& file) {
  typename Source::Config config;
  config.files = {Path(file.string())};
  Source source(config);
  return examples(source);
}

template <class Source>
std::string source_complaint(const TempDir& dir, const std::string& bytes) {
  return input_error([&] { examples_of<Source>(dir.write("bad", bytes)); });
}

// A file of JSON lines and a config that trains on it.
struct Pairs {
  explicit Pairs(const std::string& lines) {
    config.source = jsonl_source(dir, lines);
    config.tokenizer = letters();
    config.seq_len = 12;
    config.batch_size = 2;
    config.inputs = "{q}:";
    config.targets = "{a}";
  }
  data::LanguageModelInput input() const {
    InputContext context{.phase = Phase::evaluation, .name = "task.eval_input"};
    return {config, context};
  }
  TempDir dir;
  data::LanguageModelConfig config;
};

}  // namespace

TEST_CASE("lines of JSON are examples of their texts and numbers", "[data-sources]") {
  const TempDir dir;
  const auto file = dir.write("a.jsonl",
                              "{\"text\": \"a\\nb \\u00e9\", \"n\": 12, \"x\": 0.5, \"ok\": true, "
                              "\"no\": null, \"l\": [1]}\r\n"
                              "\n \n{\"text\": \"\"}");
  CHECK(examples_of<data::JsonlFiles>(file) ==
        Texts{"a.jsonl:1: text=a\nb \xC3\xA9 n=12 x=0.5 ok=true", "a.jsonl:4: text="});
  CHECK_THAT(source_complaint<data::JsonlFiles>(dir, "{\"a\": 1}\n{\"a\": \n"),
             Contains("bad:2 is not JSON") && Contains("complete JSON object"));
  CHECK_THAT(source_complaint<data::JsonlFiles>(dir, "[1]\n"),
             Contains("bad:1: is not a JSON object"));
  CHECK_THAT(source_complaint<data::JsonlFiles>(dir, "{\"a\": \"\xFF\"}\n"),
             Contains("bad:1 is not JSON"));
}

TEST_CASE("records of tf.Example are examples of their first values", "[data-sources]") {
  const TempDir dir;
  const std::string first = tf_example({{"text", bytes_feature({"hello", "unused"})},
                                        {"n", packed_ints_feature({-3, 7})},
                                        {"m", ints_feature({300})},
                                        {"x", floats_feature({0.25F, 1})},
                                        {"empty", bytes_feature({})},
                                        {"none", std::string()}});
  const auto file =
      dir.write("a.tfrecord", framed(first) + framed(tf_example({})) +
                                  framed(tf_example({{"text", bytes_feature({"\xFF"})}})));
  CHECK(examples_of<data::RecordFiles>(file) ==
        Texts{"a.tfrecord, record 1: text=hello n=-3 m=300 x=0.25",
              "a.tfrecord, record 2:", "a.tfrecord, record 3: text=\xFF"});
}

TEST_CASE("fields of a tf.Example that are of another type are passed over", "[data-sources]") {
  std::vector<std::string> numbers;
  std::vector<SourceExample::Feature> features;
  // A varint where each message is expected, from the outermost to the values.
  const std::string wrong = varint(1 << 3 | 0) + varint(7);
  const std::string right = tf_example({{"text", bytes_feature({"hello"})}});
  for (const std::string& bytes :
       {wrong, bytes_field(1, wrong), bytes_field(1, bytes_field(1, wrong)),
        tf_example({{"text", wrong}}), tf_example({{"text", bytes_field(1, wrong)}}),
        tf_example({{"x", bytes_field(2, wrong)}})}) {
    data::read_example(bytes, "here", numbers, features);
    CHECK(features.empty());
    const std::string both = bytes + right;  // features look into it
    data::read_example(both, "here", numbers, features);
    REQUIRE(features.size() == 1);
    CHECK(features[0].text == "hello");
  }
}

TEST_CASE("damaged record files are refused by record", "[data-sources]") {
  const TempDir dir;
  const std::string one = framed(tf_example({{"text", bytes_feature({"hello"})}}));
  const auto complaint = [&](const std::string& bytes) {
    return source_complaint<data::RecordFiles>(dir, bytes);
  };
  CHECK(complaint(one) == "");
  CHECK(complaint("") == "");
  for (std::size_t cut = 1; cut < one.size(); ++cut) {
    INFO(cut);
    CHECK_THAT(complaint(one + one.substr(0, cut)), Contains("record 2: is cut off"));
  }
  for (std::size_t at = 0; at < one.size(); ++at) {
    INFO(at);
    std::string flipped = one;
    flipped[at] ^= 0x10;
    CHECK_THAT(complaint(one + flipped), Contains("bad, record 2: ") && Contains("checksum"));
  }
  CHECK_THAT(complaint("{\"text\": \"this is another file\"}"), Contains("is this a TFRecord"));
  CHECK_THAT(complaint(framed("\x0A\xFF")), Contains("record 1: is not a tf.Example"));
  CHECK_THAT(complaint(framed(tf_example({{"a", ints_feature({1})}, {"a", bytes_feature({"b"})}}))),
             Contains("record 1: has the feature 'a' twice"));
  std::string huge = framed("x");
  huge = framed(std::string(8, '\xFF')).substr(12, 8) + huge.substr(8);
  CHECK_THAT(complaint(huge), Contains("checksum of its length"));
}

TEST_CASE("inputs and targets are one document, and inputs are marked", "[data-sources]") {
  Pairs pairs("{\"q\": \"ab\", \"a\": \"cde\"}\n{\"q\": \"\", \"a\": \"f\"}\n");
  {
    auto input = pairs.input();
    const Batch batch = *input.get_next();
    const SequenceRows rows = rows_of(batch);
    CHECK(rows.ids == Texts{"^ab:cde^:f..", "^ab:cde^:f.."});
    CHECK(rows.labels[0] == "ab:cde$:f$..");
    CHECK(rows.weights == Texts{"111111111100", "000000000000"});
    CHECK(batch.at("inputs_indicator").to_host<std::int32_t>() ==
          std::vector<std::int32_t>{1, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0,
                                    1, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0});
  }
  SECTION("weights on targets only") {
    pairs.config.weights_on_targets_only = true;
    auto input = pairs.input();
    CHECK(all_rows(input).weights[0] == "000111101100");
  }
  SECTION("the same without BOS: the first token is not a label") {
    pairs.config.weights_on_targets_only = true;
    pairs.config.add_bos = false;
    auto input = pairs.input();
    const SequenceRows rows = all_rows(input);
    CHECK(rows.labels[0] == "b:cde$f$....");
    CHECK(rows.weights[0] == "001111110000");
  }
  SECTION("inputs are cut to inputs_len") {
    pairs.config.inputs_len = 2;
    auto input = pairs.input();
    CHECK(all_rows(input).labels[0] == "abcde$:f$...");
  }
  SECTION("one row each; windows of a long document keep the input indicator") {
    pairs.config.weights_on_targets_only = true;
    pairs.config.pack = false;
    pairs.config.seq_len = 2;
    pairs.config.batch_size = 6;
    auto input = pairs.input();
    const SequenceRows rows = all_rows(input);
    CHECK(rows.labels == Texts{"ab", ":c", "de", "$.", ":f", "$."});
    CHECK(rows.weights == Texts{"00", "01", "11", "10", "01", "10"});
  }
}

namespace {

// The tokens are the numbers in a text; 0 is BOS, 1 is EOS.
class Numbers final : public Tokenizer {
 public:
  std::int32_t vocabulary_size() const override { return 32; }
  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> ids;
    std::istringstream numbers{std::string(text)};
    for (std::int32_t id = 0; numbers >> id;) ids.push_back(id);
    return ids;
  }
  std::string decode(std::span<const std::int32_t>) const override { return {}; }
  std::string token_text(std::int32_t) const override { return {}; }
  std::optional<std::int32_t> bos_id() const override { return 0; }
  std::optional<std::int32_t> eos_id() const override { return 1; }
  bool is_special(std::int32_t id) const override { return id < 2; }
  std::string fingerprint() const override { return "numbers"; }
};

}  // namespace

// The result of SeqIO's LanguageModelFeatures for inputs that end with EOS: numbers in the form of
// its own tests, with inputs cut to seven positions and EOS kept.
TEST_CASE("inputs end with EOS if configured, also if they are cut", "[data-sources]") {
  using Ids = std::vector<std::int32_t>;
  const auto batch_of = [](const char* line, std::int64_t inputs_len) {
    Pairs pairs(line);
    pairs.config.tokenizer = {};
    pairs.config.inputs = "{q}";
    pairs.config.inputs_eos = true;
    pairs.config.inputs_len = inputs_len;
    pairs.config.seq_len = 10;
    pairs.config.batch_size = 1;
    pairs.config.weights_on_targets_only = true;
    InputContext context{.phase = Phase::evaluation, .name = "task.eval_input"};
    context.tokenizer = std::make_shared<Numbers>();
    return *data::LanguageModelInput(pairs.config, context).get_next();
  };
  const Batch cut = batch_of("{\"q\": \"7 8 5 6 9 4 3\", \"a\": \"13 19\"}\n", 7);
  CHECK(cut.at("labels").to_host<std::int32_t>() == Ids{7, 8, 5, 6, 9, 4, 1, 13, 19, 1});
  CHECK(cut.at("ids").to_host<std::int32_t>() == Ids{0, 7, 8, 5, 6, 9, 4, 1, 13, 19});
  CHECK(cut.at("weights").to_host<float>() == std::vector<float>{0, 0, 0, 0, 0, 0, 0, 1, 1, 1});
  CHECK(cut.at("inputs_indicator").to_host<std::int32_t>() == Ids{1, 1, 1, 1, 1, 1, 1, 1, 0, 0});

  // Inputs of five tokens are six ids with BOS, and five labels.
  const Batch whole = batch_of("{\"q\": \"9 4 6 8\", \"a\": \"3 9\"}\n", 0);
  CHECK(whole.at("labels").to_host<std::int32_t>() == Ids{9, 4, 6, 8, 1, 3, 9, 1, 0, 0});
  CHECK(whole.at("weights").to_host<float>() == std::vector<float>{0, 0, 0, 0, 0, 1, 1, 1, 0, 0});
  CHECK(whole.at("inputs_indicator").to_host<std::int32_t>() == Ids{1, 1, 1, 1, 1, 1, 0, 0, 0, 0});
}

TEST_CASE("data/LanguageModel over text files is data/Text", "[data-sources]") {
  use_plugin("data");
  const TextFolder text({"abcd", "efghi", "jkl"});
  data::LanguageModelConfig config;
  config.source = {"data/TextFiles",
                   Value::table({{"files", Value::array({text.config.files[0].text})}})};
  config.tokenizer = letters();
  config.seq_len = 8;
  config.batch_size = 2;
  InputContext context{.phase = Phase::evaluation};
  data::LanguageModelInput input(config, context);
  auto expected = text.input();
  CHECK(fingerprint(*input.get_next()) == fingerprint(*expected.get_next()));
}

TEST_CASE("errors of templates name the missing feature", "[data-sources]") {
  Pairs pairs("{\"question\": \"ab\", \"answer\": \"c\"}\n");
  pairs.config.inputs = "";
  pairs.config.targets = "{{{question}}} {anser}";
  CHECK_THAT(
      complaint<data::LanguageModelInput>(pairs.config),
      Contains("examples.jsonl:1: the example has no feature 'anser'") && Contains("'answer'"));
  pairs.config.targets = "{{{question}}}";
  auto input = pairs.input();
  CHECK(all_rows(input).labels[0] == "{ab}$.......");
  for (const char* bad : {"{", "}", "{}", "{a", "a}", "{a{b}", "{{}"}) {
    INFO(bad);
    Diagnostics diagnostics;
    pairs.config.targets = bad;
    pairs.config.validate(diagnostics);
    REQUIRE(diagnostics.list().size() == 1);
    CHECK(diagnostics.list()[0].path == "targets");
  }
}

TEST_CASE(
    "the configs of sources and data/LanguageModel survive the way to a file, and their "
    "rules hold",
    "[data-sources]") {
  data::LanguageModelConfig config;
  config.batch_size = 4;
  config.seq_len = 16;
  config.tokenizer = letters();
  config.source = {"data/Jsonl", Value::table({{"files", Value::array({"a"})}})};
  config.inputs = "{q}";
  config.targets = "{a}";
  config.inputs_len = 8;
  config.inputs_eos = true;
  config.weights_on_targets_only = true;
  check_round_trip(config);
  check_round_trip_with<data::TextFilesConfig>([](auto& c) {
    c.files = {"a"};
    c.documents = data::Documents::line;
    c.part_begin = 0.1;
    c.part_end = 0.2;
  });
  check_round_trip_with<data::JsonlConfig>([](auto& c) { c.files = {"a"}; });
  check_round_trip_with<data::TfRecordConfig>([](auto& c) { c.files = {"a"}; });
  config.inputs = "";
  Diagnostics diagnostics;
  config.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 2);
  CHECK(diagnostics.list()[0].path == "weights_on_targets_only");
  CHECK(diagnostics.list()[1].path == "inputs_eos");
}

}  // namespace data_sources_test
