// SPDX-License-Identifier: Apache-2.0
// Profile: what ran while it lived, and how long it took: each kernel of a device with the layer
// that it worked for, and spans of the host such as "forward" or "read batch". `trivet run
// --profile` writes it.
//
// Example (sdk/examples/snippets/profile.cpp#profile):
//
//   Profile profile(device);
//   const Tensor c = ops::matmul(a, b);
//   for (const Profile::Kernel& kernel : profile.kernels()) print(kernel.name, kernel.seconds);
//
// A run without a profile pays for a comparison at each span and for four bytes at each op that a
// tape records.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/tensor/device.h"
#include "trivet/tensor/exchange_log.h"

namespace trivet {

class TRIVET_API Profile {
 public:
  struct Kernel {
    std::string_view name;    // "linear_fwd"; of backend.h or backend/kernels/
    std::uint32_t scope = 0;  // index of scopes(): the layer; 0: outside of all layers
    bool gradient = false;    // of the backward pass
    double begin = 0;         // seconds after the start of the profile
    double seconds = 0;       // until the device was done
    double flops = 0;         // of products, convolutions and attention; elsewhere one an element
    double bytes = 0;         // of the operands, each once
  };
  struct Span {
    std::string_view name;
    std::uint32_t thread = 0;  // 0: the one that made the profile; then by first use
    double begin = 0, seconds = 0;
  };

  // Waits for the device after each kernel, so that its time is its own: kernels that a device
  // would run at the same time run one after another. One profile at a time: throws Error for a
  // second. The device must outlive it. [run-thread]
  explicit Profile(Device& device);
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  double seconds() const;  // since the start
  const std::vector<Kernel>& kernels() const;
  std::vector<Span> spans() const;
  // Of units of weights and gradients between processes; times are seconds after the start.
  const std::vector<UnitExchange>& exchanges() const;
  // "" and the paths of layers, as LayerTrace has them. Layers have one only if a LayerTrace lived
  // when the model was made.
  static std::vector<std::string> scopes();

  struct State;

 private:
  std::unique_ptr<State> state_;
};

// A part of a step in the current profile, if there is one; `name` must be a literal. [any-thread]
class TRIVET_API ProfileSpan {
 public:
  explicit ProfileSpan(std::string_view name);
  ~ProfileSpan();
  ProfileSpan(const ProfileSpan&) = delete;
  ProfileSpan& operator=(const ProfileSpan&) = delete;

 private:
  std::string_view name_;
  std::int64_t begin_ = -1;  // nanoseconds of the clock; -1: nobody listens
};

namespace detail {

// The layer that the ops of this thread work for.
struct ProfileScope {
  std::uint32_t index = 0;
  bool gradient = false;
};
TRIVET_API ProfileScope& profile_scope() noexcept;
// The index of a path in Profile::scopes(). [any-thread]
TRIVET_API std::uint32_t profile_scope_of(const std::string& path);

// Sets the scope of this thread while it lives.
class ScopedProfile {
 public:
  explicit ScopedProfile(ProfileScope scope) : outer_(profile_scope()) { profile_scope() = scope; }
  ~ScopedProfile() { profile_scope() = outer_; }
  ScopedProfile(const ScopedProfile&) = delete;
  ScopedProfile& operator=(const ScopedProfile&) = delete;

 private:
  ProfileScope outer_;
};

}  // namespace detail
}  // namespace trivet
