// SPDX-License-Identifier: Apache-2.0
// LanguageModel on a mesh with several devices along mdl, against one device.
#include <cmath>
#include <map>
#include <memory>

#include <catch2/catch.hpp>

#include "lm/models/language_model.h"
#include "plugins/config_round_trip.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/layer/layer_template.h"
#include "trivet/tape.h"

namespace lm_sharding_test {
namespace {

using namespace trivet;
using namespace trivet::lm;
using Catch::Contains;
using Gradients = std::map<std::string, std::vector<float>>;

constexpr std::int64_t kVocabulary = 30, kRows = 4, kLength = 9;

LanguageModelConfig config_of(std::int64_t kv_heads = 0) {
  LanguageModelConfig config;
  config.vocab_size = kVocabulary;
  config.model_dims = 16;
  config.num_layers = 2;
  config.num_heads = 4;
  config.num_kv_heads = kv_heads;
  config.max_seq_len = kLength;
  config.block_tpl = {
      "nn/TransformerBlock",
      value_from_json(R"({"use_gated_activation": true, "activation": {"type": "nn/Silu"},
                          "attention_tpl": {"type": "nn/MultiHeadAttention",
                                            "use_rotary_position_emb": true}})",
                      "test")};
  return config;
}

struct Fixture {
  Fixture(const LanguageModelConfig& config, std::int64_t mdl,
          const std::string& backend = "tiny/Backend")
      : mesh(test::mesh_along_mdl(mdl)),
        device(test::open_device(backend)),
        store(*device, RngKey(7)) {
    test::use_plugin("nn");
    Scope scope(store, mesh);
    model = std::make_unique<LanguageModel>(config, scope);
    store.build();
  }

  Tensor tokens(std::uint64_t seed) const {
    std::vector<std::uint32_t> bits(kRows * kLength);
    random_bits(RngKey(seed), 0, bits);
    std::vector<std::int32_t> ids;
    for (const std::uint32_t each : bits) {
      ids.push_back(static_cast<std::int32_t>(each % kVocabulary));
    }
    return Tensor::from<std::int32_t>(*device, ids, {kRows, kLength});
  }

  Gradients gradients() {
    FpropContext context;
    context.train = true;
    store.begin_gradients();
    Tape tape;
    Tensor loss;
    {
      const Tape::Recording recording(tape);
      const Batch batch{{"ids", tokens(1)},
                        {"labels", tokens(2)},
                        {"weights", Tensor::full(*device, {kRows, kLength}, 1)}};
      loss = model->fprop(batch, context).at("avg_xent");
    }
    tape.backward(loss);
    store.end_gradients();
    Gradients all;
    for (const auto& parameter : store.parameters()) {
      all[parameter->path()] = parameter->gradient().to_host<float>();
    }
    return all;
  }

  std::int64_t blocks(const std::string& path) const {
    return store.find("transformer/layer_0/" + path)->blocks();
  }

  Mesh mesh;
  std::unique_ptr<Device> device;
  ParameterStore store;
  std::unique_ptr<LanguageModel> model;
};

double relative_error(const std::vector<float>& got, const std::vector<float>& want) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double a = static_cast<double>(got[i]), b = static_cast<double>(want[i]);
    difference += (a - b) * (a - b);
    size += b * b;
  }
  return std::sqrt(difference / size);
}

