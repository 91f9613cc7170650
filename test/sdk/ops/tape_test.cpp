// SPDX-License-Identifier: Apache-2.0
// The tape: what it records, how gradients are summed, what it keeps alive.
#include "trivet/tape.h"

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "trivet/error.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/ops.h"

namespace trivet::test {
namespace {

Tensor vector_of(Device& device, std::vector<float> values) {
  const auto n = static_cast<std::int64_t>(values.size());
  return Tensor::from<float>(device, values, {n});
}

// An op as an outsider would write it: x * factor.
struct Factor {
  float factor;
};
void times_vjp(Vjp& v) {
  v.add(0, ops::mul(v.grad_output(), v.attributes<Factor>().factor));
}
constexpr OpDef kTimes{"test/times", times_vjp};
Tensor times(const Tensor& x, float factor) {
  Tensor y;
  {
    NoGrad no_grad;
    y = ops::mul(x, factor);
  }
  record(kTimes, {x}, y, {}, Factor{factor});
  return y;
}

// A function that reads an input it did not save.
void careless_vjp(Vjp& v) {
  v.add(0, ops::mul(v.grad_output(), v.input(0)));
}
constexpr OpDef kCareless{"test/careless", careless_vjp};

}  // namespace

TEST_CASE("gradients of a tensor that is used several times add up", "[tape]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    GradientSlot slot;
    const Tensor x = make_leaf(vector_of(*device, {1, 2, 3}), slot);
    Tape tape;
    Tensor loss;
    {
      Tape::Recording recording(tape);
      const Tensor y = ops::mul(x, x);               // x^2
      const Tensor z = ops::add(y, y);               // 2 x^2
      loss = ops::sum(ops::add(ops::mul(z, x), z));  // 2 x^3 + 2 x^2
    }
    tape.backward(loss);
    CHECK(slot.written);
    CHECK(slot.gradient.to_host<float>() == std::vector<float>{10, 32, 66});  // 6 x^2 + 4 x
  }
}

TEST_CASE("the first gradient of a step overwrites the slot, later ones add", "[tape]") {
  const auto device = open_any();
  GradientSlot slot{vector_of(*device, {100, 100})};
  const void* memory = slot.gradient.view().data;
  const Tensor x = make_leaf(vector_of(*device, {1, 2}), slot);
  Tape tape;
  for (int step = 1; step <= 2; ++step) {
    Tensor loss;
    {
      Tape::Recording recording(tape);
      loss = ops::sum(ops::square(x));
    }
    tape.backward(loss);
    CHECK(slot.gradient.view().data == memory);
    CHECK(slot.gradient.to_host<float>()[1] == 4.0F * static_cast<float>(step));
  }
  slot.written = false;
  Tensor loss;
  {
    Tape::Recording recording(tape);
    loss = ops::sum(x);
  }
  tape.backward(loss);
  CHECK(slot.gradient.to_host<float>() == std::vector<float>{1, 1});
}

TEST_CASE("two leaves that get the same gradient do not share it", "[tape]") {
  const auto device = open_any();
  GradientSlot a_slot, b_slot;
  const Tensor a = make_leaf(vector_of(*device, {1}), a_slot);
  const Tensor b = make_leaf(vector_of(*device, {1}), b_slot);
  Tape tape;
  Tensor loss;
  {
    Tape::Recording recording(tape);
    loss = ops::sum(ops::add(ops::mul(b, 5), ops::add(a, b)));
  }
  tape.backward(loss);
  CHECK(a_slot.gradient.item() == 1);
  CHECK(b_slot.gradient.item() == 6);
}

TEST_CASE("a gradient that reads an unsaved tensor is reported with its op", "[tape]") {
  const auto device = open_any();
  static constexpr OpDef kForgets{"acme_forgets",
                                  [](Vjp& v) { v.add(0, ops::mul(v.input(0), 2)); }};
  GradientSlot slot;
  const Tensor x = make_leaf(vector_of(*device, {1, 2}), slot);
  Tape tape;
  Tensor y = vector_of(*device, {3, 4});
  {
    Tape::Recording recording(tape);
    record(kForgets, {x}, y);
  }
  CHECK_THROWS_WITH(
      tape.backward(y, vector_of(*device, {1, 1})),
      Catch::Contains("not kept for the gradient of 'acme_forgets'") && Catch::Contains("saved"));
}

TEST_CASE("nothing is recorded without a tape, without a leaf, or under NoGrad", "[tape]") {
  const auto device = open_any();
  GradientSlot slot;
  const Tensor x = make_leaf(vector_of(*device, {1, 2}), slot), c = vector_of(*device, {3, 4});
  Tape tape;
  ops::mul(x, x);
  CHECK_FALSE(x.requires_grad());
  Tape::Recording recording(tape);
  CHECK(x.requires_grad());
  CHECK_FALSE(c.requires_grad());
  ops::mul(c, c);
  CHECK(tape.size() == 0);
  {
    NoGrad no_grad;
    CHECK_FALSE(x.requires_grad());
    ops::mul(x, x);
  }
  CHECK(tape.size() == 0);
  const Tensor y = ops::mul(x, c);
  CHECK(tape.size() == 1);
  CHECK(y.requires_grad());
  CHECK_FALSE(ops::stop_gradient(y).requires_grad());
  CHECK(Tape::current() == &tape);
}

