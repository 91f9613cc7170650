// SPDX-License-Identifier: Apache-2.0
#include "cpu/kernels/blas.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <vector>

namespace cpu {
namespace {

constexpr const char* kLibrary = "libopenblas.so.0";
constexpr const char* kThreads = "OPENBLAS_NUM_THREADS";

// Sets one environment variable during its lifetime.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) {
    if (const char* const old = std::getenv(name)) old_ = old;
    ::setenv(name, value, 1);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

struct Loaded {
  void* library = nullptr;
  Blas blas;

  template <typename F>
  void find(F*& function, const char* name) {
    function = reinterpret_cast<F*>(::dlsym(library, name));
    if (function == nullptr) blas.problem = std::string(kLibrary) + " has no " + name;
  }
};

std::string limit_text() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  std::string text = " ";
  text.append(std::to_string(limit.rlim_cur >> 20)).append(" MiB of address space (ulimit -v)");
  return text;
}

// The host's pool splits the work, so OpenBLAS must run every product on the calling thread. Its
// OpenMP build forgets that setting on new threads; its pthread build keeps it.
std::string threads_problem(Loaded& loaded) {
  decltype(&openblas_get_parallel) parallel = nullptr;
  decltype(&openblas_set_num_threads) set_threads = nullptr;
  loaded.find(parallel, "openblas_get_parallel");
  loaded.find(set_threads, "openblas_set_num_threads");
  loaded.find(loaded.blas.threads, "openblas_get_num_threads");
  if (!loaded.blas.problem.empty()) return loaded.blas.problem;
  if (parallel() == OPENBLAS_OPENMP) {
    return "OpenBLAS is the OpenMP build, which starts threads of its own. Install "
           "libopenblas0-pthread and choose it: update-alternatives --config "
           "libopenblas.so.0-x86_64-linux-gnu";
  }
  set_threads(1);
  if (loaded.blas.threads() == 1) return {};
  return "OpenBLAS cannot be limited to one thread";
}

Loaded load() {
  const Setting one_thread(kThreads, "1");
  Loaded loaded;
  loaded.library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (loaded.library == nullptr) {
    const std::string limit = limit_text();
    loaded.blas.problem = std::string("OpenBLAS cannot be loaded: ") + ::dlerror() +
                          (limit.empty() ? "; install libopenblas0-pthread"
                                         : "; the process may have" + limit + ": raise it");
    return loaded;
  }
  loaded.find(loaded.blas.sgemm, "cblas_sgemm");
  loaded.find(loaded.blas.config, "openblas_get_config");
  loaded.find(loaded.blas.corename, "openblas_get_corename");
  if (loaded.blas.problem.empty()) loaded.blas.problem = threads_problem(loaded);
  return loaded;
}

const Loaded& loaded_once() {
  static const Loaded loaded = load();
  return loaded;
}

}  // namespace

const Blas& blas() {
  return loaded_once().blas;
}

std::string reserve_blas_buffers(std::int32_t threads) {
  constexpr std::size_t kBuffer = std::size_t{128} << 20, kBeside = std::size_t{16} << 20;
  const auto count = static_cast<std::size_t>(std::max(threads, 1));
  // Reserved here first, since OpenBLAS retries forever.
  const std::size_t size = count * kBuffer + kBeside;
  void* const room = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    const std::string limit = limit_text();
    return "OpenBLAS reserves " + std::to_string(count * kBuffer >> 20) +
           " MiB of address space for its threads, and the system does not grant that much" +
           (limit.empty() ? "" : ": the limit is" + limit + "; raise it") +
           ", or set fewer runtime.threads";
  }
  ::munmap(room, size);
  // Uses the functions below its products; each holds a buffer during a product.
  void* const library = loaded_once().library;
  using Take = void*(int);
  using Give = void(void*);
  const auto take = reinterpret_cast<Take*>(::dlsym(library, "blas_memory_alloc"));
  const auto give = reinterpret_cast<Give*>(::dlsym(library, "blas_memory_free"));
  if (take == nullptr || give == nullptr) return {};
  static std::mutex turn;
  const std::lock_guard lock(turn);
  std::vector<void*> buffers;
  for (std::size_t i = 0; i < count; ++i) buffers.push_back(take(0));
  for (void* const buffer : buffers) give(buffer);
  return {};
}

}  // namespace cpu
