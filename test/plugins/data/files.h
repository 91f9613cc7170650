// SPDX-License-Identifier: Apache-2.0
// Small data files for the tests of the data plugin, and helpers that read them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/images/idx_input.h"
#include "data/images/npy_input.h"
#include "data/images/synthetic_input.h"
#include "support/shell.h"
#include "trivet/error.h"

namespace trivet::test {

void write_file(const std::filesystem::path& path, const std::string& bytes);

// An IDX file of this type and these extents, with any data.
std::string idx(const std::vector<std::uint32_t>& extents, const std::string& elements,
                int type = 8);
// n images of 2 x 2 pixels whose first two pixels are the number of the image, low byte first.
std::string numbered_images(std::uint32_t n);
// Labels 0, 1, ..., classes - 1, 0, 1, ...
std::string cyclic_labels(std::uint32_t n, std::uint32_t classes);
std::string gzip(const std::string& bytes);
// A .npy file, version 1.0, with this dict.
std::string npy(const std::string& dict, const std::string& elements);

// The examples of batches from numbered images: those with weight 1, and how many have 0.
struct Seen {
  std::vector<std::int64_t> examples;
  std::int64_t padding = 0;
  std::int64_t batches = 0;
  bool operator==(const Seen&) const = default;
};
// Of one batch of numbered images (made with scale = 1).
void note(const Batch& batch, Seen& seen);
// Of the next `batches` batches, or all to the end of the data.
Seen take(Input& input, std::int64_t batches = -1);

// The message of the InputError that `body` throws; empty without one. Any other error fails the
// test.
template <class F>
std::string input_error(F&& body) {
  try {
    body();
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

// The error message of opening the input as a run does before its first step. Training and
// evaluation must give the same message.
template <class T>
std::string complaint(const typename T::Config& config) {
  std::vector<std::string> texts;
  for (const Phase phase : {Phase::training, Phase::evaluation}) {
    InputContext context{.phase = phase, .name = "task.train_input"};
    texts.push_back(input_error([&] { T(config, context).batches_per_epoch(); }));
  }
  return texts[0] == texts[1] ? texts[0] : "differs: " + texts[0] + " / " + texts[1];
}

}  // namespace trivet::test
