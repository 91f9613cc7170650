// SPDX-License-Identifier: Apache-2.0
// XLNet's stack against its formulas in double, both streams, gradients, what a position must not
// see, and errors.
#include "nn/encoders/xlnet_transformer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "plugins/lm/transformer_reference.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/testing/layer_check.h"

namespace xlnet_transformer_test {
namespace {

using namespace trivet::test;
using Catch::Contains;
using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;
using Numbers = std::vector<std::int32_t>;

constexpr std::size_t kDims = 6, kHeads = 3, kHidden = 7, kLayers = 2, kLength = 5;

trivet::ConfigOf<trivet::Layer> config(const Value& stack, const Value& block) {
  Value layer = Value::table({{"type", "nn/XlnetBlock"},
                              {"input_dims", kDims},
                              {"num_heads", kHeads},
                              {"hidden_dims", kHidden},
                              {"activation", "nn/Tanh"}});
  for (const Value::Member& member : block.members()) layer.set(member.key, member.value);
  Value fields = Value::table({{"num_layers", kLayers}, {"transformer_layer_params_tpl", layer}});
  for (const Value::Member& member : stack.members()) fields.set(member.key, member.value);
  return {"nn/XlnetTransformer", fields};
}

// The fields of a row beside its embeddings; empty ones are not given.
struct Fields {
  Numbers types = {}, order = {}, segments = {};
  std::vector<float> paddings = {};
};

struct Stack : LayerFixture {
  explicit Stack(const std::string& backend, const Value& stack = Value::table({}),
                 const Value& block = Value::table({}))
      : LayerFixture(backend, config(stack, block)) {
    std::uint64_t seed = 50;
    for (const auto& parameter : store().parameters()) {
      if (parameter->path().ends_with("/w")) continue;
      std::vector<float> values = random_values(parameter->shape().size(), ++seed, 0.3);
      if (parameter->path().ends_with("/scale")) {
        for (float& value : values) value += 1;
      }
      parameter->assign(tensor(values, parameter->shape()));
    }
  }
  bool has(const std::string& path) const { return store().find("layer/" + path) != nullptr; }
  Tensor integers(const Numbers& numbers) const {
    if (numbers.empty()) return {};
    const auto rows = static_cast<std::int64_t>(numbers.size() / kLength);
    return Tensor::from<std::int32_t>(device(), numbers, {rows, kLength});
  }
  Tensor run(const Tensor& x, const Fields& fields, bool train = false) const {
    FpropContext context;
    context.train = train;
    context.segment_ids = integers(fields.segments);
    if (!fields.paddings.empty()) {
      context.paddings = tensor(fields.paddings, {x.dim(0), x.dim(1)});
    }
    auto* reader =
        const_cast<trivet::TokenFieldsReader*>(static_cast<const trivet::TokenFieldsReader*>(
            layer().extension(trivet::kLayerTokenFields)));
    REQUIRE(reader != nullptr);
    return reader->fprop(x, {integers(fields.types), integers(fields.order)}, context);
  }
  std::vector<float> run(const std::vector<float>& x, const Fields& fields,
                         bool train = false) const {
    const auto rows = static_cast<std::int64_t>(x.size() / (kLength * kDims));
    return run(tensor(x, {rows, kLength, kDims}), fields, train).to_host<float>();
  }
  // Empty if the gradients agree with differences.
  std::string gradient_check(const Fields& fields) const {
    struct Seen final : trivet::Layer {
      Seen(const Stack& s, Fields f) : stack(s), fields(std::move(f)) {}
      Tensor fprop(const Tensor& x, FpropContext&) override { return stack.run(x, fields); }
      const Stack& stack;
      Fields fields;
    };
    Seen seen(*this, fields);
    return trivet::testing::check_layer_gradients(
        seen, store(), tensor(random_values(kLength * kDims, 4), {1, kLength, kDims}));
  }
};

struct Rules {
  bool causal = false, tied = false, cls = false, encodes_segments = true;
  double clamp = 1e9;
  std::size_t depth = 2;
};

// Yang et al. 2019, appendix A.2, position by position: no shift, no product of whole rows.
class Reference {
 public:
  Reference(const Stack& stack, const Rules& rules, const Fields& fields)
      : stack_(stack), rules_(rules), fields_(fields) {}

