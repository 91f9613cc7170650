// SPDX-License-Identifier: Apache-2.0
// The frame of the conformance kit: arrays with guards, one execution (Run), and the comparison of
// all executions of a case (Kit). The functions check_*() at the end hold the cases.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "opened_backend.h"
#include "trivet/backend/backend.h"
#include "trivet/testing/backend_conformance.h"

namespace trivet::testing {

using Values = std::vector<double>;

inline double at(const Values& values, std::int64_t i) {
  return values[static_cast<std::size_t>(i)];
}
inline double& at(Values& values, std::int64_t i) {
  return values[static_cast<std::size_t>(i)];
}
inline Values zeros(std::int64_t n) {
  return Values(static_cast<std::size_t>(n), 0.0);
}
using Extents = std::vector<std::int64_t>;

std::size_t element_size(int dtype);
const char* dtype_name(int dtype);
std::int64_t product(const Extents& shape);
std::string to_text(const Extents& shape);

// `n` numbers in [low, high), the same for the same seed; exact in f32.
Values random_values(std::uint64_t seed, std::int64_t n, double low = -1, double high = 1);
Values random_integers(std::uint64_t seed, std::int64_t n, int low, int high);  // in [low, high)

// Values as a dtype stores them, and back. Conversions follow the rules of tv_backend.copy.
std::vector<unsigned char> encode(const Values& values, int dtype);
Values decode(const std::vector<unsigned char>& bytes, int dtype);

// Device memory of one Run.
struct Array {
  void* data = nullptr;
  int dtype = TV_F32;

  tv_view view(const Extents& shape) const;
  tv_view strided(const Extents& shape, const Extents& stride, std::int64_t offset = 0) const;
  operator void*() const { return data; }
  operator float*() const { return static_cast<float*>(data); }
  operator std::int32_t*() const { return static_cast<std::int32_t*>(data); }
  operator std::uint8_t*() const { return static_cast<std::uint8_t*>(data); }
};

// One execution of one case on one opened backend.
class Run {
 public:
  explicit Run(OpenedBackend& opened) : opened_(opened) {}
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const tv_backend& table() const { return opened_.table(); }
  tv_ctx* context() const { return opened_.context(); }

  Array input(const Values& values, int dtype = TV_F32);   // must not change
  Array output(std::int64_t count, int dtype = TV_F32);    // holds junk
  Array in_out(const Values& values, int dtype = TV_F32);  // an output with a start value

  // After the call: false and a message when a byte outside an output changed.
  bool unharmed(std::string& message);
  bool outputs_untouched();
  std::vector<std::vector<unsigned char>> output_bytes();
  const std::vector<int>& output_dtypes() const { return output_dtypes_; }

 private:
  struct Block {
    void* data;
    std::vector<unsigned char> start;  // with the guard after it
    bool is_output;
  };
  enum class Use { input, output };
  Array add(std::vector<unsigned char> bytes, int dtype, Use use);
  std::vector<unsigned char> read(const Block& block);

  OpenedBackend& opened_;
  std::vector<Block> blocks_;
  std::vector<int> output_dtypes_;
};

// The case, run again and again: makes its arrays in `run`, calls the function, returns its status.
using Body = std::function<tv_status(Run& run)>;

class Kit {
 public:
  Kit(const tv_backend* backend, const BackendCheckOptions& options);

  bool open();  // false when nothing can be run at all
  bool wants(const std::string& function) const;
  // The same for an optional kernel; notes it as absent when null.
  bool wants_kernel(const std::string& function, bool present);
  const void* extension(const char* name);
  bool stores(int dtype) const { return info_.storage_dtypes >> dtype & 1; }
  const tv_info& info() const { return info_; }
  const tv_backend& table() const { return *backend_; }
  OpenedBackend& first() { return *opened_.front(); }

  // `want` holds the values of the outputs in the order they were made; an empty entry is not
  // compared. `tolerance` bounds |got - want| / (|want| + 1); 0 asks for equality.
  // The mandatory functions may not answer TV_UNSUPPORTED.
  void check(const std::string& function, const std::string& subject, double tolerance,
             const std::vector<Values>& want, const Body& body);
  // The call, or the sync after it, must answer TV_ERROR with a text.
  void check_error(const std::string& function, const std::string& subject, const Body& body);
  void record(const std::string& function, const std::string& subject, const std::string& problem);

  BackendReport take_report() { return std::move(report_); }

 private:
  void judge(BackendCheck& entry, double tolerance, const std::vector<Values>& want,
             const Body& body);

  const tv_backend* backend_;
  const BackendCheckOptions& options_;
  tv_info info_ = {};
  std::vector<std::unique_ptr<OpenedBackend>> opened_;
  BackendReport report_;
};

void check_device(Kit& kit);
// The cases of each function that computes, in check_*.cpp: check_fill and so on. Called where the
// function is there and wanted.
#define TRIVET_DECLARE_CHECK(kernel) void check_##kernel(Kit& kit);
TV_FOR_EACH_KERNEL(TRIVET_DECLARE_CHECK)
#undef TRIVET_DECLARE_CHECK
// Those of kernels outside the table, which they ask for themselves.
void check_batch_norm(Kit& kit);
void check_peak(Kit& kit);
void check_recurrent(Kit& kit);
void check_vision(Kit& kit);

}  // namespace trivet::testing
