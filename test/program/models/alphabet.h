// SPDX-License-Identifier: Apache-2.0
// A language model that has learned the alphabet, for tests of `trivet generate`.
#pragma once

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "program/run/run_fixture.h"
#include "support/shell.h"

namespace trivet::test {

// Text in which two bytes determine the next one.
inline std::string alphabet_text() {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "abcdefghijklmnopqrstuvwxyz";
  return text;
}

// `text` with the folder of the texts instead of "@".
inline std::string with_folder(std::string text, const std::filesystem::path& folder) {
  for (std::size_t at; (at = text.find('@')) != std::string::npos;) {
    text.replace(at, 1, folder.string());
  }
  return text;
}

// A model trained on the alphabet.
class Alphabet {
 public:
  Alphabet() {
    temp_.write("text/alphabet.txt", alphabet_text());
    temp_.write("lm.toml", with_folder(R"(
seed = 1
[task]
type = "lm/LanguageModeling"
tokenizer = "tokenizers/Bytes"
sample_prompts = ["xyz"]
[task.decode]
max_decode_steps = 10
[task.model]
type = "lm/LanguageModel"
model_dims = 32
num_layers = 1
num_heads = 2
max_seq_len = 64
[task.model.block_tpl]
type = "nn/TransformerBlock"
attention_tpl = { type = "nn/MultiHeadAttention", use_rotary_position_emb = true }
[task.train_input]
type = "data/Text"
files = ["@/*.txt"]
part_end = 0.9
seq_len = 32
batch_size = 8
shuffle = true
[task.eval_input]
type = "data/Text"
files = ["@/*.txt"]
part_begin = 0.9
seq_len = 32
batch_size = 8
[trainer]
train_steps = 60
steps_per_loop = 20
learning_rate = 0.01
eval_actions = ["lm/NgramBaselines"]
optimizer = "optim/Adam"
)",
                                       temp_ / "text"));
    result_ = run(temp_ / "lm.toml", workdir(), "runtime.threads=1");
  }

  const ShellResult& result() const { return result_; }
  std::filesystem::path workdir() const { return temp_ / "run"; }
  const TempDir& temp() const { return temp_; }

  // Its newest checkpoint.
  std::filesystem::path checkpoint() const { return workdir() / "checkpoints" / "step_00000060"; }

  ShellResult generate(const std::string& words) const {
    return trivet::test::trivet("generate " + quoted(workdir().string()) + " " + words);
  }

 private:
  TempDir temp_;
  ShellResult result_;
};

inline std::vector<nlohmann::json> lines_of(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace trivet::test
