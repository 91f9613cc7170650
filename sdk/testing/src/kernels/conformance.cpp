// SPDX-License-Identifier: Apache-2.0
// Runs the cases of the conformance kit and compares them.

#include "conformance.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "trivet/backend/half.h"

namespace trivet::testing {
namespace {

constexpr std::size_t kGuardBytes = 128;
constexpr unsigned char kGuard = 0xa5;
constexpr unsigned char kJunk = 0xff;  // a NaN in every float type

std::uint64_t mix(std::uint64_t& state) {  // splitmix64
  std::uint64_t z = state += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

template <typename T>
T saturated(double value) {
  if (std::isnan(value)) return 0;
  const double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  return static_cast<T>(std::clamp(std::trunc(value), low, high));
}

template <typename T>
void put(std::vector<unsigned char>& bytes, std::size_t i, T value) {
  std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
}

template <typename T>
T get(const std::vector<unsigned char>& bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

// Distance of two numbers, with NaN and infinities equal to themselves only.
double distance(double got, double want) {
  if (std::isnan(got) || std::isnan(want)) {
    return std::isnan(got) && std::isnan(want) ? 0 : std::numeric_limits<double>::infinity();
  }
  if (got == want) return 0;
  if (std::isinf(got) || std::isinf(want)) return std::numeric_limits<double>::infinity();
  return std::fabs(got - want) / (std::fabs(want) + 1);
}

bool is_mandatory(const std::string& function) {
#define TRIVET_NAME(kernel) #kernel,
  const char* const names[] = {"transfer", TV_FOR_EACH_MANDATORY_KERNEL(TRIVET_NAME)};
#undef TRIVET_NAME
  return std::find(std::begin(names), std::end(names), function) != std::end(names);
}

std::string compare(const Values& got, const Values& want, double tolerance, double& max_error) {
  if (got.size() != want.size()) {
    return "the case expects " + std::to_string(want.size()) + " elements, not " +
           std::to_string(got.size());
  }
  std::size_t worst = 0;
  double error = -1;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double here = distance(got[i], want[i]);
    if (here > error) {
      error = here;
      worst = i;
    }
  }
  if (got.empty()) return {};
  max_error = std::max(max_error, error);
  if (error <= tolerance) return {};
  std::ostringstream text;
  text.precision(9);
  text << "element " << worst << " is " << got[worst] << ", want " << want[worst] << " (error "
       << error << ", allowed " << tolerance << ")";
  return text.str();
}

}  // namespace

std::size_t element_size(int dtype) {
  if (dtype == TV_BF16 || dtype == TV_F16) return 2;
  return dtype == TV_U8 || dtype == TV_BOOL ? 1 : 4;
}

const char* dtype_name(int dtype) {
  static const char* const names[] = {"f32", "bf16", "f16", "i32", "u8", "bool", "u32"};
  return names[dtype];
}

std::int64_t product(const Extents& shape) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

std::string to_text(const Extents& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i ? ", " : "") + std::to_string(shape[i]);
  }
  return text + "]";
}

Values random_values(std::uint64_t seed, std::int64_t n, double low, double high) {
  Values values(static_cast<std::size_t>(n));
  for (double& value : values) {
    const double unit = static_cast<double>(mix(seed) >> 11) * 0x1p-53;
    value = static_cast<float>(low + (high - low) * unit);
  }
  return values;
}

Values random_integers(std::uint64_t seed, std::int64_t n, int low, int high) {
  Values values(static_cast<std::size_t>(n));
  const auto range = static_cast<std::uint64_t>(high - low);
  for (double& value : values) value = low + static_cast<int>(mix(seed) % range);
  return values;
}

std::vector<unsigned char> encode(const Values& values, int dtype) {
  std::vector<unsigned char> bytes(values.size() * element_size(dtype));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double v = values[i];
    const auto f = static_cast<float>(v);
    if (dtype == TV_F32) put(bytes, i, f);
    if (dtype == TV_BF16) put(bytes, i, bf16_from_float(f));
    if (dtype == TV_F16) put(bytes, i, f16_from_float(f));
    if (dtype == TV_I32) put(bytes, i, saturated<std::int32_t>(v));
    if (dtype == TV_U32) put(bytes, i, saturated<std::uint32_t>(v));
    if (dtype == TV_U8) put(bytes, i, saturated<std::uint8_t>(v));
    if (dtype == TV_BOOL) put(bytes, i, static_cast<std::uint8_t>(v != 0));
  }
  return bytes;
}