TEST_CASE("tapes nest: the inner one records, then the outer one again", "[tape]") {
  const auto device = open_any();
  GradientSlot slot;
  const Tensor x = make_leaf(vector_of(*device, {1}), slot);
  Tape outer, inner;
  Tape::Recording first(outer);
  const Tensor y = ops::square(x);
  {
    Tape::Recording second(inner);
    CHECK_FALSE(y.requires_grad());  // to the inner tape it is a constant
    ops::square(x);
  }
  ops::square(y);
  CHECK(outer.size() == 2);
  CHECK(inner.size() == 1);
}

TEST_CASE("a step that repeats has the same hash, another one has not", "[tape]") {
  const auto device = open_any();
  GradientSlot slot;
  const Tensor x = make_leaf(vector_of(*device, {1, 2}), slot);
  const auto hash = [&](const auto& step) {
    Tape tape;
    Tape::Recording recording(tape);
    step();
    return tape.hash();
  };
  const auto square = hash([&] { ops::square(x); });
  CHECK(square == hash([&] { ops::square(x); }));
  CHECK(square != hash([&] { ops::exp(x); }));
  CHECK(square != hash([&] { ops::square(ops::square(x)); }));
  CHECK(square != hash([&] { ops::square(ops::slice(x, 0, 0, 1)); }));
}

TEST_CASE("a plugin's own op is recorded like any other", "[tape]") {
  const auto device = open_any();
  GradientSlot slot;
  const Tensor x = make_leaf(vector_of(*device, {1, 2}), slot);
  Tape tape;
  Tensor loss;
  {
    Tape::Recording recording(tape);
    loss = ops::sum(times(ops::square(x), 3));
  }
  tape.backward(loss);
  CHECK(slot.gradient.to_host<float>() == std::vector<float>{6, 12});
}

TEST_CASE("reading an input that was not saved is an error with a hint", "[tape]") {
  const auto device = open_any();
  GradientSlot slot;
  const Tensor x = make_leaf(vector_of(*device, {1, 2}), slot);
  Tape tape;
  Tensor y;
  {
    Tape::Recording recording(tape);
    {
      NoGrad no_grad;
      y = ops::square(x);
    }
    record(kCareless, {x}, y);
  }
  CHECK_THROWS_WITH(tape.backward(y, vector_of(*device, {1, 1})),
                    Catch::Contains("not kept") && Catch::Contains("saved"));
}

TEST_CASE("backward of something that is not on the tape is an error", "[tape]") {
  const auto device = open_any();
  GradientSlot slot;
  const Tensor x = make_leaf(vector_of(*device, {1, 2}), slot);
  Tape tape;
  CHECK_THROWS_WITH(tape.backward(ops::sum(x)), Catch::Contains("does not depend"));
  Tensor loss;
  {
    Tape::Recording recording(tape);
    loss = ops::sum(x);
    CHECK_THROWS_WITH(tape.backward(ops::square(x)), Catch::Contains("only a scalar"));
  }
  tape.backward(loss);
  CHECK(tape.size() == 0);
  CHECK_THROWS_WITH(tape.backward(loss), Catch::Contains("does not depend"));
}

TEST_CASE("a tape whose parameters are gone is an error", "[tape]") {
  const auto device = open_any();
  Tape tape;
  Tensor loss;
  {
    ParameterStore store(*device, RngKey(1));
    Parameter& w = store.add("w", {2, 3}, {});
    store.build();
    Tape::Recording recording(tape);
    loss = ops::sum(ops::matmul(Tensor::full(*device, {1, 2}, 1), w.value()));
  }
  CHECK_THROWS_WITH(tape.backward(loss), Catch::Contains("parameter") && Catch::Contains("gone"));
}

TEST_CASE("a seed of another type is an error", "[tape]") {
  const auto device = open_any();
  GradientSlot slot;
  const Tensor x = make_leaf(Tensor::full(*device, {2}, 1), slot);
  Tape tape;
  Tensor y;
  {
    Tape::Recording recording(tape);
    y = ops::exp(x);
  }
  CHECK_THROWS_WITH(tape.backward(y, Tensor::zeros(*device, {2}, DType::i32)),
                    Catch::Contains("seed") && Catch::Contains("i32"));
  CHECK_THROWS_WITH(tape.backward(y, Tensor::host({2})), Catch::Contains("the host"));
}

TEST_CASE("a tape frees saved tensors on the backward walk", "[tape]") {
  const auto device = open_any();
  GradientSlot slot{Tensor::zeros(*device, {256})};
  const Tensor x = make_leaf(Tensor::full(*device, {256}, 1), slot);
  ops::add(x, 1);  // the device keeps the constant 1, which the gradient of tanh uses
  const auto before = device->memory().persistent_bytes;
  Tape tape;
  {
    Tensor y = x;
    Tape::Recording recording(tape);
    for (int i = 0; i < 10; ++i) y = ops::tanh(y);
    y = ops::sum(y);
    CHECK(device->memory().persistent_bytes >= before + 10 * 1024);  // ten outputs are saved
    tape.backward(y);
  }
  CHECK(device->memory().persistent_bytes == before);
}

}  // namespace trivet::test
