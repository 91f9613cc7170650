// SPDX-License-Identifier: Apache-2.0
#include "trivet/testing/operand_check.h"

#include <cmath>
#include <functional>
#include <iterator>
#include <memory>
#include <vector>

#include "operand_cases.h"
#include "trivet/error.h"
#include "trivet/tape.h"
#include "trivet/tensor/device.h"
#include "trivet/tensor/random.h"

namespace trivet::testing {
namespace {

constexpr std::int64_t kOperandRows = 2;

// How an operand is laid out.
enum class OperandLayout : std::uint8_t { packed, transposed, cut, repeated };
constexpr std::pair<OperandLayout, const char*> kViews[] = {
    {OperandLayout::transposed, "transposed"},
    {OperandLayout::cut, "cut out"},
    {OperandLayout::repeated, "repeated"}};

Tensor drawn(Device& device, const Operand& operand, const Shape& shape, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  random_uniform(RngKey(5).fold(seed), operand.low, operand.high, values);
  if (operand.dtype == DType::f32) return Tensor::from<float>(device, values, shape);
  for (float& value : values) value = std::floor(value);
  return ops::cast(Tensor::from<float>(device, values, shape), operand.dtype);
}

Tensor turned(const Tensor& x) {
  switch (x.rank()) {
    case 2:
      return ops::transpose(x, {1, 0});
    case 3:
      return ops::transpose(x, {2, 1, 0});
    case 4:
      return ops::transpose(x, {3, 2, 1, 0});
    case 5:
      return ops::transpose(x, {4, 3, 2, 1, 0});
    default:
      return x;
  }
}

Shape reversed(const Shape& shape) {
  return Shape(std::vector<std::int64_t>(std::make_reverse_iterator(shape.end()),
                                         std::make_reverse_iterator(shape.begin())));
}

// The shape of the memory behind a view of `shape`.
Shape base_shape(const Shape& shape, OperandLayout layout) {
  Shape base = layout == OperandLayout::transposed ? reversed(shape) : shape;
  if (layout == OperandLayout::cut) base.set(-1, shape[-1] + 3);
  if (layout == OperandLayout::repeated) base.set(0, 1);
  return base;
}

Tensor view_of_base(const Tensor& base, const Shape& shape, OperandLayout layout) {
  switch (layout) {
    case OperandLayout::transposed:
      return turned(base);
    case OperandLayout::cut:
      return ops::slice(base, -1, 2, 2 + shape[-1]);
    case OperandLayout::repeated:
      return ops::expand(base, shape);
    default:
      return base;
  }
}

using Numbers = std::vector<float>;

Numbers read(const Tensor& x) {
  return ops::cast(x, DType::f32).to_host<float>();
}

// What a call gives: the output, and the gradient of each operand's memory.
struct Outcome {
  Numbers y;
  std::vector<Numbers> gradients;
};

class Checker {
 public:
  explicit Checker(const tv_backend* backend)
      : device_(Device::open(backend, {.key = "operands"})),
        other_(Device::open(backend, {.key = "another"})) {}

  void check(const OperandCase& c) {
    case_ = &c;
    operands_ = c.operands(kOperandRows);
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      check_views(i);
      check_missing(i);
      if (c.any_type) continue;
      check_types(i);
      check_devices(i);
    }
    check_arriving_view();
    check_empty();
  }

  std::string take_problems() { return std::move(diagnostics_); }

 private:
  void problem(const std::string& text) {
    diagnostics_ +=
        case_->op + (case_->form.empty() ? "" : " (" + case_->form + ")") + ": " + text + "\n";
  }

  std::vector<Tensor> packed_operands() {
    std::vector<Tensor> in;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      in.push_back(drawn(*device_, operands_[i], operands_[i].shape, i));
    }
    return in;
  }

  struct Run {
    OperandLayout layout = OperandLayout::packed;
    bool copied = false;       // the operand is a packed copy of a view of that layout
    bool turned_seed = false;  // the gradient that arrives is a view
  };
  // Calls with operand i as said.
  Outcome run(std::size_t i, const Run& how) {
    std::vector<GradientSlot> slots(operands_.size());
    std::vector<Tensor> in;
    Tape tape;
    Tensor y;
    {
      Tape::Recording recording(tape);
      for (std::size_t k = 0; k < operands_.size(); ++k) {
        const OperandLayout mine = k == i ? how.layout : OperandLayout::packed;
        const Operand& operand = operands_[k];
        Tensor base = drawn(*device_, operand, base_shape(operand.shape, mine), k);
        const bool leaf = case_->differentiable && operand.dtype == DType::f32;
        if (leaf) base = make_leaf(base, slots[k]);
        const Tensor view = view_of_base(base, operand.shape, mine);
        in.push_back(how.copied ? ops::contiguous(view) : view);
      }
      y = case_->call(in);
    }
    Outcome out{read(y), {}};
    if (!case_->differentiable) return out;
    tape.backward(y, seed_for(y, how.turned_seed));
    for (const GradientSlot& slot : slots) {
      out.gradients.push_back(slot.written ? read(slot.gradient) : Numbers());
    }
    return out;
  }

