// SPDX-License-Identifier: Apache-2.0
#include "data/multi/multi_input.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>

#include "trivet/error.h"
#include "trivet/plugin/plugin_call.h"
#include "trivet/plugin/registry.h"

namespace trivet::data {
namespace {

bool is_field_name(const std::string& name) {
  return !name.empty() && name != "weight" && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

std::int64_t integer_field(const ConfigOf<Input>& config, std::string_view name,
                           std::int64_t otherwise) {
  const Value* value = config.fields().find(name);
  return value != nullptr && value->is_integer() ? value->as_integer() : otherwise;
}

// The values in the shape [rows, k, ...].
Tensor in_rows(const Tensor& tensor, std::int64_t rows) {
  std::vector<std::int64_t> extents = {rows, tensor.dim(0) / rows};
  for (int axis = 1; axis < tensor.rank(); ++axis) extents.push_back(tensor.dim(axis));
  Tensor out = Tensor::host(Shape(extents), tensor.dtype());
  tensor.copy_bytes({static_cast<std::byte*>(out.mutable_view().data), out.bytes()});
  return out;
}

// The config of a part, on the hosts of the whole.
ConfigOf<Input> on_hosts(const ConfigOf<Input>& config, const InputConfig& whole,
                         const std::string& path) {
  Value value = config.to_value();
  const InputConfig usual;
  const auto give = [&](const char* field, std::int64_t of_whole, std::int64_t otherwise) {
    const std::int64_t own = integer_field(config, field, otherwise);
    if (own != otherwise && own != of_whole) {
      throw ConfigError(Diagnostic{.path = joined_path(path, field),
                                   .what = "is " + std::to_string(own) +
                                           ", but that of all inputs "
                                           "together is " +
                                           std::to_string(of_whole),
                                   .hint = "set it beside `inputs` only"});
    }
    value.set(field, of_whole);
  };
  give("num_infeed_hosts", whole.num_infeed_hosts, usual.num_infeed_hosts);
  give("infeed_host_index", whole.infeed_host_index, usual.infeed_host_index);
  return ConfigOf<Input>(ConfigValue::from_value(value, Input::kKind, path));
}

}  // namespace

void MultiConfig::validate(Diagnostics& diagnostics) const {
  InputConfig::validate(diagnostics);
  const InputConfig usual;
  const auto refuse = [&](const char* field, bool set) {
    if (set) diagnostics.add(field, "is not used: each of the inputs has its own", "move it there");
  };
  refuse("shuffle", shuffle != usual.shuffle);
  refuse("seed", seed != usual.seed);
  refuse("epochs", epochs != usual.epochs);
  refuse("drop_remainder", drop_remainder != usual.drop_remainder);
  if (inputs.empty()) diagnostics.add("inputs", "has no input");
  std::int64_t divisor = 0;
  for (const auto& [name, input] : inputs) {
    divisor = std::gcd(divisor, integer_field(input, "batch_size", 0));
  }
  for (const auto& [name, input] : inputs) {
    const std::string path = name.empty() ? "inputs" : joined_path("inputs", name);
    if (!is_field_name(name)) {
      diagnostics.add(path, "'" + name + "' is not the name of an input",
                      "use letters, digits, '_' and '-', and not 'weight'");
    }
    if (!input.has_value()) diagnostics.add(path, "is none", "name an input");
    const std::int64_t size = integer_field(input, "batch_size", 0);
    if (size <= 0 || batch_size <= 0 || size % batch_size == 0) continue;
    diagnostics.add(
        joined_path(path, "batch_size"),
        "is " + std::to_string(size) +
            ", no multiple of batch_size = " + std::to_string(batch_size),
        "the greatest common divisor of the inputs' sizes is " + std::to_string(divisor));
  }
}

MultiInput::MultiInput(const Config& config, InputContext& context)
    : rows_(config.batch_size), name_(context.name) {
  if (!context.examples.empty()) {
    throw InputError("data/Multi reads several inputs, so it cannot read examples to predict",
                     {.hint = "--like names another input of the config"});
  }
  for (const auto& [name, input] : config.inputs) {
    InputContext own = context;
    own.name = joined_path(joined_path(context.name, "inputs"), name);
    const std::string path = input.path().empty() ? own.name : input.path();
    const ConfigOf<Input> on_host = on_hosts(input, config, path);
    std::unique_ptr<Input> made = make(on_host, own);
    parts_.push_back({name, on_host, path, std::move(made)});
  }
  if (context.phase == Phase::evaluation) check_lengths();
}

// A run must not train for hours before its evaluation finds this.
void MultiInput::check_lengths() const {
  const Part* first = nullptr;
  std::int64_t batches = 0;
  for (const Part& part : parts_) {
    if (integer_field(part.config, "epochs", 0) > 1) continue;
    std::optional<std::int64_t> own;
    in_plugin(item_of(*part.input), "batches_per_epoch", part.path,
              [&] { own = part.input->batches_per_epoch(); });
    if (!own) continue;
    if (first == nullptr) {
      first = &part;
      batches = *own;
    } else if (*own != batches) {
      throw InputError("the input '" + part.name + "' has " + std::to_string(*own) +
                           " batches, and '" + first->name + "' has " + std::to_string(batches),
                       {.path = part.path,
                        .hint = "inputs that are evaluated together have equal numbers of batches; "
                                "task.eval_inputs evaluates others one after the other"});
    }
  }
}

void MultiInput::start() {
  for (const Part& part : parts_) {
    in_plugin(item_of(*part.input), "start", part.path, [&] { part.input->start(); });
  }
}

std::optional<std::vector<Batch>> MultiInput::next_batches() {
  std::vector<Batch> batches;
  const Part *ended = nullptr, *going = nullptr;
  for (const Part& part : parts_) {
    std::optional<Batch> batch = next_batch(*part.input, part.config);
    (batch ? going : ended) = &part;
    if (batch) batches.push_back(std::move(*batch));
  }
  if (ended == nullptr) return batches;
  if (going == nullptr) return std::nullopt;
  throw InputError("the input '" + ended->name + "' has ended before '" + going->name + "'",
                   {.path = ended->path,
                    .hint = "in training leave epochs at 0; in an evaluation give all inputs one "
                            "number of batches"});
}

std::optional<Batch> MultiInput::get_next() {
  const std::optional<std::vector<Batch>> batches = next_batches();
  if (!batches) return std::nullopt;
  Batch all;
  std::vector<float> weights(static_cast<std::size_t>(rows_), 0.0F);
  for (std::size_t i = 0; i < parts_.size(); ++i) add(parts_[i], (*batches)[i], all, weights);
  Tensor weight = Tensor::host({rows_});
  std::ranges::copy(weights, weight.mutable_span<float>().begin());
  all.set("weight", std::move(weight));
  return all;
}

void MultiInput::add(const Part& part, const Batch& batch, Batch& all,
                     std::vector<float>& weights) const {
  for (const auto& [field, tensor] : batch) {
    if (tensor.rank() == 0 || tensor.dim(0) < rows_ || tensor.dim(0) % rows_ != 0) {
      throw InputError("the field '" + field + "' of the input '" + part.name + "' is " +
                           tensor.to_string() + ", which are no " + std::to_string(rows_) +
                           " equal rows",
                       {.path = part.path,
                        .hint = "the input's batch_size is a multiple of that of all together"});
    }
    all.set(part.name + "/" + field, tensor.dim(0) == rows_ ? tensor : in_rows(tensor, rows_));
  }
  const Tensor* own = batch.find("weight");
  if (own == nullptr || own->dtype() != DType::f32 || own->rank() != 1) {
    std::ranges::fill(weights, 1.0F);
    return;
  }
  const auto values = own->span<float>();
  const std::size_t each = values.size() / weights.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) weights[i / each] = 1.0F;
  }
}

