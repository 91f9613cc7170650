// SPDX-License-Identifier: Apache-2.0
// Checkpoints as files, for tools: finds them by path, compares and averages them. Takes no run
// lock and changes no run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/backend/dtype.h"
#include "trivet/config.h"
#include "trivet/config/value.h"
#include "trivet/data/safetensors.h"
#include "trivet/tensor/shape.h"

namespace trivet {

// All checkpoints that a path refers to, by step: the path itself, those in it, or those of its run
// (the best ones last). Throws UsageError if there is none.
std::vector<std::filesystem::path> checkpoints_at(const std::filesystem::path& path);
// The newest of them that is not a best one.
std::filesystem::path checkpoint_at(const std::filesystem::path& path);

// "model", "optimizer", ...: the *.safetensors files of a checkpoint, in the order of their names.
std::vector<std::string> tensor_files(const std::filesystem::path& checkpoint);

// One tensor of two checkpoints.
struct TensorDifference {
  enum class What { equal, values, form, only_first, only_second };
  std::string file, name;
  What what = What::equal;
  std::string first, second;  // "f32 [784, 512]", empty if missing
  double largest = 0;         // absolute difference of elements
  double relative = 0;        // l2 norm of the difference over that of the first
};
TRIVET_ENUM(TensorDifference::What, equal, values, form, only_first, only_second)

// Every tensor of either checkpoint, by file and name. Floats are compared as numbers, others by
// their bytes. A number that is NaN in both is equal.
std::vector<TensorDifference> compare_checkpoints(const std::filesystem::path& first,
                                                  const std::filesystem::path& second);

// Writes a new checkpoint directory that has only a model, and what it is `about` under `key` of
// its state.json. The write is atomic. Throws RunError.
void write_model_checkpoint(const std::filesystem::path& out,
                            std::span<const SafetensorsEntry> model, std::int64_t step,
                            std::string_view key, const Value& about);

// Writes a checkpoint of a model that no run has trained into `run`/checkpoints, which must not
// contain any. The write is atomic. Throws RunError.
void save_first_checkpoint(const std::filesystem::path& run,
                           std::span<const SafetensorsEntry> model, std::int64_t step);

// Writes a new checkpoint directory whose model.safetensors has the mean of each f32 tensor over
// `sources`, summed in double precision in their order. Tensors of other types must be equal in
// all. The write is atomic. Throws RunError if the models differ, or `out` exists. Returns the step
// in its manifest, the largest of the sources.
std::int64_t average_checkpoints(const std::filesystem::path& out,
                                 const std::vector<std::filesystem::path>& sources);

}  // namespace trivet
