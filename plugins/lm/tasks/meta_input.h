// SPDX-License-Identifier: Apache-2.0
// MetaInput: batches for a meta device (trivet/tensor/meta_device.h), of the shape that an
// input of rows would give; no file is opened. Every row is one segment that fills it, every id is
// 0. Has no end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trivet/backend/dtype.h"
#include "trivet/config/config_of.h"
#include "trivet/input.h"

namespace trivet::lm {

// A column of a batch with a number for each row or for each token.
struct MetaColumn {
  enum class Of { row, token };
  std::string name;
  DType dtype = DType::i32;
  Of of = Of::row;
};

class MetaInput final : public Input {
 public:
  // Rows with each of the prefixes before the names of their fields.
  MetaInput(std::int64_t batch_size, std::int64_t seq_len,
            const std::vector<std::string>& prefixes);

  // Adds a column of zeros, such as "next_sentence_label".
  void add(const MetaColumn& column);
  // Adds "permutation", with all tokens to predict.
  void add_permutation();
  // Adds "task_ids", those of task 0.
  void add_task_ids();

  std::optional<Batch> get_next() override { return batch_; }
  void reset() override {}
  Value save_state() const override { return Value::table(); }
  void restore_state(const Value&) override {}

 private:
  void add_rows(std::int64_t batch_size, std::int64_t seq_len, const std::string& prefix);

  std::int64_t batch_size_, seq_len_;
  Batch batch_;
};

// Replaces the input that `config` describes, and adds the columns. Returns null if its fields
// do not set batch_size and seq_len.
std::unique_ptr<Input> meta_input(const ConfigOf<Input>& config,
                                  const std::vector<std::string>& prefixes = {""},
                                  const std::vector<MetaColumn>& columns = {});

}  // namespace trivet::lm
