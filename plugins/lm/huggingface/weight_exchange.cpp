// SPDX-License-Identifier: Apache-2.0
#include "lm/huggingface/weight_exchange.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "trivet/data/float_values.h"
#include "trivet/error.h"

namespace trivet::lm {
namespace {

constexpr std::size_t kMostLines = 20;

std::string describe(const SafetensorsEntry& entry) {
  return entry.name + " " + std::string(name_of(entry.dtype)) + " " + entry.shape.to_string();
}

Shape reverse_axes(const Shape& shape) {
  std::vector<std::int64_t> extents(shape.begin(), shape.end());
  std::reverse(extents.begin(), extents.end());
  return Shape(extents);
}

// The shape of each of the tensor's variables.
Shape variable_shape(const HfTensor& tensor) {
  const Shape whole = tensor.transposed ? reverse_axes(tensor.shape) : tensor.shape;
  std::vector<std::int64_t> extents(whole.begin(), whole.end());
  extents.back() /= std::ssize(tensor.variables);
  return Shape(extents);
}

// [rows, columns] -> [columns, rows], in blocks that stay in the cache.
std::vector<float> transpose_matrix(std::span<const float> x, std::size_t rows,
                                    std::size_t columns) {
  constexpr std::size_t kSquare = 32;
  std::vector<float> y(x.size());
  for (std::size_t r = 0; r < rows; r += kSquare) {
    for (std::size_t c = 0; c < columns; c += kSquare) {
      for (std::size_t i = r; i < std::min(r + kSquare, rows); ++i) {
        for (std::size_t j = c; j < std::min(c + kSquare, columns); ++j) {
          y[j * rows + i] = x[i * columns + j];
        }
      }
    }
  }
  return y;
}

void add(Weights& weights, std::string name, const Shape& shape, std::vector<float> values) {
  weights.values.push_back(std::move(values));
  weights.entries.push_back(
      {std::move(name), DType::f32, shape, std::as_bytes(std::span(weights.values.back()))});
}

std::size_t extent(const Shape& shape, std::size_t axis) {
  return static_cast<std::size_t>(shape[axis]);
}

void import_tensor(const HfTensor& tensor, const SafetensorsEntry& entry, Weights& weights) {
  const Shape shape = variable_shape(tensor);
  const std::size_t parts = tensor.variables.size();
  if (parts == 1 && !tensor.transposed && entry.dtype == DType::f32) {
    weights.entries.push_back({tensor.variables[0], DType::f32, shape, entry.data});
    return;
  }
  const std::vector<float> values = floats_of(entry);
  if (tensor.transposed) {
    return add(weights, tensor.variables[0], shape,
               transpose_matrix(values, extent(tensor.shape, 0), extent(tensor.shape, 1)));
  }
  const std::size_t width = extent(shape, shape.rank() - 1), all = parts * width;
  for (std::size_t part = 0; part < parts; ++part) {
    std::vector<float> own;
    own.reserve(values.size() / parts);
    for (std::size_t at = part * width; at < values.size(); at += all) {
      own.insert(own.end(), values.begin() + static_cast<std::ptrdiff_t>(at),
                 values.begin() + static_cast<std::ptrdiff_t>(at + width));
    }
    add(weights, tensor.variables[part], shape, std::move(own));
  }
}

std::string problem_of(const HfTensor& tensor, const SafetensorsEntry* entry) {
  if (entry == nullptr) return tensor.name + " f32 " + tensor.shape.to_string() + " is missing";
  if (!holds_floats(*entry)) {
    return describe(*entry) + ": expected f32, bf16 or f16";
  }
  if (entry->shape == tensor.shape) return {};
  const bool turned = entry->shape == reverse_axes(tensor.shape);
  return describe(*entry) + ": " + tensor.shape.to_string() + " was expected" +
         (turned ? ", the transpose" : " by config.json");
}

// A model without its own head may still store the head as a copy of the table.
std::string problem_of_head(const HfWeights& source, const HfLayout& layout,
                            const SafetensorsEntry& head) {
  const SafetensorsEntry* table = source.find(layout.embedding());
  const bool same =
      table != nullptr && table->dtype == head.dtype && std::ranges::equal(table->data, head.data);
  return same ? std::string()
              : describe(head) +
                    " differs from the embedding, and config.json says that they are tied: "
                    "set \"tie_word_embeddings\": false there";
}

void throw_if_any(const std::vector<std::string>& diagnostics, const std::string& source) {
  if (diagnostics.empty()) return;
  std::string text = source + " does not fit its config.json:";
  for (std::size_t i = 0; i < std::min(diagnostics.size(), kMostLines); ++i) {
    text += "\n  " + diagnostics[i];
  }
  if (diagnostics.size() > kMostLines) {
    text += "\n  and " + std::to_string(diagnostics.size() - kMostLines) + " more";
  }
  throw UsageError(text, {.hint = "config.json and the tensors must belong to one model, saved by "
                                  "save_pretrained()"});
}

// Variables by path. Each is taken once.
class Variables {
 public:
  explicit Variables(const NamedTensors& all) {
    for (const auto& [path, tensor] : all) left_.emplace(path, &tensor);
  }