std::string error_of(const LanguageModelConfig& config, std::int64_t mdl) {
  try {
    Fixture(config, mdl);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("gradients of a model over 2 and 4 devices are those of one") {
  const std::string backend = GENERATE(from_range(test::backends()));
  for (const std::int64_t kv_heads : {0, 2}) {
    const LanguageModelConfig config = config_of(kv_heads);
    const Gradients whole = Fixture(config, 1, backend).gradients();
    for (const std::int64_t mdl : {2, 4}) {
      Fixture split(config, mdl, backend);
      for (const char* path :
           {"attention/query/w", "attention/output/w", "mlp_in/w", "mlp_gate/w", "mlp_out/w"}) {
        CHECK(split.blocks(path) == mdl);
      }
      const Gradients gradients = split.gradients();
      REQUIRE(gradients.size() == whole.size());
      for (const auto& [path, gradient] : whole) {
        INFO(path << ", devices: " << mdl);
        CHECK(relative_error(gradients.at(path), gradient) < 2e-5);
      }
      CHECK(split.gradients() == gradients);
    }
  }
}

TEST_CASE("what a default split does not divide is whole") {
  LanguageModelConfig config = config_of();
  config.hidden_dims = 30;
  const Fixture three(config, 3);
  CHECK(three.blocks("attention/query/w") == 1);
  CHECK(three.blocks("mlp_in/w") == 3);
  const Fixture four(config, 4);
  CHECK(four.blocks("attention/query/w") == 4);
  CHECK(four.blocks("mlp_in/w") == 1);
}

TEST_CASE("a split that is set and does not divide is refused with its numbers") {
  LanguageModelConfig config = config_of();
  config.hidden_dims = 30;
  config.sharding.w_df = {"data", "mdl"};
  CHECK_THAT(error_of(config, 4),
             Contains("task.model.sharding.w_df: splits hidden_dims = 30 over the 4 devices along "
                      "mdl, which do not divide it"));
  CHECK(error_of(config, 3) == "no error");
  config.sharding.w_dnh = {"data", "mdl", ""};
  CHECK_THAT(error_of(config, 3),
             Contains("task.model.sharding.w_dnh: splits num_heads = 4 over the 3 devices"));
  config = config_of(3);
  config.num_heads = 12;
  Value block = config.block_tpl.fields();
  block.set("attention_tpl",
            value_from_json(R"({"type": "nn/MultiHeadAttention", "dims_per_head": 2})", "test"));
  config.block_tpl = {"nn/TransformerBlock", std::move(block)};
  config.sharding.w_dnh = {"data", "mdl", ""};
  CHECK_THAT(error_of(config, 2), Contains("num_kv_heads = 3 over the 2 devices along mdl"));
}

TEST_CASE("blocks without a mapping are whole, and refuse a sharding that is set") {
  LanguageModelConfig config = config_of();
  config.model_type = ModelType::bidirectional;
  config.block_tpl = "nn/BottleneckBlock";
  const Fixture split(config, 2);
  for (const auto& parameter : split.store.parameters()) {
    CHECK(parameter->blocks() == (parameter->path() == "softmax/table" ? 2 : 1));
  }
  config.sharding.w_fd = {"mdl", "data"};
  CHECK_THAT(error_of(config, 2),
             Contains("task.model.sharding: is not used: the blocks, nn/BottleneckBlock, split no "
                      "weights"));
}

TEST_CASE("a template's own mapping counts before the model's sharding") {
  LanguageModelConfig config = config_of();
  complete_members(config.block_tpl, "weight_split_dims_mapping",
                   Value::table({{"ffn0", Value::array({-1, -1})}}));
  const Fixture split(config, 2);
  CHECK(split.blocks("mlp_in/w") == 1);
  CHECK(split.blocks("mlp_out/w") == 2);
  CHECK(split.blocks("attention/query/w") == 2);
}

TEST_CASE("a sharding is checked before a model is built, and survives the way to a file") {
  test::use_plugin("nn");
  LanguageModelConfig sample = config_of();
  sample.sharding.w_dnh = {"", "mdl", ""};
  test::check_round_trip(sample);
  Value fields = encode(sample);
  fields.set("sharding", Value::table({{"w_df", Value::array({"mdl"})}}));
  CHECK_THROWS_WITH(decode<LanguageModelConfig>(fields, "task.model"),
                    Contains("task.model.sharding.w_df: has 1 entries for 2 dimensions"));
  fields.set("sharding", Value::table({{"w_vd", Value::array({"mdl", "data", -1})}}));
  CHECK_THROWS_WITH(decode<LanguageModelConfig>(fields, "task.model"),
                    Contains("task.model.sharding.w_vd: has 3 entries for 2 dimensions"));
  fields.set("sharding", Value::table({{"w_emh", Value::array({"data", "mdl"})}}));
  CHECK_THROWS_WITH(decode<LanguageModelConfig>(fields, "task.model"),
                    Contains("task.model.sharding.w_emh: has 2 entries for 3 dimensions"));
  fields.set("sharding", Value::table({{"a_bld", Value::array({"data"})}}));
  CHECK_THROWS_WITH(decode<LanguageModelConfig>(fields, "task.model"), Contains("a_bld"));
}

TEST_CASE("gradients of a model with a vocabulary in blocks are those of the whole") {
  const std::string backend = GENERATE(from_range(test::backends()));
  LanguageModelConfig tied = config_of(), untied = config_of(), gshard = config_of();
  for (LanguageModelConfig* config : {&tied, &untied, &gshard}) config->vocab_size = 32;
  complete(tied.softmax_tpl, "z_loss_weight", 0.01, 0.0);
  untied.embedding_tpl = "nn/Embedding";
  untied.softmax_tpl = {"nn/FullSoftmax", Value::table({{"label_smoothing_prob", 0.1}})};
  gshard.softmax_tpl = "nn/GShardSharedEmbeddingSoftmax";
  for (const LanguageModelConfig& config : {tied, untied, gshard}) {
    const Gradients whole = Fixture(config, 1, backend).gradients();
    for (const std::int64_t mdl : {2, 4}) {
      INFO(config.softmax_tpl.key() << ", devices: " << mdl);
      Fixture split(config, mdl, backend);
      for (const char* path : {"embedding/table", "softmax/table", "softmax/w"}) {
        const Parameter* table = split.store.find(path);
        CHECK((table == nullptr || table->blocks() == mdl));
      }
      const Gradients gradients = split.gradients();
      REQUIRE(gradients.size() == whole.size());
      for (const auto& [path, gradient] : whole) {
        INFO(path);
        CHECK(relative_error(gradients.at(path), gradient) < 2e-5);
      }
    }
  }
}

TEST_CASE("the vocabulary is split where it divides, or as set") {
  LanguageModelConfig config = config_of();
  CHECK(Fixture(config, 4).store.find("softmax/table")->blocks() == 1);
  CHECK(Fixture(config, 2).store.find("softmax/table")->blocks() == 2);
  config.sharding.w_vd = {"mdl", "data"};
  CHECK_THAT(error_of(config, 4),
             Contains("task.model.sharding.w_vd: splits vocab_size = 30 over the 4 devices along "
                      "mdl, which do not divide it"));
  config.sharding.w_vd = {"", ""};
  CHECK(Fixture(config, 2).store.find("softmax/table")->blocks() == 1);
  config.sharding.w_vd = {"data", "mdl?"};
  CHECK_THAT(error_of(config, 2),
             Contains("task.model.sharding.w_vd: names mdl in entry 1, but it splits the "
                      "vocabulary only"));
  // A template's own mapping counts first.
  config.sharding.w_vd = {"mdl", "data"};
  complete_members(config.softmax_tpl, "weight_split_dims_mapping",
                   Value::table({{"wt", Value::array({-1, -1})}}));
  CHECK(Fixture(config, 2).store.find("softmax/table")->blocks() == 1);
}

TEST_CASE("experts are split by the sharding, of blocks and of stacks") {
  const Value experts = Value::table({{"type", "nn/MoeFeedForward"}, {"num_experts", 4}});
  LanguageModelConfig block = config_of(), stack = config_of();
  // Rotary, as the gradient of the biases of keys would be 0 otherwise.
  const Value attention =
      Value::table({{"type", "nn/MultiHeadAttention"}, {"use_rotary_position_emb", true}});
  block.block_tpl = {"nn/TransformerBlock",
                     Value::table({{"attention_tpl", attention}, {"ffn_tpl", experts}})};
  stack.block_tpl = {"nn/TransformerBlock", Value::table({{"attention_tpl", attention}})};
  stack.stacked_transformer_tpl = {
      "nn/StackedTransformer",
      Value::table({{"moe_layers", Value::array({0})}, {"moe_layer_tpl", experts}})};
  for (LanguageModelConfig config : {block, stack}) {
    const Gradients whole = Fixture(config, 1).gradients();
    Fixture split(config, 2);
    CHECK(split.blocks("feed_forward/in") == 2);
    CHECK(split.blocks("feed_forward/out") == 2);
    const Gradients gradients = split.gradients();
    for (const auto& [path, gradient] : whole) {
      INFO(path);
      CHECK(relative_error(gradients.at(path), gradient) < 2e-5);
    }
    config.sharding.w_emh = {"", "", ""};
    CHECK(Fixture(config, 2).blocks("feed_forward/in") == 1);
    config.sharding.w_emh = {"mdl", "", ""};
    CHECK_THAT(error_of(config, 2),
               Contains("task.model.sharding.w_emh: names mdl in entry 0, but it splits the "
                        "hidden_dims of experts only"));
  }
  LanguageModelConfig none = config_of();
  none.sharding.w_emh = {"data", "", "mdl"};
  CHECK_THAT(error_of(none, 2), Contains("task.model.sharding.w_emh: is not used: no layer has "
                                         "experts that can be split"));
}

}  // namespace lm_sharding_test