void MultiInput::reset() {
  for (const Part& part : parts_) {
    in_plugin(item_of(*part.input), "reset", part.path, [&] { part.input->reset(); });
  }
}

Value MultiInput::save_state() const {
  Value inputs = Value::table();
  for (const Part& part : parts_) {
    in_plugin(item_of(*part.input), "save_state", part.path,
              [&] { inputs.set(part.name, part.input->save_state()); });
  }
  return Value::table({{"inputs", std::move(inputs)}});
}

void MultiInput::restore_state(const Value& state) {
  const std::string owner = "the state of " + name_;
  const Value& inputs = state.at("inputs", owner, "the checkpoint was saved with another input");
  for (const auto& entry : inputs.members()) {
    const std::string& name = entry.key;
    if (std::ranges::none_of(parts_, [&](const Part& part) { return part.name == name; })) {
      throw InputError(owner + " has the input '" + name + "', which the config does not have",
                       {.hint = "the checkpoint was saved with other inputs"});
    }
  }
  for (const Part& part : parts_) {
    const Value& own = inputs.at(part.name, owner, "the checkpoint was saved with other inputs");
    in_plugin(item_of(*part.input), "restore_state", part.path,
              [&] { part.input->restore_state(own); });
  }
}

std::optional<std::int64_t> MultiInput::batches_per_epoch() const {
  std::optional<std::int64_t> all;
  for (const Part& part : parts_) {
    std::optional<std::int64_t> own;
    in_plugin(item_of(*part.input), "batches_per_epoch", part.path,
              [&] { own = part.input->batches_per_epoch(); });
    if (!own || (all && *all != *own)) return std::nullopt;
    all = own;
  }
  return all;
}

}  // namespace trivet::data
