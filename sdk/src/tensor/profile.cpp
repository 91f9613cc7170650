// SPDX-License-Identifier: Apache-2.0
#include "trivet/tensor/profile.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "tensor/device_impl.h"
#include "tensor/profile_table.h"
#include "trivet/error.h"

namespace trivet {
namespace {

constexpr double kNanosecond = 1e-9;

// The paths of layers. They outlive profiles and models, because tapes keep their indices.
struct Scopes {
  std::mutex mutex;
  std::vector<std::string> paths{""};
};

Scopes& scopes_of_process() {
  static Scopes& scopes = *new Scopes;
  return scopes;
}

}  // namespace

struct Profile::State final : detail::KernelListener {
  explicit State(Device& profiled)
      : device(profiled.impl()), original(device.table), table(*device.table, *this) {
    device.table = &table.table();
    device.extensions.swap(extensions);
  }
  ~State() {
    device.table = original;
    device.extensions.swap(extensions);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  double since_begin(std::int64_t time) const {
    return static_cast<double>(time - begin) * kNanosecond;
  }

  void on_kernel(std::string_view name, std::int64_t start,
                 const detail::KernelCost& cost) override {
    original->sync(device.context);
    const detail::ProfileScope& scope = detail::profile_scope();
    kernels.push_back({.name = name,
                       .scope = scope.index,
                       .gradient = scope.gradient,
                       .begin = since_begin(start),
                       .seconds = since_begin(detail::profile_clock()) - since_begin(start),
                       .flops = cost.flops,
                       .bytes = cost.bytes});
  }

  void add_span(std::string_view name, std::int64_t start) {
    const double end = since_begin(detail::profile_clock());
    const double from = std::max(since_begin(start), 0.0);
    const auto id = std::this_thread::get_id();
    const auto found = std::ranges::find(threads, id);
    const auto thread = static_cast<std::uint32_t>(found - threads.begin());
    if (found == threads.end()) threads.push_back(id);
    spans.push_back({.name = name, .thread = thread, .begin = from, .seconds = end - from});
  }

  Device::Impl& device;
  const tv_backend* original;
  detail::ProfileTable table;
  std::vector<std::pair<std::string, const void*>> extensions;  // the backend's own, untimed
  std::int64_t begin = detail::profile_clock();
  std::vector<Kernel> kernels;
  std::vector<UnitExchange> exchanges;
  std::vector<std::thread::id> threads{std::this_thread::get_id()};
  std::vector<Span> spans;
};

namespace {

// Guards the current profile and its spans, which come from any thread.
std::mutex span_mutex;
std::atomic<Profile::State*> current_state = nullptr;

}  // namespace

Profile::Profile(Device& device) {
  if (current_state != nullptr) throw Error("there is a profile already");
  device.sync();
  state_ = std::make_unique<State>(device);
  current_state = state_.get();
}

Profile::~Profile() {
  const std::lock_guard lock(span_mutex);
  current_state = nullptr;
}

double Profile::seconds() const {
  return state_->since_begin(detail::profile_clock());
}

const std::vector<Profile::Kernel>& Profile::kernels() const {
  return state_->kernels;
}

const std::vector<UnitExchange>& Profile::exchanges() const {
  return state_->exchanges;
}

std::vector<Profile::Span> Profile::spans() const {
  const std::lock_guard lock(span_mutex);
  return state_->spans;
}

std::vector<std::string> Profile::scopes() {
  Scopes& scopes = scopes_of_process();
  const std::lock_guard lock(scopes.mutex);
  return scopes.paths;
}

ProfileSpan::ProfileSpan(std::string_view name) : name_(name) {
  if (current_state.load(std::memory_order_relaxed) != nullptr) begin_ = detail::profile_clock();
}

ProfileSpan::~ProfileSpan() {
  if (begin_ < 0) return;
  const std::lock_guard lock(span_mutex);
  if (Profile::State* state = current_state) state->add_span(name_, begin_);
}

namespace detail {

double exchange_seconds() {
  return static_cast<double>(profile_clock()) * kNanosecond;
}

bool profiles_exchanges() {
  return current_state.load(std::memory_order_relaxed) != nullptr;
}

void profile_exchange(const UnitExchange& exchange) {
  Profile::State* const state = current_state;
  if (state == nullptr) return;
  UnitExchange& noted = state->exchanges.emplace_back(exchange);
  const double begin = static_cast<double>(state->begin) * kNanosecond;
  // One that was under way when the profile began counts from there.
  for (double* time : {&noted.begin, &noted.wait, &noted.end}) {
    *time = std::max(*time - begin, 0.0);
  }
}

ProfileScope& profile_scope() noexcept {
  thread_local ProfileScope scope;
  return scope;
}

std::uint32_t profile_scope_of(const std::string& path) {
  Scopes& scopes = scopes_of_process();
  const std::lock_guard lock(scopes.mutex);
  const auto found = std::ranges::find(scopes.paths, path);
  const auto index = static_cast<std::uint32_t>(found - scopes.paths.begin());
  if (found == scopes.paths.end()) scopes.paths.push_back(path);
  return index;
}

}  // namespace detail
}  // namespace trivet