  Tensor seed_for(const Tensor& y, bool as_view) {
    const Operand any{"seed", y.shape()};
    const Tensor base = drawn(*device_, any, reversed(y.shape()), 77);
    return as_view ? turned(base) : ops::contiguous(turned(base));
  }

  void compare(const std::string& what, const Numbers& got, const Numbers& want) {
    if (got.size() != want.size()) return problem(what + " have different sizes");
    for (std::size_t i = 0; i < got.size(); ++i) {
      const float error = std::abs(got[i] - want[i]);
      if (got[i] == want[i] || error <= 1e-5F * (1 + std::abs(want[i]))) continue;
      return problem(what + ": element " + std::to_string(i) + " is " + std::to_string(got[i]) +
                     ", packed " + std::to_string(want[i]));
    }
  }

  void compare(const std::string& what, const Outcome& got, const Outcome& want) {
    compare(what, got.y, want.y);
    for (std::size_t k = 0; k < got.gradients.size(); ++k) {
      compare(what + ", gradient of " + operands_[k].name, got.gradients[k], want.gradients[k]);
    }
  }

  // Runs what must not throw.
  void guarded(const std::string& what, const std::function<void()>& run) {
    try {
      run();
    } catch (const std::exception& error) {
      problem(what + ": " + error.what());
    }
  }

  void check_views(std::size_t i) {
    if (operands_[i].shape.rank() == 0) return;
    for (const auto& [layout, name] : kViews) {
      const std::string what = operands_[i].name + " " + name;
      guarded(what, [&, at = layout] {
        compare(what, run(i, {.layout = at}), run(i, {.layout = at, .copied = true}));
      });
    }
  }

  void check_arriving_view() {
    if (!case_->differentiable) return;
    guarded("a gradient that is a view", [&] {
      compare("a gradient that is a view", run(0, {.turned_seed = true}), run(0, {}));
    });
  }

  // The call with one operand replaced must be an Error that has all of `words`.
  void expect_error(std::size_t i, const Tensor& instead, const std::string& what,
                    const std::vector<std::string>& words) {
    std::vector<Tensor> in = packed_operands();
    in[i] = instead;
    try {
      read(case_->call(in));
    } catch (const Error& error) {
      for (const std::string& word : words) {
        const std::string text = error.what();
        if (text.find(word) == std::string::npos) {
          problem(what + ": the error does not say '" + word + "': " + text);
        }
      }
      return;
    }
    problem(what + " was taken without a word");
  }

  void check_missing(std::size_t i) {
    const Operand& operand = operands_[i];
    if (!operand.optional) {
      return expect_error(i, {}, "no " + operand.name, {"[" + case_->op + "]", operand.name});
    }
    std::vector<Tensor> in = packed_operands();
    in[i] = {};
    guarded("no " + operand.name, [&] { read(case_->call(in)); });
  }

  void check_types(std::size_t i) {
    for (const DType dtype :
         {DType::f32, DType::bf16, DType::f16, DType::i32, DType::u8, DType::boolean, DType::u32}) {
      if (dtype == operands_[i].dtype || !stores(dtype)) continue;
      const Tensor x = ops::cast(drawn(*device_, operands_[i], operands_[i].shape, i), dtype);
      expect_error(i, x, operands_[i].name + " of " + std::string(name_of(dtype)),
                   {"[" + case_->op + "]"});
    }
  }

  bool stores(DType dtype) const {
    return (device_->info().storage_dtypes >> static_cast<int>(dtype) & 1U) != 0;
  }

  void check_devices(std::size_t i) {
    const Operand& operand = operands_[i];
    if (operands_.size() > 1) {
      expect_error(i, drawn(*other_, operand, operand.shape, i), operand.name + " elsewhere",
                   {"[" + case_->op + "]", "one device"});
    }
    Tensor host = Tensor::host(operand.shape, operand.dtype);
    expect_error(i, host, operand.name + " on the host", {"[" + case_->op + "]"});
  }

  void check_empty() {
    operands_ = case_->operands(0);
    guarded("no rows", [&] {
      for (const Numbers& gradient : run(0, {}).gradients) {
        compare("no rows: gradient", gradient, Numbers(gradient.size(), 0));
      }
    });
  }

  std::unique_ptr<Device> device_, other_;
  const OperandCase* case_ = nullptr;
  std::vector<Operand> operands_;
  std::string diagnostics_;
};

}  // namespace

std::string check_operands(const tv_backend* backend, const OperandCheckOptions& options) {
  Checker checker(backend);
  std::vector<OperandCase> cases = operand_cases();
  cases.insert(cases.end(), options.more.begin(), options.more.end());
  for (const OperandCase& c : cases) {
    if (c.op.find(options.only) != std::string::npos) checker.check(c);
  }
  return checker.take_problems();
}

}  // namespace trivet::testing
