// SPDX-License-Identifier: Apache-2.0
// ParameterStore: all parameters of one model.
//
// Parameters get their memory all at once, in one flat block each for values and gradients, when
// the model is built; until then only their shape may be asked.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/layer/initializer.h"
#include "trivet/tape.h"
#include "trivet/tensor.h"
#include "trivet/tensor/device.h"
#include "trivet/tensor/mesh_axis.h"
#include "trivet/tensor/random.h"

namespace trivet {

class MeshShards;   // trivet/tensor/mesh_shards.h
class RowShare;     // trivet/layer/row_share.h
struct TensorPart;  // trivet/tensor/tensor_part.h

namespace detail {
class GradientParts;
struct RowLeaves;
class UnitParts;
class WeightParts;
struct BlockPlan;
}  // namespace detail

// A named tensor that a layer owns. Trainable ones have a gradient and are updated by the
// optimizer; the others are states (running means) that the layer itself assigns. Both are saved.
class TRIVET_API Parameter {
 public:
  const std::string& path() const { return path_; }
  const Shape& shape() const { return shape_; }
  bool trainable() const { return trainable_; }
  // A weight that was made a state (ParameterStore::freeze): nothing changes it.
  bool is_frozen() const { return is_frozen_; }
  // ParameterOptions::blocks. The value is whole wherever it is computed with in blocks.
  std::int64_t blocks() const { return blocks_; }
  // The stage of a pipeline that computes with it (Scope::at_stage), or kEveryStage.
  static constexpr std::int64_t kEveryStage = -1;
  std::int64_t stage() const { return stage_; }
  // ParameterOptions::rows_apart.
  bool rows_apart() const { return rows_apart_; }
  // Requires a gradient when trainable. Throws Error before the model is built. Where processes
  // have parts of the weights (ParameterStore::build_in_parts), reading it is an exchange of all of
  // them, unless they keep all; and it cannot be changed in place. In a block of positions it is
  // the same value for the gradient of the block (SequenceCut::for_each).
  const Tensor& value() const;
  // What backward accumulated; its contents count only where slot().written.
  Tensor& gradient() { return slot_.gradient; }
  GradientSlot& slot() { return slot_; }
  // False when the loss of the last step did not depend on it, as ParameterStore::end_gradients
  // finds out. Its gradient is zero then, and a Learner leaves it and its slots alone. Set it where
  // a gradient is filled in by hand after that.
  bool has_gradient() const { return has_gradient_; }
  void set_has_gradient(bool has) { has_gradient_ = has; }
  // Copies new values in (states, restoring, averaging). Same shape and type. Throws Error inside
  // of a block of positions, of which each would have other ones.
  void assign(const Tensor& value);

 private:
  friend class ParameterStore;
  friend class RowShare;
  friend class Scope;
  std::string path_;
  Shape shape_;
  bool trainable_ = true;
  bool is_frozen_ = false;
  InitConfig init_;
  std::int64_t fan_in_ = 0, fan_out_ = 0;
  std::int64_t blocks_ = 1;
  std::int64_t stage_ = kEveryStage;
  bool rows_apart_ = false;
  std::int64_t offset_ = 0;  // elements from the start of its block
  Tensor value_;
  GradientSlot slot_;
  bool has_gradient_ = true;
  bool is_in_parts_ = false;
  std::shared_ptr<detail::RowLeaves> rows_;  // null: computed with by its value
};

struct ParameterOptions {
  InitConfig init = {};  // method layer_default means `fallback`
  InitConfig fallback = {Init::xavier_uniform, 1.0};
  bool trainable = true;
  std::int64_t fan_in = 0, fan_out = 0;  // 0: counted from the shape
  // That its layer computes with one by one, over the devices along an axis of the mesh.
  std::int64_t blocks = 1;
  // That its rows, along dimension 0, may be computed with by the processes that have them
  // (trivet/layer/row_share.h).
  bool rows_apart = false;
};

// All parameters of one model, in the order the layers made them. [run-thread]
class TRIVET_API ParameterStore {
 public:
  ParameterStore(Device& device, RngKey key);
  ~ParameterStore();
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  // Throws Error for a path that is taken, or after `build`.
  Parameter& add(std::string path, const Shape& shape, const ParameterOptions& options);

  // Makes a trainable parameter a state, before `build`.
  void freeze(Parameter& parameter);

