// SPDX-License-Identifier: Apache-2.0
// The formulas, position by position, in double.
#include <cmath>

#include "hf_models.h"

namespace trivet::test {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

std::size_t size_in(const PublishedModel& model, const char* field) {
  return model.config.at(field).get<std::size_t>();
}

// A row of a tensor.
double at(const StoredTensor& tensor, std::size_t i) {
  return static_cast<double>(tensor.values[i]);
}

Row row_of(const StoredTensor& table, std::size_t row, std::size_t width) {
  Row values;
  for (std::size_t i = 0; i < width; ++i) values.push_back(at(table, row * width + i));
  return values;
}

// Conv1D: x W + b, W [in, out].
Row conv1d(const Row& x, const StoredTensor& weight, const StoredTensor& bias) {
  const std::size_t out = bias.values.size();
  Row y;
  for (std::size_t o = 0; o < out; ++o) {
    double sum = at(bias, o);
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * at(weight, i * out + o);
    y.push_back(sum);
  }
  return y;
}

// Linear: x W^T, W [out, in].
Row linear(const Row& x, const StoredTensor& weight) {
  Row y;
  for (std::size_t o = 0; o < weight.values.size() / x.size(); ++o) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * at(weight, o * x.size() + i);
    y.push_back(sum);
  }
  return y;
}

Row layer_norm(const Row& x, const StoredTensor& weight, const StoredTensor& bias, double epsilon) {
  double mean = 0, variance = 0;
  for (const double v : x) mean += v / static_cast<double>(x.size());
  for (const double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
  Row y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    y.push_back((x[i] - mean) / std::sqrt(variance + epsilon) * at(weight, i) + at(bias, i));
  }
  return y;
}

Row rms_norm(const Row& x, const StoredTensor& weight, double epsilon) {
  double square = 0;
  for (const double v : x) square += v * v / static_cast<double>(x.size());
  Row y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    y.push_back(x[i] / std::sqrt(square + epsilon) * at(weight, i));
  }
  return y;
}