  Rows output(Rows content) const {
    Rows query = content;
    for (std::size_t i = 0; i < query.size() && two_streams(); ++i) {
      if (fields_.order[i] < -1) continue;
      const std::vector<float> masked = stack_.values("mask_emb");
      query[i] = Row(masked.begin(), masked.end());
    }
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      const std::string path = "layer_" + std::to_string(layer) + "/";
      const Rows next = block(content, content, path, true);
      if (two_streams()) query = block(query, content, path, false);
      content = next;
    }
    return two_streams() ? query : content;
  }

 private:
  bool two_streams() const { return !fields_.order.empty(); }

  bool sees(std::size_t i, std::size_t j, bool self) const {
    if (rules_.causal && j > i) return false;
    const auto segment = [&](std::size_t at) {
      if (!fields_.paddings.empty() && fields_.paddings[at] > 0) return -1;
      return fields_.segments.empty() ? 0 : fields_.segments[at];
    };
    if (segment(i) != segment(j)) return false;
    if (!two_streams() || (self && i == j)) return true;
    return fields_.order[j] < 0 || fields_.order[j] < fields_.order[i];
  }

  std::size_t apart(std::size_t i, std::size_t j) const {
    const std::int32_t a = fields_.types[i], b = fields_.types[j];
    return a == b || (rules_.cls && (a == 2 || b == 2)) ? 0 : 1;
  }

  Row sines(double distance) const {
    Row r(kDims, 0.0);
    const double clamped = std::clamp(distance, -rules_.clamp, rules_.clamp);
    for (std::size_t k = 0; k < kDims / 2; ++k) {
      const double power = 2 * static_cast<double>(k) / static_cast<double>(kDims);
      r[k] = std::sin(clamped / std::pow(10000.0, power));
      r[kDims / 2 + k] = std::cos(clamped / std::pow(10000.0, power));
    }
    return r;
  }

  double score(const Row& q, const Row& k, std::size_t i, std::size_t j, std::size_t head,
               const std::string& path) const {
    const std::string biases = rules_.tied ? "" : path + "attention/";
    const auto u = stack_.values(biases + "content_bias");
    const auto v = stack_.values(biases + "position_bias");
    const Row r = affine(sines(static_cast<double>(i) - static_cast<double>(j)),
                         stack_.values(path + "attention/position/w"), {});
    double sum = 0;
    for (std::size_t d = head * rules_.depth; d < (head + 1) * rules_.depth; ++d) {
      sum += (q[d] + static_cast<double>(u[d])) * k[d];
      sum += (q[d] + static_cast<double>(v[d])) * r[d];
      if (!rules_.encodes_segments || fields_.types.empty()) continue;
      const auto s = stack_.values(biases + "segment_bias");
      const auto e = stack_.values(path + "attention/segment_encoding");
      sum += (q[d] + static_cast<double>(s[d])) *
             static_cast<double>(e[apart(i, j) * kHeads * rules_.depth + d]);
    }
    return sum / std::sqrt(static_cast<double>(rules_.depth));
  }

