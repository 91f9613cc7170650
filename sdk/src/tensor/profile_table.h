// SPDX-License-Identifier: Apache-2.0
// ProfileTable: a table of kernels that times those of another one.
#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/kernel_cost.h"
#include "trivet/backend/backend.h"
#include "trivet/tensor/exchange_log.h"

namespace trivet::detail {

// Gets each call that succeeded.
class KernelListener {
 public:
  // `begin` in nanoseconds of profile_clock(). [run-thread]
  virtual void on_kernel(std::string_view name, std::int64_t begin, const KernelCost& cost) = 0;

 protected:
  ~KernelListener() = default;
};

std::int64_t profile_clock();

// The same clock, for UnitExchange.
double exchange_seconds();
// Whether there is a profile now. [any-thread]
bool profiles_exchanges();
// Adds an exchange to it, unless there is none. [run-thread]
void profile_exchange(const UnitExchange& exchange);

// One at a time. `original` must outlive it.
class ProfileTable {
 public:
  ProfileTable(const tv_backend& original, KernelListener& listener);
  ~ProfileTable();
  ProfileTable(const ProfileTable&) = delete;
  ProfileTable& operator=(const ProfileTable&) = delete;

  const tv_backend& table() const { return table_; }

 private:
  tv_backend table_{};
};

}  // namespace trivet::detail