void add_to(Row& x, const Row& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

// Head `head` at position `t`, over the positions up to it.
Row attended(const Rows& q, const Rows& k, const Rows& v, std::size_t t, std::size_t head,
             std::size_t kv_head, std::size_t depth) {
  Row weights;
  double total = 0;
  for (std::size_t s = 0; s <= t; ++s) {
    double score = 0;
    for (std::size_t d = 0; d < depth; ++d) {
      score += q[t][head * depth + d] * k[s][kv_head * depth + d];
    }
    weights.push_back(std::exp(score / std::sqrt(static_cast<double>(depth))));
    total += weights.back();
  }
  Row mixed(depth, 0.0);
  for (std::size_t s = 0; s <= t; ++s) {
    for (std::size_t d = 0; d < depth; ++d) {
      mixed[d] += weights[s] / total * v[s][kv_head * depth + d];
    }
  }
  return mixed;
}

Rows attention(const Rows& q, const Rows& k, const Rows& v, std::size_t heads,
               std::size_t kv_heads) {
  const std::size_t depth = q[0].size() / heads;
  Rows mixed(q.size());
  for (std::size_t t = 0; t < q.size(); ++t) {
    for (std::size_t head = 0; head < heads; ++head) {
      const Row part = attended(q, k, v, t, head, head / (heads / kv_heads), depth);
      mixed[t].insert(mixed[t].end(), part.begin(), part.end());
    }
  }
  return mixed;
}

double gelu_new(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

double silu(double x) {
  return x / (1 + std::exp(-x));
}

// modeling_llama's x * cos + rotate_half(x) * sin: the second half of a head belongs to the first.
void turn(Row& x, std::size_t position, std::size_t depth, double theta) {
  const Row before = x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t d = i % depth, half = depth / 2, pair = d % half;
    const double angle =
        static_cast<double>(position) *
        std::pow(theta, -2.0 * static_cast<double>(pair) / static_cast<double>(depth));
    const double other = d < half ? -before[i + half] : before[i - half];
    x[i] = before[i] * std::cos(angle) + other * std::sin(angle);
  }
}

Row appended(const Rows& rows) {
  Row all;
  for (const Row& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

}  // namespace

std::vector<double> gpt2_logits(const PublishedModel& model, const std::vector<std::int32_t>& ids) {
  const std::size_t dims = size_in(model, "n_embd");
  const double epsilon = model.config.at("layer_norm_epsilon");
  const auto& all = model.tensors;
  const auto norm = [&](const Row& x, const std::string& name) {
    return layer_norm(x, all.at(name + ".weight"), all.at(name + ".bias"), epsilon);
  };
  const auto product = [&](const Row& x, const std::string& name) {
    return conv1d(x, all.at(name + ".weight"), all.at(name + ".bias"));
  };
  const StoredTensor& wte = all.at("transformer.wte.weight");
  Rows x;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    x.push_back(row_of(wte, static_cast<std::size_t>(ids[t]), dims));
    add_to(x[t], row_of(all.at("transformer.wpe.weight"), t, dims));
  }
  for (std::size_t i = 0; i < size_in(model, "n_layer"); ++i) {
    const std::string h = "transformer.h." + std::to_string(i) + ".";
    Rows q, k, v;
    for (const Row& location : x) {
      const Row qkv = product(norm(location, h + "ln_1"), h + "attn.c_attn");
      const auto part = [&](std::size_t n) {
        const auto begin = qkv.begin() + static_cast<std::ptrdiff_t>(n * dims);
        return Row(begin, begin + static_cast<std::ptrdiff_t>(dims));
      };
      q.push_back(part(0));
      k.push_back(part(1));
      v.push_back(part(2));
    }
    const std::size_t heads = size_in(model, "n_head");
    const Rows mixed = attention(q, k, v, heads, heads);
    for (std::size_t t = 0; t < x.size(); ++t) {
      add_to(x[t], product(mixed[t], h + "attn.c_proj"));
      Row hidden = product(norm(x[t], h + "ln_2"), h + "mlp.c_fc");
      for (double& each : hidden) each = gelu_new(each);
      add_to(x[t], product(hidden, h + "mlp.c_proj"));
    }
  }
  Rows logits;
  for (const Row& location : x) logits.push_back(linear(norm(location, "transformer.ln_f"), wte));
  return appended(logits);
}

std::vector<double> llama_logits(const PublishedModel& model,
                                 const std::vector<std::int32_t>& ids) {
  const std::size_t heads = size_in(model, "num_attention_heads");
  const std::size_t dims = size_in(model, "hidden_size");
  const std::size_t depth = model.config.value("head_dim", dims / heads);
  const double epsilon = model.config.at("rms_norm_eps");
  const double theta = model.config.at("rope_theta");
  const auto& all = model.tensors;
  const auto norm = [&](const Row& x, const std::string& name) {
    return rms_norm(x, all.at(name + ".weight"), epsilon);
  };
  const auto product = [&](const Row& x, const std::string& name) {
    return linear(x, all.at(name + ".weight"));
  };
  const StoredTensor& table = all.at("model.embed_tokens.weight");
  Rows x;
  for (const std::int32_t id : ids) x.push_back(row_of(table, static_cast<std::size_t>(id), dims));
  for (std::size_t i = 0; i < size_in(model, "num_hidden_layers"); ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    Rows q, k, v;
    for (std::size_t t = 0; t < x.size(); ++t) {
      const Row h = norm(x[t], layer + "input_layernorm");
      q.push_back(product(h, layer + "self_attn.q_proj"));
      k.push_back(product(h, layer + "self_attn.k_proj"));
      v.push_back(product(h, layer + "self_attn.v_proj"));
      turn(q[t], t, depth, theta);
      turn(k[t], t, depth, theta);
    }
    const Rows mixed = attention(q, k, v, heads, size_in(model, "num_key_value_heads"));
    for (std::size_t t = 0; t < x.size(); ++t) {
      add_to(x[t], product(mixed[t], layer + "self_attn.o_proj"));
      const Row h = norm(x[t], layer + "post_attention_layernorm");
      Row gate = product(h, layer + "mlp.gate_proj");
      const Row up = product(h, layer + "mlp.up_proj");
      for (std::size_t d = 0; d < gate.size(); ++d) gate[d] = silu(gate[d]) * up[d];
      add_to(x[t], product(gate, layer + "mlp.down_proj"));
    }
  }
  const bool tied = model.config.at("tie_word_embeddings");
  const StoredTensor& head = tied ? table : all.at("lm_head.weight");
  Rows logits;
  for (const Row& location : x) logits.push_back(linear(norm(location, "model.norm"), head));
  return appended(logits);
}

}  // namespace trivet::test
