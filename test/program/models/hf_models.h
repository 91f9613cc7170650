// SPDX-License-Identifier: Apache-2.0
// Small models with random weights in the layouts that Hugging Face's transformers publish, written
// only from the format's description, and their logits by the published formulas, in double.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "safetensors_reader.h"

namespace trivet::test {

// Tensors by their published names, and config.json.
struct PublishedModel {
  nlohmann::json config;
  std::map<std::string, StoredTensor> tensors;

  // Random values around `mean`.
  void add(const std::string& name, const std::vector<std::int64_t>& shape, double mean = 0);
  // Rounds every number to 16 bits: "F16" or "BF16".
  void round_to(const std::string& dtype);
};

// D = 24, 2 layers, 3 heads, 20 positions; names start with "transformer.".
PublishedModel small_gpt2(std::int64_t vocab_size = 61);
// V = 61, D = 24, 2 layers, 4 heads, 2 of keys and values, 40 hidden, theta 5000; its head is tied
// or not. Names start with "model.".
PublishedModel small_llama(bool tied, std::int64_t vocab_size = 61);

// [T * V], Radford et al. 2019, as in GPT2LMHeadModel.
std::vector<double> gpt2_logits(const PublishedModel& model, const std::vector<std::int32_t>& ids);
// [T * V], Touvron et al. 2023, as in LlamaForCausalLM.
std::vector<double> llama_logits(const PublishedModel& model, const std::vector<std::int32_t>& ids);

// The bytes of a .safetensors file.
std::string safetensors_bytes(const std::map<std::string, StoredTensor>& tensors);
// config.json and model.safetensors.
void write_model(const PublishedModel& model, const std::filesystem::path& folder);

}  // namespace trivet::test