  Rows block(const Rows& x, const Rows& content, const std::string& path, bool self) const {
    const auto product = [&](const Rows& of, const std::string& name) {
      return affine(of, stack_.values(path + "attention/" + name + "/w"), {});
    };
    const auto norm = [&](const Rows& of, const std::string& name) {
      return layer_norm(of, stack_.values(path + name + "/scale"),
                        stack_.values(path + name + "/bias"));
    };
    const Rows q = product(x, "query"), k = product(content, "key"), v = product(content, "value");
    Rows mixed(x.size(), Row(q[0].size(), 0.0));
    for (std::size_t head = 0; head < kHeads; ++head) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        Row p(x.size(), 0.0);
        double total = 0;
        for (std::size_t j = 0; j < x.size(); ++j) {
          if (sees(i, j, self)) total += p[j] = std::exp(score(q[i], k[j], i, j, head, path));
        }
        for (std::size_t j = 0; j < x.size() && total > 0; ++j) {
          for (std::size_t d = head * rules_.depth; d < (head + 1) * rules_.depth; ++d) {
            mixed[i][d] += p[j] / total * v[j][d];
          }
        }
      }
    }
    const Rows h = norm(sum(x, product(mixed, "output")), "attention_norm");
    Rows mlp = affine(h, stack_.values(path + "mlp_in/w"), stack_.values(path + "mlp_in/b"));
    for (Row& row : mlp) {
      for (double& value : row) value = std::tanh(value);
    }
    mlp = affine(mlp, stack_.values(path + "mlp_out/w"), stack_.values(path + "mlp_out/b"));
    return norm(sum(h, mlp), "mlp_norm");
  }

  const Stack& stack_;
  Rules rules_;
  Fields fields_;
};

double error_of(const Stack& stack, const Rules& rules, const Fields& fields) {
  const std::vector<float> x = random_values(kLength * kDims, 3);
  const Rows rows = sequences(x, kLength, kDims)[0];
  return largest_error(stack.run(x, fields),
                       flattened({Reference(stack, rules, fields).output(rows)}));
}

