// SPDX-License-Identifier: Apache-2.0
#include "lm/tasks/meta_input.h"

#include <algorithm>

#include "trivet/tensor.h"

namespace trivet::lm {
namespace {

// A tensor [B, T] filled with one number.
template <class T>
Tensor fill_tensor(std::int64_t batch_size, std::int64_t seq_len, T value) {
  Tensor tensor = Tensor::host({batch_size, seq_len}, dtype_of<T>);
  std::ranges::fill(tensor.mutable_span<T>(), value);
  return tensor;
}

bool is_true(const Value* value) {
  return value != nullptr && value->is_boolean() && value->as_boolean();
}

}  // namespace

MetaInput::MetaInput(std::int64_t batch_size, std::int64_t seq_len,
                     const std::vector<std::string>& prefixes)
    : batch_size_(batch_size), seq_len_(seq_len) {
  for (const std::string& prefix : prefixes) add_rows(batch_size, seq_len, prefix);
  Tensor weight = Tensor::host({batch_size}, DType::f32);
  std::ranges::fill(weight.mutable_span<float>(), 1.0F);
  batch_.set("weight", std::move(weight));
}

void MetaInput::add(const MetaColumn& column) {
  const bool is_of_tokens = column.of == MetaColumn::Of::token;
  Tensor zeros =
      Tensor::host(is_of_tokens ? Shape{batch_size_, seq_len_} : Shape{batch_size_}, column.dtype);
  if (column.dtype == DType::f32) {
    std::ranges::fill(zeros.mutable_span<float>(), 0.0F);
  } else {
    std::ranges::fill(zeros.mutable_span<std::int32_t>(), 0);
  }
  batch_.set(column.name, std::move(zeros));
}

void MetaInput::add_permutation() {
  batch_.set("permutation", fill_tensor<std::int32_t>(batch_size_, seq_len_, 0));
}

void MetaInput::add_task_ids() {
  batch_.set("task_ids", fill_tensor<std::int32_t>(batch_size_, seq_len_, 0));
}

void MetaInput::add_rows(std::int64_t batch_size, std::int64_t seq_len, const std::string& prefix) {
  Tensor positions = fill_tensor<std::int32_t>(batch_size, seq_len, 0);
  const auto position = positions.mutable_span<std::int32_t>();
  for (std::size_t i = 0; i < position.size(); ++i) {
    position[i] = static_cast<std::int32_t>(i % static_cast<std::size_t>(seq_len));
  }
  for (const char* zeros : {"ids", "labels", "inputs_indicator"}) {
    batch_.set(prefix + zeros, fill_tensor<std::int32_t>(batch_size, seq_len, 0));
  }
  for (const char* ones : {"segment_ids", "label_bytes"}) {
    batch_.set(prefix + ones, fill_tensor<std::int32_t>(batch_size, seq_len, 1));
  }
  batch_.set(prefix + "weights", fill_tensor<float>(batch_size, seq_len, 1));
  batch_.set(prefix + "paddings", fill_tensor<float>(batch_size, seq_len, 0));
  batch_.set(prefix + "segment_pos", std::move(positions));
}

std::unique_ptr<Input> meta_input(const ConfigOf<Input>& config,
                                  const std::vector<std::string>& prefixes,
                                  const std::vector<MetaColumn>& columns) {
  const std::int64_t batch_size = config.fields().integer_or("batch_size", 0);
  const std::int64_t seq_len = config.fields().integer_or("seq_len", 0);
  if (batch_size < 1 || seq_len < 1) return nullptr;
  auto input = std::make_unique<MetaInput>(batch_size, seq_len, prefixes);
  for (const MetaColumn& column : columns) input->add(column);
  if (is_true(config.fields().find("next_sentence"))) input->add({"next_sentence_label"});
  if (!config.fields().string_or("task_ids").empty()) input->add_task_ids();
  const Value* permutation = config.fields().find("permutation");
  if (permutation != nullptr && permutation->is_table() && is_true(permutation->find("enabled"))) {
    input->add_permutation();
  }
  return input;
}

}  // namespace trivet::lm