  const Tensor& take(const std::string& path, const Shape& shape) {
    const auto found = left_.find(path);
    if (found == left_.end()) throw Error("the model has no variable '" + path + "'");
    const Tensor& tensor = *found->second;
    if (!(tensor.shape() == shape) || tensor.dtype() != DType::f32) {
      throw Error("the model's '" + path + "' is " + tensor.to_string() + ", f32 " +
                  shape.to_string() + " was expected");
    }
    left_.erase(found);
    return tensor;
  }

  void require_none_left() const {
    if (left_.empty()) return;
    throw UsageError("the layout has no tensor for the model's variable '" + left_.begin()->first +
                     "'");
  }

 private:
  std::map<std::string, const Tensor*> left_;
};

void export_tensor(const HfTensor& tensor, const std::string& name, Variables& variables,
                   Weights& weights) {
  const Shape shape = variable_shape(tensor);
  if (tensor.variables.size() == 1 && !tensor.transposed) {
    weights.bytes.push_back(variables.take(tensor.variables[0], shape).to_bytes());
    weights.entries.push_back({name, DType::f32, tensor.shape, weights.bytes.back()});
    return;
  }
  std::vector<std::vector<float>> parts;
  for (const std::string& path : tensor.variables) {
    parts.push_back(variables.take(path, shape).to_host<float>());
  }
  if (tensor.transposed) {
    return add(weights, name, tensor.shape,
               transpose_matrix(parts[0], extent(shape, 0), extent(shape, 1)));
  }
  const auto width = static_cast<std::ptrdiff_t>(extent(shape, shape.rank() - 1));
  std::vector<float> values;
  values.reserve(parts.size() * parts[0].size());
  for (std::ptrdiff_t at = 0; at < std::ssize(parts[0]); at += width) {
    for (const std::vector<float>& part : parts) {
      values.insert(values.end(), part.begin() + at, part.begin() + at + width);
    }
  }
  add(weights, name, tensor.shape, std::move(values));
}

}  // namespace

Weights imported(const HfWeights& source, const HfLayout& layout, const DecoderShape& shape) {
  const std::vector<HfTensor> tensors = layout.tensors(shape);
  std::vector<std::string> diagnostics;
  const auto note = [&](std::string problem) {
    if (!problem.empty()) diagnostics.push_back(std::move(problem));
  };
  std::set<std::string> known;
  for (const HfTensor& tensor : tensors) {
    known.insert(tensor.name);
    note(problem_of(tensor, source.find(tensor.name)));
  }
  for (const auto& [name, entry] : source.tensors()) {
    if (known.contains(name) || layout.is_constant(name)) continue;
    if (name == kHeadTensor) {
      note(problem_of_head(source, layout, entry));
    } else {
      note(describe(entry) + " has no variable in the model");
    }
  }
  throw_if_any(diagnostics, source.name());
  Weights weights;
  for (const HfTensor& tensor : tensors) {
    import_tensor(tensor, *source.find(tensor.name), weights);
  }
  return weights;
}

Weights published(const NamedTensors& variables, const HfLayout& layout,
                  const DecoderShape& shape) {
  Weights weights;
  Variables left(variables);
  for (const HfTensor& tensor : layout.tensors(shape)) {
    const bool plain = tensor.name == kHeadTensor;
    export_tensor(tensor, (plain ? "" : std::string(layout.prefix())) + tensor.name, left, weights);
  }
  left.require_none_left();
  std::sort(weights.entries.begin(), weights.entries.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return weights;
}

}  // namespace trivet::lm
