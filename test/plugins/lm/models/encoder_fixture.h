// SPDX-License-Identifier: Apache-2.0
// Models over tokens for tests: with weights of seed 7, run on explicit batches, and wrapped as a
// layer for gradient checks.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugins/lm/transformer_reference.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/model.h"
#include "trivet/testing/layer_check.h"

namespace trivet::test {

using Tokens = std::vector<std::int32_t>;

template <class M>
struct EncoderFixture {
  explicit EncoderFixture(const typename M::Config& config,
                          const std::string& backend = "tiny/Backend")
      : device(open_device(backend)), store(*device, RngKey(7)) {
    use_plugin("nn");
    Scope scope(store);
    model = std::make_unique<M>(config, scope);
    store.build();
  }

  Tensor ids(const Tokens& tokens, const Shape& shape) const {
    return Tensor::from<std::int32_t>(*device, tokens, shape);
  }
  Tensor numbers(const std::vector<float>& values, const Shape& shape) const {
    return Tensor::from<float>(*device, values, shape);
  }
  Tensor run(const Batch& batch, const char* output = "logits", bool train = false) {
    FpropContext context;
    context.train = train;
    return model->fprop(batch, context).at(output);
  }
  std::vector<float> values(const Batch& batch, const char* output = "logits") {
    return run(batch, output).template to_host<float>();
  }

  bool has(const std::string& path) const { return store.find(path) != nullptr; }
  std::vector<float> parameter(const std::string& path) const {
    const Parameter* found = store.find(path);
    if (found == nullptr) throw Error("there is no parameter " + path);
    return found->value().template to_host<float>();
  }
  Weights below(const std::string& path) const {
    return [this, path](const std::string& name) { return parameter(path + "/" + name); };
  }

  // Empty when the gradients of all weights of this output agree with central differences.
  std::string gradient_check(Batch batch, const char* output = "logits",
                             const testing::LayerCheckOptions& options = {}) {
    struct Seen final : Layer {
      Seen(M& m, Batch b, const char* o) : model(m), batch(std::move(b)), output(o) {}
      Tensor fprop(const Tensor&, FpropContext& context) override {
        return model.fprop(batch, context).at(output);
      }
      M& model;
      Batch batch;
      const char* output;
    };
    const Tensor unused = ids({0}, {1});
    Seen layer(*model, std::move(batch), output);
    return testing::check_layer_gradients(layer, store, unused, options);
  }

  std::unique_ptr<Device> device;
  ParameterStore store;
  std::unique_ptr<M> model;
};

inline Tokens some_tokens(std::size_t count, std::uint64_t seed, std::int32_t vocabulary) {
  std::vector<std::uint32_t> bits(count);
  random_bits(RngKey(seed), 0, bits);
  Tokens tokens;
  for (const std::uint32_t each : bits) {
    tokens.push_back(static_cast<std::int32_t>(each % static_cast<std::uint32_t>(vocabulary)));
  }
  return tokens;
}

// The rows of a table that the ids name.
inline Rows rows_of_table(const std::vector<float>& table, const Tokens& ids, std::size_t dims) {
  Rows rows;
  for (const std::int32_t id : ids) {
    const auto begin = table.begin() + static_cast<std::ptrdiff_t>(dims) * id;
    rows.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(dims));
  }
  return rows;
}

// The tanh form of gelu, as nn/Gelu's default.
inline Rows gelu(Rows rows) {
  for (Row& row : rows) {
    for (double& v : row) {
      v *= 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
    }
  }
  return rows;
}

// A block with norms after the sums (Vaswani et al. 2017), in double.
template <class Fixture>
Rows paper_block(const Rows& x, const Fixture& fixture, const std::string& path) {
  const Weights weight = fixture.below(path);
  const Heads heads{.heads = 2, .kv_heads = 2};
  const Rows h = layer_norm(sum(x, attention(x, fixture.below(path + "/attention"), heads)),
                            weight("attention_norm/scale"), weight("attention_norm/bias"));
  const Rows mlp = affine(gelu(affine(h, weight("mlp_in/w"), weight("mlp_in/b"))),
                          weight("mlp_out/w"), weight("mlp_out/b"));
  return layer_norm(sum(h, mlp), weight("mlp_norm/scale"), weight("mlp_norm/bias"));
}

// An encoder with token types and a norm of the embeddings (Devlin et al. 2018) in double, with
// norms before the blocks, or, with `paper`, as in the paper. Embeddings of another depth are
// projected, and blocks without weights of their own share those of the first one (Lan et al.
// 2020). A Fixture has has(), parameter() and below().
template <class Fixture>
Rows reference_encoding(const Fixture& fixture, const Tokens& ids, const Tokens& types,
                        std::size_t layers, bool paper = false) {
  const auto norm = [&](const Rows& x, const std::string& path) {
    return layer_norm(x, fixture.parameter(path + "/scale"), fixture.parameter(path + "/bias"));
  };
  const auto rows = [&](const char* table, const Tokens& of) {
    const std::size_t dims = fixture.parameter("embedding_norm/scale").size();
    return rows_of_table(fixture.parameter(table), of, dims);
  };
  Tokens positions(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) positions[i] = static_cast<std::int32_t>(i);
  Rows x = sum(rows("embedding/table", ids), rows("token_type_emb/table", types));
  x = norm(sum(x, rows("position_emb/table", positions)), "embedding_norm");
  if (fixture.has("embedding_projection/w")) {
    x = affine(x, fixture.parameter("embedding_projection/w"),
               fixture.parameter("embedding_projection/b"));
  }
  for (std::size_t layer = 0; layer < layers; ++layer) {
    std::string path = "transformer/layer_" + std::to_string(layer);
    if (!fixture.has(path + "/mlp_in/w")) path = "transformer/layer_0";
    x = paper ? paper_block(x, fixture, path)
              : transformer_block(x, fixture.below(path), {.heads = 2, .kv_heads = 2});
  }
  return paper ? x : norm(x, "final_norm");
}

// h table^T + b.
inline Rows tied_logits(const Rows& h, const std::vector<float>& table,
                        const std::vector<float>& bias) {
  Rows logits;
  for (const Row& row : h) {
    Row& out = logits.emplace_back(bias.begin(), bias.end());
    for (std::size_t c = 0; c < out.size(); ++c) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        out[c] += row[i] * static_cast<double>(table[c * row.size() + i]);
      }
    }
  }
  return logits;
}

}  // namespace trivet::test
