// SPDX-License-Identifier: Apache-2.0
// What a trainer sees of a checkpoint: tensors go into safetensors files, everything small into
// state.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config/value.h"
#include "trivet/tensor.h"

namespace trivet {

struct TensorPart;  // trivet/tensor/tensor_part.h

// The name of a step's checkpoint among the checkpoints of a run: "step_00001000".
TRIVET_API std::string checkpoint_name(std::int64_t step);
// The step of a name that checkpoint_name() gives; nothing for every other name, such as
// "step_1000", which would be looked for where it is not, and "step_00001000.tmp".
TRIVET_API std::optional<std::int64_t> parse_checkpoint_name(std::string_view name);

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

class TRIVET_API CheckpointWriter {
 public:
  virtual ~CheckpointWriter();
  // Writes `name`.safetensors, e.g. "model", "optimizer". Once per name. The tensors are copied
  // before this returns. Throws RunError for what cannot be written. All processes of a run write
  // the same tensors. [run-thread]
  virtual void write_tensors(std::string_view name, const NamedTensors& tensors) = 0;
  // Whether each process of a run writes its parts of tensors, by write_parts: none then needs
  // memory for whole ones. Default: false. [run-thread]
  virtual bool takes_parts() const;
  // The same where takes_parts(). The parts of all processes have the same names and shapes, in one
  // order, and make up the tensors. Default: throws Error. [run-thread]
  virtual void write_parts(std::string_view name, const std::vector<TensorPart>& parts);
  // Sets a key of state.json. [run-thread]
  virtual void state(std::string_view key, const Value& value) = 0;
};

// Tensors that a file has beside those that are asked for.
enum class OtherTensors { refused, ignored };

class TRIVET_API CheckpointReader {
 public:
  virtual ~CheckpointReader();
  // Copies the file's values into the given tensors. Throws Error listing in one go every name that
  // is missing, has another shape or type, or, where they are refused, is in the file and not asked
  // for. [run-thread]
  virtual void read_tensors(std::string_view name, NamedTensors& into,
                            OtherTensors others = OtherTensors::refused) const = 0;
  // The same for this process's parts of tensors: it reads no other elements. Default: reads whole
  // tensors. [run-thread]
  virtual void read_parts(std::string_view name, const std::vector<TensorPart>& into,
                          OtherTensors others = OtherTensors::refused) const;
  // Whether state.json has the key. [run-thread]
  virtual bool has_state(std::string_view key) const = 0;
  // Throws Error when there is none. [run-thread]
  virtual const Value& state(std::string_view key) const = 0;
  // The path, for messages. [run-thread]
  virtual std::string description() const = 0;
};

}  // namespace trivet