Values decode(const std::vector<unsigned char>& bytes, int dtype) {
  Values values(bytes.size() / element_size(dtype));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == TV_F32) values[i] = get<float>(bytes, i);
    if (dtype == TV_BF16) values[i] = float_from_bf16(get<std::uint16_t>(bytes, i));
    if (dtype == TV_F16) values[i] = float_from_f16(get<std::uint16_t>(bytes, i));
    if (dtype == TV_I32) values[i] = get<std::int32_t>(bytes, i);
    if (dtype == TV_U32) values[i] = get<std::uint32_t>(bytes, i);
    if (dtype == TV_U8 || dtype == TV_BOOL) values[i] = bytes[i];
  }
  return values;
}

tv_view Array::view(const Extents& shape) const {
  Extents stride(shape.size());
  std::int64_t step = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    stride[axis] = step;
    step *= shape[axis];
  }
  return strided(shape, stride);
}

tv_view Array::strided(const Extents& shape, const Extents& stride, std::int64_t offset) const {
  tv_view v = {};
  v.data = static_cast<char*>(data) + offset * static_cast<std::int64_t>(element_size(dtype));
  v.rank = static_cast<std::uint8_t>(shape.size());
  v.dtype = static_cast<std::uint8_t>(dtype);
  std::copy(shape.begin(), shape.end(), v.shape);
  std::copy(stride.begin(), stride.end(), v.stride);
  return v;
}

Run::~Run() {
  for (const Block& block : blocks_) table().free(context(), block.data);
  opened_.release_scratch();
}

Array Run::add(std::vector<unsigned char> bytes, int dtype, Use use) {
  const bool is_output = use == Use::output;
  bytes.insert(bytes.end(), kGuardBytes, kGuard);
  Array array;
  array.dtype = dtype;
  if (table().alloc(context(), bytes.size(), &array.data) != TV_OK) throw std::bad_alloc();
  table().transfer(context(), array.data, bytes.data(), bytes.size(), TV_HOST_TO_DEVICE);
  blocks_.push_back({array.data, std::move(bytes), is_output});
  if (is_output) output_dtypes_.push_back(dtype);
  return array;
}

Array Run::input(const Values& values, int dtype) {
  return add(encode(values, dtype), dtype, Use::input);
}

Array Run::output(std::int64_t count, int dtype) {
  const auto bytes = static_cast<std::size_t>(count) * element_size(dtype);
  return add(std::vector<unsigned char>(bytes, kJunk), dtype, Use::output);
}

Array Run::in_out(const Values& values, int dtype) {
  return add(encode(values, dtype), dtype, Use::output);
}

std::vector<unsigned char> Run::read(const Block& block) {
  std::vector<unsigned char> bytes(block.start.size());
  table().transfer(context(), bytes.data(), block.data, bytes.size(), TV_DEVICE_TO_HOST);
  return bytes;
}

bool Run::unharmed(std::string& message) {
  for (const Block& block : blocks_) {
    const auto now = read(block);
    const auto from = block.is_output ? block.start.size() - kGuardBytes : 0;
    const auto at = std::mismatch(now.begin() + static_cast<std::ptrdiff_t>(from), now.end(),
                                  block.start.begin() + static_cast<std::ptrdiff_t>(from));
    if (at.first == now.end()) continue;
    message = block.is_output ? "bytes after an output were written" : "an input was written";
    return false;
  }
  return true;
}

bool Run::outputs_untouched() {
  return std::all_of(blocks_.begin(), blocks_.end(),
                     [&](const Block& block) { return read(block) == block.start; });
}

std::vector<std::vector<unsigned char>> Run::output_bytes() {
  std::vector<std::vector<unsigned char>> all;
  for (const Block& block : blocks_) {
    if (!block.is_output) continue;
    all.push_back(read(block));
    all.back().resize(all.back().size() - kGuardBytes);
  }
  return all;
}

Kit::Kit(const tv_backend* backend, const BackendCheckOptions& options)
    : backend_(backend), options_(options) {}

