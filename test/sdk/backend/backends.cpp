// SPDX-License-Identifier: Apache-2.0
#include "sdk/backend/backends.h"

#include "trivet/backend/thread_pool.h"
#include "trivet/testing/backend_wrappers.h"
#ifdef TRIVET_TEST_CPU
#include "cpu/backend.h"
#endif
#include "tiny/backend.h"

namespace trivet::test {
namespace {

std::shared_ptr<ThreadPool> pool() {
  static const auto shared = std::make_shared<ThreadPool>(2);
  return shared;
}

std::vector<NamedBackend> list() {
  std::vector<NamedBackend> all{{"tiny", tiny::get()},
                                {"tiny, fake device", testing::fake_device(tiny::get())}};
#ifdef TRIVET_TEST_CPU
  static const tv_backend composed = testing::mandatory_only(*cpu::get());
  all.push_back({"cpu", cpu::get()});
  all.push_back({"cpu, composed", &composed});
  all.push_back({"cpu, fake device", testing::fake_device(cpu::get())});
#endif
  return all;
}

}  // namespace

const std::vector<NamedBackend>& named_backends() {
  static const std::vector<NamedBackend> all = list();
  return all;
}

const tv_backend* any_backend() {
  return named_backends().front().table;
}

std::unique_ptr<Device> open(const NamedBackend& backend) {
  DeviceOptions options;
  options.key = backend.name;
  options.pool = pool();
  return Device::open(backend.table, options);
}

std::unique_ptr<Device> open_any(std::uint64_t memory_limit) {
  DeviceOptions options;
  options.key = "test/Backend";
  options.pool = pool();
  options.memory_limit = memory_limit;
  return Device::open(any_backend(), options);
}

}  // namespace trivet::test