  // Allocates the blocks (trainable values, their gradients, states; 64-byte aligned segments, so
  // one optimizer call can run over the whole block) and draws the starting values with
  // key.fold("params").fold(path).
  void build();
  // The same for a model that only computes with values that a checkpoint has: they are undefined
  // until they are assigned, and there is no memory of gradients.
  void build_to_load();
  // What each device of a mesh, and so the process that has it, owns of the weights and updates: an
  // equal piece of each unit of some variables (MeshShards::piece), or whole variables, for updates
  // that work per variable. The largest variable goes first, and to the device that has least.
  enum class Pieces { elements, variables };
  // The same for a mesh whose processes have whole weights and share updates (Learner): the
  // variables of a device are neighbors in the blocks.
  void build(const MeshShards& shards, Pieces pieces);
  // The same for a mesh whose processes share the weights: this one has its part of each unit of
  // some variables alone. A value is whole while an op reads it,
  // outside of ops the processes read the same values in the same order. Where one process has all
  // shards, its memory is that of build(), unless it is that of a meta device, which has the memory
  // of one of several processes.
  //
  // Gradients in parts are for processes of one shard each whose updates are of one pass: a
  // parameter has its gradient from the backward pass until Learner::Step::apply_gradients, or,
  // with Learner::Step::begin_gradients, until it is complete.
  enum class Gradients { whole, in_parts };
  // Whether a process has a weight whole while an op reads it alone, or always: then all processes
  // get the parts that others have updated while the next step computes (MeshConfig::overlap), and
  // need not read values in the same order.
  enum class Keeps { own_parts, all };
  void build_in_parts(const MeshShards& shards, Gradients gradients,
                      Pieces pieces = Pieces::elements, Keeps keeps = Keeps::own_parts);
  // Whether a device of a mesh owns whole variables (Pieces::variables).
  bool has_whole_variables() const;
  // Where processes have parts: throws RunError if another process has read other weights so far
  // outside of Whole and ReadAlike, or in another order, as what each of them got was not what it
  // needed. Before an update, which changes the parts that are sent. All processes make this call.
  // [run-thread]
  void check_reads() const;
  // Whether this process has a part of the trainable weights alone.
  bool is_in_parts() const { return parts_ != nullptr && !keeps_all_; }
  // Whether it was built with Keeps::all.
  bool keeps_all() const { return keeps_all_; }
  // Whether some layers compute blocks of the positions (Scope::in_sequence_blocks).
  bool has_sequence_blocks() const { return has_sequence_blocks_; }
  // Whether it was built by build_in_parts: also where one process has all parts.
  bool is_for_parts() const { return is_for_parts_; }
  // While it lives, this process has all weights: for what processes do not do alike, such as
  // evaluations. All processes make one at the same time. Nothing unless is_in_parts().
  class TRIVET_API Whole {
   public:
    explicit Whole(ParameterStore& store);
    ~Whole();
    Whole(const Whole&) = delete;
    Whole& operator=(const Whole&) = delete;

   private:
    detail::WeightParts* parts_;
  };
  // While it lives, all processes read any weights, in the same order, outside of steps. A few
  // units are whole at a time. All processes make one at the same time.
  class TRIVET_API ReadAlike {
   public:
    explicit ReadAlike(ParameterStore& store);
    ~ReadAlike();
    ReadAlike(const ReadAlike&) = delete;
    ReadAlike& operator=(const ReadAlike&) = delete;

   private:
    detail::WeightParts* parts_;
  };

  Device& device() const { return device_; }
  RngKey key() const { return key_; }
  const std::vector<std::unique_ptr<Parameter>>& parameters() const { return parameters_; }
  Parameter* find(std::string_view path) const;
  // This process's parts of all values, to be saved: in the order of the parameters, by their
  // paths. [run-thread]
  std::vector<TensorPart> value_parts() const;
  std::int64_t trainable_count() const;  // numbers, not tensors
  std::int64_t count() const;

  void begin_gradients();  // nothing is written yet: the first contribution overwrites
  void end_gradients();    // zeroes what no op wrote, and notes that it has no gradient

  // Of a pipeline whose stages are of several processes: has_gradient() of each variable becomes
  // that of the processes that have its stage; with whole weights so does `gradients`, as long as
  // the trainable block. All processes make these calls. [run-thread]
  void share_stages(Tensor& gradients);
  void share_has_gradient();

  // The flat blocks (f32 [n], padding between segments is zero) and where a parameter lies in them.
  // Of what is in parts there is no block: throws Error.
  Tensor& trainable_values();
  Tensor& trainable_gradients();
  Tensor& states();
  // Of states() those that steps may change: all but frozen weights.
  const Tensor& running_states() const { return running_states_; }
  std::int64_t offset_of(const Parameter& parameter) const;  // elements
  std::int64_t trainable_size() const;                       // elements of the trainable blocks

  // Internal: how the trainable blocks are shared (null after build()), and what holds the weights
  // whose parts processes update (or null).
  const std::shared_ptr<const detail::UnitParts>& unit_parts() const { return unit_parts_; }
  detail::WeightParts* parts() const { return parts_.get(); }
  detail::GradientParts* gradient_parts() const { return gradient_parts_.get(); }

 private:
  friend class Scope;
  struct Shared;  // taken paths, layers with a shared name
  void lay_out(const detail::BlockPlan& plan);
  void allocate(const MeshShards* in_parts, Gradients gradients);
  void make_gradient_parts(const MeshShards& shards);
  void attach(Parameter& parameter);
  void draw(const Parameter& parameter) const;
  void share_rows(const MeshShards& shards);
  Tensor memory_of(const Parameter& parameter) const;
  bool has_some_of(const Parameter& parameter) const;
  Device& device_;
  RngKey key_;
  std::vector<std::unique_ptr<Parameter>> parameters_;
  std::map<std::string, Parameter*, std::less<>> by_path_;
  std::unique_ptr<Shared> shared_;
  std::shared_ptr<const detail::UnitParts> unit_parts_;
  std::unique_ptr<detail::WeightParts> parts_;  // null: trainable_values_ has the weights
  std::unique_ptr<detail::GradientParts> gradient_parts_;  // null: trainable_gradients_ has them
  std::unique_ptr<RowShare> row_share_;                    // null: no weights have rows apart
  Tensor trainable_values_, trainable_gradients_, states_, running_states_;
  MeshAxis stages_;  // one, unless layers are of several
  std::int64_t trainable_size_ = 0;
  bool built_ = false, is_for_parts_ = false, keeps_all_ = false;
  bool has_sequence_blocks_ = false;
};

}  // namespace trivet
