// SPDX-License-Identifier: Apache-2.0
#include "trivet/testing/input_check.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet::testing {
namespace {

// A batch as bytes, because tensors may share memory that is filled again.
std::string bytes_of(const trivet::Batch& batch) {
  std::string all;
  for (const auto& [path, tensor] : batch) {
    all += path + " " + tensor.to_string() + ":";
    const std::vector<std::byte> bytes = tensor.to_bytes();
    all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return all;
}

class InputCheck {
 public:
  InputCheck(const std::function<std::unique_ptr<Input>()>& make, std::int64_t rows,
             const InputCheckOptions& options)
      : make_(make), rows_(rows), options_(options) {}

  std::string run() {
    read_all();
    check_again();
    for (std::size_t cut = 0; cut <= batches_.size(); ++cut) check_restore(cut);
    return problems_;
  }

 private:
  void read_all() {
    const std::unique_ptr<Input> input = make_();
    states_.push_back(stored(*input));
    while (std::ssize(batches_) < options_.batches) {
      const std::optional<trivet::Batch> batch = input->get_next();
      if (!batch) {
        ended_ = true;
        break;
      }
      check_form(*batch);
      batches_.push_back(bytes_of(*batch));
      states_.push_back(stored(*input));
    }
    if (batches_.empty()) throw Error("check_input: the input has no batch");
    if (!ended_) return;
    if (input->get_next()) problem("a batch follows the end of the data");
    const auto count = input->batches_per_epoch();
    if (count && *count != std::ssize(batches_)) {
      problem("batches_per_epoch() is " + std::to_string(*count) + ", but there are " +
              std::to_string(batches_.size()));
    }
  }

  void check_form(const trivet::Batch& batch) {
    const std::string where = "batch " + std::to_string(batches_.size()) + ": '";
    for (const auto& [path, tensor] : batch) {
      if (!tensor.defined()) throw Error("check_input: '" + path + "' is no tensor");
      if (!tensor.on_host() || !tensor.contiguous()) {
        problem(where + path + "' is not contiguous on the host");
      }
      if (tensor.rank() == 0 || tensor.dim(0) != rows_) {
        problem(where + path + "' is " + tensor.to_string() + ", not of " + std::to_string(rows_) +
                " rows");
      }
    }
    const Tensor* weight = batch.find("weight");
    if (weight == nullptr) return;
    if (weight->dtype() != DType::f32 || weight->rank() != 1) {
      problem(where + "weight' is " + weight->to_string() + ", not f32 [rows]");
    } else if (!std::ranges::all_of(weight->to_host<float>(), [](float w) { return w >= 0; })) {
      problem(where + "weight' has negative values or no numbers");
    }
  }

  void check_again() {
    const std::unique_ptr<Input> input = make_();
    follow(*input, 0, "another input of the config has another ");
    if (!options_.resets) return;
    input->reset();
    follow(*input, 0, "after reset() there is another ");
  }

  // In a new input, and in one that is somewhere else.
  void check_restore(std::size_t cut) {
    const std::string after = "restored after " + std::to_string(cut) + " there is another ";
    const std::unique_ptr<Input> input = make_();
    input->restore_state(states_[cut]);
    follow(*input, cut, after);
    input->restore_state(states_[cut]);
    follow(*input, cut, "in a used input, " + after);
  }

  void follow(Input& input, std::size_t from, const std::string& what) {
    for (std::size_t i = from; i < batches_.size(); ++i) {
      const std::optional<trivet::Batch> batch = input.get_next();
      if (batch && bytes_of(*batch) == batches_[i]) continue;
      problem(what + "batch " + std::to_string(i));
      return;
    }
    if (ended_ && input.get_next()) problem(what + "end");
  }

  // As a checkpoint has it.
  static Value stored(const Input& input) {
    return value_from_json(to_json(input.save_state()), "the state of an input");
  }

  void problem(const std::string& what) { problems_ += what + "\n"; }

  const std::function<std::unique_ptr<Input>()>& make_;
  std::int64_t rows_;
  InputCheckOptions options_;
  std::vector<std::string> batches_;
  std::vector<Value> states_;  // before each batch, and after the last one
  bool ended_ = false;
  std::string problems_;
};

}  // namespace

std::string check_input(const std::function<std::unique_ptr<Input>()>& make, std::int64_t rows,
                        const InputCheckOptions& options) {
  return InputCheck(make, rows, options).run();
}

}  // namespace trivet::testing