// The largest change of each position of one row.
std::vector<double> changes(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<double> largest(kLength, 0.0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest[i / kDims] = std::max(largest[i / kDims],
                                  std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return largest;
}

struct Case {
  Value stack, block;
  Rules rules;
  Numbers types;
};

std::vector<Case> cases() {
  const Numbers pair = {0, 0, 1, 1, 2};
  const Value tied = Value::table({{"tie_attention_biases", true}});
  const Value cls = Value::table({{"use_cls_mask", true}, {"clamp_length", 2}});
  const Value plain = Value::table({{"segment_encoding", false}});
  const Value uni = Value::table({{"attention_type", "uni"}, {"tie_attention_biases", true}});
  const Value deep = Value::table({{"dims_per_head", 4}}), none = Value::table({});
  return {
      {none, none, {}, pair},
      {none, none, {}, {}},
      {tied, deep, {.tied = true, .depth = 4}, pair},
      {cls, none, {.cls = true, .clamp = 2}, pair},
      {plain, none, {.encodes_segments = false}, pair},
      {uni, none, {.causal = true, .tied = true}, pair},
  };
}

}  // namespace

TEST_CASE("the stack of XLNet matches its formulas in float64", "[nn]") {
  for (const std::string& backend : backends()) {
    for (std::size_t i = 0; i < cases().size(); ++i) {
      const auto [fields, block, rules, types] = cases()[i];
      const Stack stack(backend, fields, block);
      INFO(backend << " " << i);
      CHECK(error_of(stack, rules, {.types = types}) < 3e-5);
      CHECK(error_of(stack, rules,
                     {.types = types, .segments = {1, 1, 2, 2, 0}, .paddings = {0, 0, 0, 0, 1}}) <
            3e-5);
      CHECK(stack.has("content_bias") == rules.tied);
      CHECK(stack.has("layer_1/attention/content_bias") != rules.tied);
      CHECK(stack.has("layer_0/attention/segment_encoding") == rules.encodes_segments);
    }
  }
}

// Under sanitizers the gradients of both streams are checked, below.
TEST_CASE("the gradients of XLNet's stack match central differences", "[nn][slow]") {
  for (const std::string& backend : backends()) {
    for (std::size_t i = 0; i < cases().size(); ++i) {
      INFO(backend << " " << i);
      CHECK(Stack(backend, cases()[i].stack, cases()[i].block)
                .gradient_check({.types = cases()[i].types}) == "");
    }
  }
}

TEST_CASE("the query stream of XLNet matches its formulas in float64", "[slow][nn]") {
  for (const std::string& backend : backends()) {
    for (const bool causal : {false, true}) {
      const Stack stack(backend, Value::table({{"two_stream", true},
                                               {"attention_type", causal ? "uni" : "bi"},
                                               {"tie_attention_biases", causal}}));
      const Rules rules{.causal = causal, .tied = causal};
      INFO(backend << " " << causal);
      // Leaked, early, late, not to be predicted, last.
      const Numbers order = {-1, 0, 3, -2, 4}, types = {0, 0, 1, 1, 1};
      CHECK(error_of(stack, rules, {.types = types, .order = order}) < 3e-5);
      CHECK(error_of(stack, rules,
                     {.types = types,
                      .order = {2, 1, 0, 3, -2},
                      .segments = {1, 1, 2, 2, 0},
                      .paddings = {0, 0, 0, 0, 1}}) < 3e-5);
      CHECK(stack.gradient_check({.types = types, .order = order}) == "");
    }
  }
}

TEST_CASE("rows of a batch have orders of their own in both streams of XLNet", "[nn]") {
  for (const std::string& backend : backends()) {
    const Stack stack(backend, Value::table({{"two_stream", true}}));
    const std::vector<float> x = random_values(2 * kLength * kDims, 3);
    const Numbers types = {0, 1, 1, 0, 0, 1, 1, 1, 0, 0}, order = {-2, 0, 1, 2, 3, 3, 2, 1, 0, -2};
    std::vector<Rows> want;
    for (std::size_t row = 0; row < 2; ++row) {
      const auto part = [&](const Numbers& of) {
        const auto begin = of.begin() + static_cast<std::ptrdiff_t>(row * kLength);
        return Numbers(begin, begin + kLength);
      };
      want.push_back(Reference(stack, {}, {.types = part(types), .order = part(order)})
                         .output(sequences(x, kLength, kDims)[row]));
    }
    INFO(backend);
    CHECK(largest_error(stack.run(x, {.types = types, .order = order}), flattened(want)) < 3e-5);
  }
}

TEST_CASE("the query stream of a position does not see its token", "[nn]") {
  for (const std::string& backend : backends()) {
    const Stack stack(backend, Value::table({{"two_stream", true}}));
    const Fields fields{.types = {0, 0, 1, 1, 1}, .order = {2, 0, -2, 3, 1}};
    const std::vector<float> x = random_values(kLength * kDims, 3);
    const std::vector<float> y = stack.run(x, fields);
    for (std::size_t token = 0; token < kLength; ++token) {
      std::vector<float> other = x;
      for (std::size_t d = 0; d < kDims; ++d) other[token * kDims + d] = -other[token * kDims + d];
      const std::vector<double> change = changes(y, stack.run(other, fields));
      for (std::size_t i = 0; i < kLength; ++i) {
        INFO(backend << " token " << token << " seen from " << i);
        const bool knows = fields.order[token] < 0 || fields.order[token] < fields.order[i];
        // Through a known position nothing unknown is seen either.
        CHECK((knows ? change[i] > 1e-4 : change[i] < 1e-6));
      }
    }
  }
}

TEST_CASE("a token that is predicted first from nothing depends on no other", "[nn]") {
  const Stack stack("tiny/Backend", Value::table({{"two_stream", true}}));
  const Fields fields{.order = {4, 3, 0, 1, 2}};
  const std::vector<double> change = changes(stack.run(random_values(kLength * kDims, 3), fields),
                                             stack.run(random_values(kLength * kDims, 8), fields));
  CHECK(change[2] < 1e-6);
  CHECK(change[3] > 1e-4);
}

TEST_CASE("the stack of XLNet drops other elements in each stream", "[nn]") {
  const Stack dropping("tiny/Backend",
                       Value::table({{"two_stream", true}, {"input_dropout_prob", 0.5}}),
                       Value::table({{"atten_dropout", 0.5}, {"dropout", 0.5}}));
  const Fields fields{.order = Numbers(kLength, -2)};
  const std::vector<float> x = random_values(kLength * kDims, 4);
  CHECK(dropping.run(x, fields, true) != dropping.run(x, fields));
  // Without tokens to predict the streams are equal, but for the drops.
  const Stack one("tiny/Backend", Value::table({{"input_dropout_prob", 0.5}}));
  const Stack two("tiny/Backend",
                  Value::table({{"two_stream", true}, {"input_dropout_prob", 0.5}}));
  for (const auto& parameter : one.store().parameters()) {
    two.set(parameter->path().substr(6), parameter->value().to_host<float>());
  }
  CHECK(largest_error(one.run(x, {}), two.run(x, fields)) < 1e-5);
  CHECK(largest_error(one.run(x, {}, true), two.run(x, fields, true)) > 1e-2);
}

TEST_CASE("XLNet base has the number of weights of its formula", "[nn]") {
  // A block: 5 * 768^2 of the attention, 5 * 768 of its biases and encodings, 4 * 768 of the norms,
  // 2 * 768 * 3072 + 3072 + 768 of the Mlp. Twelve of them, and mask_emb.
  const auto device = open_device("tiny/Backend");
  trivet::ParameterStore store(*device, trivet::RngKey(7));
  const auto layer = trivet::Scope(store).layer(
      "layer", config(Value::table({{"num_layers", 12}, {"two_stream", true}}),
                      Value::table({{"input_dims", 768}, {"num_heads", 12}, {"hidden_dims", 0}})));
  REQUIRE(layer != nullptr);
  std::int64_t weights = 0;
  for (const auto& parameter : store.parameters()) weights += parameter->shape().size();
  CHECK(weights == 12 * 7'678'464 + 768);
}

TEST_CASE("the stack of XLNet reports what it cannot do", "[nn]") {
  const Stack one("tiny/Backend"), two("tiny/Backend", Value::table({{"two_stream", true}}));
  const std::vector<float> x = random_values(kLength * kDims, 4);
  CHECK_THROWS_WITH(two.run(x, {}), Contains("has two_stream, but the batch has no permutation"));
  CHECK_THROWS_WITH(one.run(x, {.order = {0, 1, 2, 3, 4}}),
                    Contains("there is no stream that predicts it"));
  CHECK_THROWS_WITH(one.run(x, {.types = Numbers(2 * kLength, 0)}), Contains("token_type_ids"));
  CHECK_THROWS_WITH(one.fprop(Tensor::zeros(one.device(), {3, 5})), Contains("expected [B, T, 6]"));
  CHECK_THROWS_WITH(
      Stack("tiny/Backend", Value::table({{"use_cls_mask", true}, {"segment_encoding", false}})),
      Contains("use_cls_mask: is not used without segment_encoding"));
  const auto with_block = [](const Value& block) {
    return Stack("tiny/Backend", Value::table({}), block);
  };
  CHECK_THROWS_WITH(with_block(Value::table({{"type", "nn/ReuseBlock"}})),
                    Contains("stacks nn/XlnetBlock, not nn/ReuseBlock"));
  CHECK_THROWS_WITH(with_block(Value::table({{"num_heads", 4}})),
                    Contains("num_heads: is 4, which does not divide input_dims = 6"));
  CHECK_THROWS_WITH(with_block(Value::table({{"input_dims", 9}})),
                    Contains("input_dims: is 9, but sines and cosines"));
}

TEST_CASE("a block of XLNet works alone, with biases of its own", "[nn]") {
  const Value fields = Value::table({{"input_dims", 6}, {"num_heads", 3}});
  const LayerFixture block("tiny/Backend", {"nn/XlnetBlock", fields});
  const Tensor x = block.tensor(random_values(2 * 4 * 6, 4), {2, 4, 6});
  CHECK(block.fprop(x).shape() == x.shape());
  CHECK_THROWS_WITH(block.fprop(Tensor::zeros(block.device(), {1, 3, 5})),
                    Contains("expected [B, T, 6]"));
  Value tied = fields;
  tied.set("has_attention_biases", false);
  CHECK_THROWS_WITH(LayerFixture("tiny/Backend", {"nn/XlnetBlock", tied}).fprop(x),
                    Contains("has no attention biases of its own"));
}

}  // namespace xlnet_transformer_test