bool Kit::open() {
  info_.struct_size = sizeof(tv_info);
  const tv_status told = backend_->info(&info_);
  record("info", "answers", told == TV_OK ? "" : "status " + std::to_string(told));
  std::vector<tv_option> given;
  for (const auto& [key, value] : options_.options) given.push_back({key.c_str(), value.c_str()});
  for (const int threads : options_.threads) {
    auto opened = std::make_unique<OpenedBackend>(backend_, threads);
    const tv_status status = opened->open(options_.device, given);
    const std::string problem = status == TV_OK ? "" : "refused: " + opened->take_error();
    record("open", "with " + std::to_string(threads) + " threads", problem);
    if (status != TV_OK) return false;
    opened_.push_back(std::move(opened));
  }
  return told == TV_OK && !opened_.empty();
}

bool Kit::wants(const std::string& function) const {
  return options_.only.empty() || function.find(options_.only) != std::string::npos;
}

bool Kit::wants_kernel(const std::string& function, bool present) {
  if (!wants(function)) return false;
  if (!present) report_.absent.push_back(function);
  return present;
}

const void* Kit::extension(const char* name) {
  const bool offers = backend_->extension != nullptr;
  const void* function = offers ? backend_->extension(first().context(), name) : nullptr;
  return wants_kernel(name, function != nullptr) ? function : nullptr;
}

void Kit::record(const std::string& function, const std::string& subject,
                 const std::string& problem) {
  report_.checks.push_back({function, subject, 0, problem.empty(), false, problem});
}

void Kit::check(const std::string& function, const std::string& subject, double tolerance,
                const std::vector<Values>& want, const Body& body) {
  BackendCheck entry{function, subject, 0, false, false, {}};
  judge(entry, tolerance, want, body);
  entry.passed = entry.message.empty();
  report_.checks.push_back(std::move(entry));
}

void Kit::judge(BackendCheck& entry, double tolerance, const std::vector<Values>& want,
                const Body& body) {
  std::vector<std::vector<unsigned char>> expected;
  for (std::size_t turn = 0; turn <= opened_.size(); ++turn) {
    OpenedBackend& opened = *opened_[turn == 0 ? 0 : turn - 1];
    const std::string where = " (with " + std::to_string(opened.threads()) + " threads)";
    Run run(opened);
    const tv_status status = body(run);
    if (status < 0) {
      entry.message = "status " + std::to_string(status) + ": " + opened.take_error() + where;
      return;
    }
    if (!run.unharmed(entry.message)) return;
    if (status == TV_UNSUPPORTED) {
      entry.unsupported = true;
      if (!run.outputs_untouched()) {
        entry.message = "TV_UNSUPPORTED, but an output was written";
      } else if (is_mandatory(entry.function)) {
        entry.message = "TV_UNSUPPORTED from a mandatory function";
      }
      return;
    }
    const auto bytes = run.output_bytes();
    if (turn > 0 && bytes != expected) {
      entry.message = "other bits than in the first run" + where;
      return;
    }
    if (turn > 0) continue;
    expected = bytes;
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (want[i].empty()) continue;
      const Values got = decode(bytes[i], run.output_dtypes()[i]);
      entry.message = compare(got, want[i], tolerance, entry.max_error);
      if (entry.message.empty()) continue;
      entry.message = "output " + std::to_string(i) + ": " + entry.message;
      return;
    }
  }
}

void Kit::check_error(const std::string& function, const std::string& subject, const Body& body) {
  OpenedBackend& opened = first();
  opened.take_error();
  Run run(opened);
  tv_status status = body(run);
  if (status == TV_UNSUPPORTED && !is_mandatory(function)) {
    const bool declined = run.outputs_untouched();
    record(function, subject, declined ? "" : "TV_UNSUPPORTED, but an output was written");
    return;
  }
  if (status == TV_OK) status = run.table().sync(run.context());  // it may have been queued
  std::string problem;
  if (status != TV_ERROR) problem = "status " + std::to_string(status) + " instead of TV_ERROR";
  if (problem.empty() && opened.take_error().empty()) problem = "TV_ERROR without a text";
  if (problem.empty()) run.unharmed(problem);
  record(function, subject, problem);
}

}  // namespace trivet::testing
