// SPDX-License-Identifier: Apache-2.0
// Scope: paths, and the layers made under them.
#include "trivet/layer/scope.h"

#include <algorithm>

#include "layer/shared_layers.h"
#include "trivet/backend/mesh_layout.h"
#include "trivet/config.h"
#include "trivet/error.h"
#include "trivet/layer.h"
#include "trivet/layer/layer_trace.h"
#include "trivet/plugin/registry.h"
#include "trivet/tensor/mesh.h"

namespace trivet {
namespace {

// Names become parts of tensor names in checkpoints, which other tools print, split and match.
bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

std::string joined(const std::string& path, std::string_view name) {
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_name_character)) {
    throw Error("'" + std::string(name) + "' in '" + path + "' cannot name a layer or parameter",
                {.hint = "use letters, digits, '_', '-' and '.'"});
  }
  return path.empty() ? std::string(name) : path + '/' + std::string(name);
}

std::string shared_name(const ConfigOf<Layer>& config) {
  const Value* name = config.fields().find("shared");
  return name != nullptr && name->is_string() ? name->as_string() : std::string();
}

[[noreturn]] void refuse_in_blocks(const std::string& what) {
  throw ConfigError(
      Diagnostic{.path = "mesh",
                 .what = "has devices along seq, and a layer that computes blocks of the positions "
                         "would have " +
                         what,
                 .hint = "use layers without running statistics, or a mesh without seq"});
}

[[noreturn]] void refuse_in_stage(const std::string& what, const std::string& hint) {
  throw ConfigError(Diagnostic{
      .path = "mesh", .what = "has stages, and one of them would have " + what, .hint = hint});
}

}  // namespace

Scope::Scope(ParameterStore& store, std::string path)
    : Scope(store, std::move(path), nullptr, Parameter::kEveryStage) {}

Scope::Scope(ParameterStore& store, const Mesh& mesh)
    : Scope(store, "", &mesh, Parameter::kEveryStage) {}

Scope::Scope(ParameterStore& store, std::string path, const Mesh* mesh, std::int64_t stage)
    : store_(store), path_(std::move(path)), mesh_(mesh), stage_(stage) {}

const Mesh& Scope::mesh() const {
  static const Mesh one;
  return mesh_ != nullptr ? *mesh_ : one;
}

Scope Scope::child(std::string_view name) const {
  Scope inner = *this;
  inner.path_ = joined(path_, name);
  return inner;
}

Scope Scope::at_stage(std::int64_t stage) const {
  store_.stages_ = mesh().axis(MeshLayout::kStageAxis);
  if (stage < 0 || stage >= store_.stages_.extent()) {
    throw Error("'" + path_ + "' has layers of stage " + std::to_string(stage) +
                ", and the mesh has " + std::to_string(store_.stages_.extent()) + " stages");
  }
  Scope of_stage = *this;
  of_stage.stage_ = store_.stages_.is_split() ? stage : Parameter::kEveryStage;
  return of_stage;
}

Scope Scope::in_sequence_blocks() const {
  Scope blocks = *this;
  blocks.is_in_sequence_blocks_ = mesh().axis(MeshLayout::kSequenceAxis).is_split();
  store_.has_sequence_blocks_ = store_.has_sequence_blocks_ || blocks.is_in_sequence_blocks_;
  return blocks;
}

Parameter& Scope::parameter(std::string_view name, const Shape& shape,
                            const ParameterOptions& options) {
  Parameter& made = store_.add(joined(path_, name), shape, options);
  made.stage_ = stage_;
  if (stage_ != Parameter::kEveryStage) made.rows_apart_ = false;
  return made;
}

Parameter& Scope::state(std::string_view name, const Shape& shape, double value) {
  if (stage_ != Parameter::kEveryStage) {
    refuse_in_stage("'" + joined(path_, name) + "', which is a state",
                    "use layers without running statistics, or a mesh without stage");
  }
  if (is_in_sequence_blocks_) {
    refuse_in_blocks("'" + joined(path_, name) + "', which is a state");
  }
  return parameter(name, shape, {.init = {Init::constant, value}, .trainable = false});
}

std::shared_ptr<Layer> Scope::layer(std::string_view name, const ConfigOf<Layer>& config) const {
  Scope inner = child(name);
  if (!config.has_value()) return nullptr;
  const auto make_here = [&]() -> std::shared_ptr<Layer> {
    if (!store_.shared_->paths.insert(inner.path()).second) {
      throw Error("there is already a layer at '" + inner.path() + "'",
                  {.hint = "give the children of a layer different names"});
    }
    return LayerTrace::make_layer(config, inner);
  };
  const std::string shared = shared_name(config);
  if (shared.empty()) return make_here();
  if (stage_ != Parameter::kEveryStage) {
    refuse_in_stage("the layer '" + inner.path() + "', which is shared as '" + shared + "'",
                    "each stage has weights of its own; use a mesh without stage");
  }

  auto [entry, is_new] = store_.shared_->layers.try_emplace(shared);
  if (is_new) {
    entry->second.config = config;
    entry->second.path = inner.path();
    entry->second.layer = make_here();
    return entry->second.layer;
  }
  const auto& first = entry->second;
  if (!first.layer) {
    throw Error("the layer shared as '" + shared + "' at '" + first.path +
                "' contains itself at '" + inner.path() + "'");
  }
  if (!(first.config == config)) {
    throw Error("the layers shared as '" + shared + "' differ: '" + first.path + "' is " +
                    to_toml(first.config.to_value()) + ", '" + inner.path() + "' is " +
                    to_toml(config.to_value()),
                {.hint = "give them the same config, or different shared names"});
  }
  return first.layer;
}

}  // namespace trivet
