// SPDX-License-Identifier: Apache-2.0
// Speed of the kernels of cpu/Highway alone: GFLOP/s or GB/s of each piece of two training steps,
// and the ratio to a bare cblas_sgemm of the same sizes or to memcpy in the same run. CPU seconds
// of the whole process, best of several interleaved rounds, so that a busy machine disturbs little.
//
//   kernels_bench [threads [section]]

#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <trivet/backend/kernels/norm.h>
#include <trivet/backend/kernels/recurrent.h>
#include <trivet/backend/kernels/vision.h>
#include <trivet/backend/thread_pool.h>

#include "cpu/backend.h"

namespace {

double seconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// A host on trivet's own pool; scratch is one block that grows between calls.
class Host {
 public:
  explicit Host(int threads) : pool_(threads), memory_(256 << 20) {
    host_.struct_size = sizeof(host_);
    host_.api_version = TV_BACKEND_API_VERSION;
    host_.self = this;
    host_.set_error = [](const tv_host*, const char* text) { std::fprintf(stderr, "%s\n", text); };
    host_.log = [](const tv_host*, std::int32_t, const char*) {};
    host_.scratch = [](const tv_host* host, std::uint64_t bytes) -> void* {
      auto* self = static_cast<Host*>(host->self);
      const std::size_t at = (self->used_ + 63) / 64 * 64;
      if (at + bytes > self->memory_.size() - 64) return nullptr;
      self->used_ = at + bytes;
      const auto base = reinterpret_cast<std::uintptr_t>(self->memory_.data());
      return self->memory_.data() + (64 - base % 64) % 64 + at;
    };
    host_.parallel_for = [](const tv_host* host, std::int64_t n, std::int64_t grain, auto fn,
                            void* arg) {
      static_cast<Host*>(host->self)->pool_.parallel_for(n, grain, fn, arg);
    };
    host_.max_workers = pool_.threads();
    if (cpu::get()->open(0, nullptr, 0, &host_, &context_) != TV_OK) std::exit(1);
  }
  ~Host() { cpu::get()->close(context_); }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  tv_ctx* context() {
    used_ = 0;
    return context_;
  }

 private:
  trivet::ThreadPool pool_;
  std::vector<char> memory_;
  std::size_t used_ = 0;
  tv_host host_ = {};
  tv_ctx* context_ = nullptr;
};

float* floats(std::int64_t n) {
  auto* memory =
      static_cast<float*>(std::aligned_alloc(64, (static_cast<std::size_t>(n) * 4 / 64 + 1) * 64));
  for (std::int64_t i = 0; i < n; ++i) {
    memory[i] = static_cast<float>(i * 7919 % 1000) * 1e-3f - 0.4f;
  }
  return memory;  // valid as long as the program runs
}

struct Piece {
  std::string name;
  double work;  // floating-point operations, or bytes if negative
  std::function<void()> ours, bare;
  double best = std::numeric_limits<double>::infinity(), wall = best, best_bare = best;
};

void gemm(bool ta, bool tb, int m, int n, int k, const float* a, const float* b, float* c) {
  cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n,
              k, 1, a, ta ? m : k, b, tb ? k : n, 0, c, n);
}

struct Bench {
  Host host;
  std::vector<Piece> pieces;
  const tv_backend& table = *cpu::get();

  explicit Bench(int threads) : host(threads) {}

  void linear(const std::string& name, std::int64_t rows, std::int64_t in, std::int64_t out,
              int activation, bool wants_dx) {
    float *x = floats(rows * in), *w = floats(in * out), *b = floats(out), *y = floats(rows * out);
    float *dy = floats(rows * out), *dx = floats(rows * in), *dw = floats(in * out),
          *c = floats(in * out + rows * in);
    const double flops = 2.0 * static_cast<double>(rows * in * out);
    const int m = static_cast<int>(rows), k = static_cast<int>(in), n = static_cast<int>(out);
    tv_linear f = {};
    f.struct_size = sizeof(f), f.activation = static_cast<std::uint8_t>(activation);
    f.rows = rows, f.in = in, f.out = out, f.x = x, f.w = w, f.b = b, f.y = y;
    pieces.push_back({name + " forward", flops, [=, this] { table.linear_fwd(host.context(), &f); },
                      [=] { gemm(false, false, m, n, k, x, w, c); }});
    tv_linear_grad g = {};
    g.struct_size = sizeof(g), g.activation = f.activation;
    g.rows = rows, g.in = in, g.out = out, g.x = x, g.w = w, g.saved = y, g.dy = dy;
    g.dz = floats(rows * out), g.dx = wants_dx ? dx : nullptr, g.dw = dw, g.db = floats(out);
    pieces.push_back({name + " backward", (wants_dx ? 2 : 1) * flops,
                      [=, this] { table.linear_bwd(host.context(), &g); },
                      [=] {
                        gemm(true, false, k, n, m, x, dy, c);
                        if (wants_dx) gemm(false, true, m, k, n, dy, w, c);
                      }});
  }

  // One product; bare: the same product by one call on one thread.
  void product(bool ta, bool tb, int m, int n, int k) {
    const auto size = [](std::int64_t x, std::int64_t y) { return x * y; };
    float *a = floats(size(m, k)), *b = floats(size(k, n)), *c = floats(size(m, n));
    tv_matmul d = {};
    d.struct_size = sizeof(d), d.trans_a = ta, d.trans_b = tb, d.batch = 1;
    d.m = m, d.n = n, d.k = k, d.a = a, d.lda = ta ? m : k, d.b = b, d.ldb = tb ? k : n;
    d.c = c, d.ldc = n, d.alpha = 1;
    std::string name = std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k);
    name.append(ta ? " T" : " N").append(tb ? "T" : "N");
    pieces.push_back({name, 2 * static_cast<double>(size(m, n)) * k,
                      [=, this] { table.matmul(host.context(), &d); },
                      [=] { gemm(ta, tb, m, n, k, a, b, c); }});
  }

  // Causal self-attention on rows of q, k and v side by side. Bare: the products of all heads, half
  // of them hidden, without softmax.
  void attention(const std::string& name, std::int64_t batch, std::int64_t time, std::int64_t heads,
                 std::int64_t depth) {
    const std::int64_t width = heads * depth, rows = batch * time;
    float *qkv = floats(rows * 3 * width), *grads = floats(rows * 3 * width);
    float *out = floats(rows * width), *dout = floats(rows * width);
    const auto view = [=](float* data, std::int64_t step) {
      tv_view v = {};
      v.data = data, v.dtype = TV_F32, v.rank = 4;
      const std::int64_t shape[] = {batch, time, heads, depth};
      const std::int64_t stride[] = {time * step, step, depth, 1};
      std::copy_n(shape, 4, v.shape), std::copy_n(stride, 4, v.stride);
      return v;
    };
    tv_attention f = {};
    f.struct_size = sizeof(f), f.causal = 1, f.scale = 0.125f, f.lse = floats(rows * heads);
    f.q = view(qkv, 3 * width), f.k = view(qkv + width, 3 * width);
    f.v = view(qkv + 2 * width, 3 * width), f.out = view(out, width);
    tv_attention_grad g = {};
    g.struct_size = sizeof(g), g.fwd = f, g.dout = view(dout, width);
    g.dq = view(grads, 3 * width), g.dk = view(grads + width, 3 * width);
    g.dv = view(grads + 2 * width, 3 * width);
    const int t = static_cast<int>(time), d = static_cast<int>(depth);
    float* scores = floats(time * time);
    const auto products = [=](int times) {
      for (std::int64_t i = 0; i < batch * heads * times; ++i) {
        gemm(false, true, t, t / 2, d, qkv, qkv, scores);
        gemm(false, false, t, d, t / 2, scores, qkv, out);
      }
    };
    const double flops = 2.0 * static_cast<double>(batch * heads * time * time * depth);
    pieces.push_back({name + " forward", flops,
                      [=, this] { table.attention_fwd(host.context(), &f); },
                      [=] { products(1); }});
    pieces.push_back({name + " backward", 2.5 * flops,
                      [=, this] { table.attention_bwd(host.context(), &g); },
                      [=] { products(2), products(1); }});
  }

  void conv(const std::string& name, std::int64_t batch, std::int64_t size, std::int64_t cin,
            std::int64_t cout, bool wants_dx) {
    tv_conv2d_shape s = {};
    s.batch = batch, s.in_h = s.in_w = s.out_h = s.out_w = size, s.in_c = cin, s.out_c = cout;
    s.kernel_h = s.kernel_w = 3, s.stride_h = s.stride_w = s.dilation_h = s.dilation_w = 1;
    s.pad_top = s.pad_left = 1;
    const std::int64_t in = batch * size * size * cin, out = batch * size * size * cout;
    const double flops = 2.0 * static_cast<double>(out * 9 * cin);
    float *x = floats(in), *w = floats(9 * cin * cout), *y = floats(out), *dy = floats(out);
    tv_conv2d f = {};
    f.struct_size = sizeof(f), f.activation = TV_ACT_RELU, f.shape = s;
    f.x = x, f.w = w, f.b = floats(cout), f.y = y;
    const auto forward = reinterpret_cast<tv_conv2d_fwd_fn>(
        const_cast<void*>(table.extension(host.context(), TV_CONV2D_FWD)));
    const auto backward = reinterpret_cast<tv_conv2d_bwd_fn>(
        const_cast<void*>(table.extension(host.context(), TV_CONV2D_BWD)));
    // Bare: one product per image, without the cost of im2col.
    const int p = static_cast<int>(size * size), k = static_cast<int>(9 * cin),
              n = static_cast<int>(cout);
    float *columns = floats(size * size * 9 * cin),
          *c = floats(size * size * cout + 9 * cin * (cout + size * size));
    pieces.push_back({name + " forward", flops, [=, this] { forward(host.context(), &f); },
                      [=] {
                        for (std::int64_t i = 0; i < batch; ++i) {
                          gemm(false, false, p, n, k, columns, w, c);
                        }
                      }});
    tv_conv2d_grad g = {};
    g.struct_size = sizeof(g), g.activation = TV_ACT_RELU, g.shape = s;
    g.x = x, g.w = w, g.saved = y, g.dy = dy, g.dz = floats(out),
    g.dx = wants_dx ? floats(in) : nullptr;
    g.dw = floats(9 * cin * cout), g.db = floats(cout);
    pieces.push_back({name + " backward", (wants_dx ? 2 : 1) * flops,
                      [=, this] { backward(host.context(), &g); },
                      [=] {
                        for (std::int64_t i = 0; i < batch; ++i) {
                          gemm(true, false, k, n, p, columns, dy, c);
                          if (wants_dx) gemm(false, true, p, k, n, dy, w, c);
                        }
                      }});
  }

  void pool(const std::string& name, std::int64_t batch, std::int64_t size, std::int64_t channels) {
    tv_conv2d_shape s = {};
    s.batch = batch, s.in_h = s.in_w = size, s.out_h = s.out_w = size / 2;
    s.in_c = s.out_c = channels, s.kernel_h = s.kernel_w = s.stride_h = s.stride_w = 2;
    s.dilation_h = s.dilation_w = 1;
    const std::int64_t in = batch * size * size * channels;
    float *x = floats(in), *y = floats(in / 4), *dx = floats(in);
    auto* argmax = reinterpret_cast<std::uint8_t*>(floats(in / 16));
    tv_pool2d f = {};
    f.struct_size = sizeof(f), f.shape = s, f.x = x, f.y = y, f.argmax = argmax;
    tv_pool2d_grad g = {};
    g.struct_size = sizeof(g), g.shape = s, g.dy = y, g.argmax = argmax, g.dx = dx;
    const auto forward = reinterpret_cast<tv_pool2d_fwd_fn>(
        const_cast<void*>(table.extension(host.context(), TV_POOL2D_FWD)));
    const auto backward = reinterpret_cast<tv_pool2d_bwd_fn>(
        const_cast<void*>(table.extension(host.context(), TV_POOL2D_BWD)));
    const double bytes = -5.25 * static_cast<double>(in);
    const auto bytes_moved = static_cast<std::size_t>(in) * 5 / 2;
    const auto copy = [=] { std::memcpy(dx, x, bytes_moved); };
    pieces.push_back({name + " forward", bytes, [=, this] { forward(host.context(), &f); }, copy});
    pieces.push_back(
        {name + " backward", bytes, [=, this] { backward(host.context(), &g); }, copy});
  }

  // Bare: a copy of all arrays that must be read or written, each once.
  void batch_norm(const std::string& name, std::int64_t rows, std::int64_t n) {
    const std::int64_t size = rows * n;
    float *x = floats(size), *y = floats(size), *dy = floats(size), *dx = floats(size);
    float *mean = floats(n), *variance = floats(n), *gamma = floats(n);
    tv_batch_norm f = {};
    f.struct_size = sizeof(f), f.activation = TV_ACT_RELU, f.rows = rows, f.n = n;
    f.epsilon = 1e-5f, f.x = x, f.gamma = gamma, f.beta = floats(n), f.y = y;
    f.mean = mean, f.variance = variance;
    tv_batch_norm_grad g = {};
    g.struct_size = sizeof(g), g.activation = TV_ACT_RELU, g.rows = rows, g.n = n;
    g.epsilon = 1e-5f, g.x = x, g.gamma = gamma, g.y = y, g.dy = dy;
    g.mean = mean, g.variance = variance;
    g.dx = dx, g.dgamma = floats(n), g.dbeta = floats(n);
    const auto forward = kernel<tv_batch_norm_fwd_fn>(TV_BATCH_NORM_FWD);
    const auto backward = kernel<tv_batch_norm_bwd_fn>(TV_BATCH_NORM_BWD);
    norm(
        name, size, [=, this] { forward(host.context(), &f); },
        [=, this] { backward(host.context(), &g); }, x, dx);
  }

  void layer_norm(const std::string& name, std::int64_t rows, std::int64_t n) {
    const std::int64_t size = rows * n;
    float *x = floats(size), *y = floats(size), *dy = floats(size), *dx = floats(size);
    float *mean = floats(rows), *rstd = floats(rows), *gamma = floats(n);
    tv_norm f = {};
    f.struct_size = sizeof(f), f.kind = TV_LAYER_NORM, f.rows = rows, f.n = n, f.epsilon = 1e-6f;
    f.x = x, f.gamma = gamma, f.beta = floats(n), f.y = y, f.mean = mean, f.rstd = rstd;
    tv_norm_grad g = {};
    g.struct_size = sizeof(g), g.kind = TV_LAYER_NORM, g.rows = rows, g.n = n;
    g.x = x, g.gamma = gamma, g.dy = dy, g.mean = mean, g.rstd = rstd;
    g.dx = dx, g.dgamma = floats(n), g.dbeta = floats(n);
    norm(
        name, size, [=, this] { table.norm_fwd(host.context(), &f); },
        [=, this] { table.norm_bwd(host.context(), &g); }, x, dx);
  }

  template <typename F>
  F kernel(const char* name) {
    return reinterpret_cast<F>(const_cast<void*>(table.extension(host.context(), name)));
  }

  // Forward reads x and writes y; backward reads x and dy and writes dx.
  void norm(const std::string& name, std::int64_t size, std::function<void()> forward,
            std::function<void()> backward, const float* from, float* to) {
    const auto bytes = static_cast<std::size_t>(size) * 4;
    pieces.push_back({name + " forward", -8.0 * static_cast<double>(size), std::move(forward),
                      [=] { std::memcpy(to, from, bytes); }});
    pieces.push_back({name + " backward", -12.0 * static_cast<double>(size), std::move(backward),
                      [=] { std::memcpy(to, from, bytes), std::memcpy(to, from, bytes / 2); }});
  }

  // Bare: the products of the state with the weights, one call a position.
  void lstm(const std::string& name, std::int64_t batch, std::int64_t time, std::int64_t units) {
    const std::int64_t states = batch * time * units;
    tv_lstm f = {};
    f.struct_size = sizeof(f);
    f.sequence.batch = batch, f.sequence.time = time, f.sequence.units = units;
    float *w = floats(4 * units * units), *gates = floats(4 * states);
    f.w = w, f.gates = gates, f.h = floats(states), f.c = floats(states);
    tv_lstm_grad g = {};
    g.struct_size = sizeof(g), g.fwd = f, g.dh = floats(states), g.dw = floats(4 * units * units);
    const auto forward = kernel<tv_lstm_fwd_fn>(TV_LSTM_FWD);
    const auto backward = kernel<tv_lstm_bwd_fn>(TV_LSTM_BWD);
    const int b = static_cast<int>(batch), n = static_cast<int>(units),
              rows = b * static_cast<int>(time);
    float *state = floats(rows * n), *of_gates = floats(4 * rows * n), *dw = floats(4 * n * n);
    const double flops = 8.0 * static_cast<double>(states * units);
    pieces.push_back({name + " forward", flops, [=, this] { forward(host.context(), &f); },
                      [=] {
                        for (std::int64_t t = 0; t < time; ++t) {
                          gemm(false, false, b, 4 * n, n, state, w, of_gates);
                        }
                      }});
    pieces.push_back({name + " backward", 2 * flops, [=, this] { backward(host.context(), &g); },
                      [=] {
                        for (std::int64_t t = 0; t < time; ++t) {
                          gemm(false, true, b, n, 4 * n, of_gates, w, state);
                        }
                        gemm(true, false, n, 4 * n, rows, state, of_gates, dw);
                      }});
  }

  void adam(const std::string& name, std::int64_t n) {
    tv_optim d = {};
    d.struct_size = sizeof(d), d.kind = TV_ADAM, d.n = n;
    float *w = floats(n), *g = floats(n), *m = floats(n), *v = floats(n);
    std::memset(v, 0, static_cast<std::size_t>(n) * 4);
    d.param = w, d.grad = g, d.slot0 = m, d.slot1 = v;
    d.grad_scale = 1, d.beta1 = 0.9f, d.beta2 = 0.999f, d.epsilon = 1e-8f, d.step_size = 1e-9f,
    d.v_scale = 1;
    const auto half = static_cast<std::size_t>(n) * 4;
    pieces.push_back({name, -28.0 * static_cast<double>(n),
                      [=, this] { table.optim(host.context(), &d); },
                      [=] {  // 28 bytes a parameter, read and written
                        std::memcpy(m, w, half), std::memcpy(w, m, half), std::memcpy(m, w, half);
                        std::memcpy(w, m, half / 2);
                      }});
  }

  void softmax(std::int64_t rows, std::int64_t classes) {
    tv_softmax_xent f = {};
    float *logits = floats(rows * classes), *loss = floats(rows), *lse = floats(rows);
    auto* targets = new std::int32_t[static_cast<std::size_t>(rows)]();
    f.struct_size = sizeof(f), f.rows = rows, f.classes = classes, f.logits = logits;
    f.targets = targets, f.row_grad = floats(rows), f.lse = lse, f.loss = loss;
    tv_softmax_xent b = f;
    b.loss = nullptr, b.dlogits = floats(rows * classes);
    pieces.push_back({"softmax cross entropy", -12.0 * static_cast<double>(rows * classes),
                      [=, this] {
                        table.softmax_xent(host.context(), &f);
                        table.softmax_xent(host.context(), &b);
                      },
                      [=] { std::memcpy(loss, lse, static_cast<std::size_t>(rows) * 4); }});
  }

  // A classifier with its loss and gradients; bare: its three products.
  void head(const std::string& name, std::int64_t rows, std::int64_t in, std::int64_t classes) {
    float *h = floats(rows * in), *w = floats(in * classes), *dh = floats(rows * in);
    float *dw = floats(in * classes), *logits = floats(rows * classes);
    tv_linear_xent d = {};
    d.struct_size = sizeof(d), d.w_transposed = 1;
    d.rows = rows, d.in = in, d.classes = classes, d.h = h, d.w = w;
    d.targets = new std::int32_t[static_cast<std::size_t>(rows)]();
    d.row_weight = floats(rows), d.loss = floats(rows), d.lse = floats(rows), d.dh = dh, d.dw = dw;
    const int m = static_cast<int>(rows), k = static_cast<int>(in), n = static_cast<int>(classes);
    pieces.push_back({name, 6.0 * static_cast<double>(rows * in * classes),
                      [=, this] { table.linear_xent(host.context(), &d); },
                      [=] {
                        gemm(false, true, m, n, k, h, w, logits);
                        gemm(true, false, n, k, m, logits, h, dw);
                        gemm(false, false, m, k, n, logits, w, dh);
                      }});
  }

  void run(const char* model, std::int64_t batch) {
    for (int round = 0; round < 15; ++round) {
      for (Piece& piece : pieces) {
        for (const bool bare : {false, true}) {
          const double start = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
          (bare ? piece.bare : piece.ours)();
          const double took = seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
          double& best = bare ? piece.best_bare : piece.best;
          best = std::min(best, took);
          if (!bare) piece.wall = std::min(piece.wall, seconds(CLOCK_MONOTONIC) - wall);
        }
      }
    }
    double cpu = 0, wall = 0;
    for (const Piece& piece : pieces) {
      const bool flops = piece.work > 0;
      std::printf("%-28s %9.1f us cpu %9.1f us wall %7.1f %s  %5.2f x bare\n", piece.name.c_str(),
                  piece.best * 1e6, piece.wall * 1e6, std::abs(piece.work) / piece.best * 1e-9,
                  flops ? "GFLOP/s" : "GB/s   ", piece.best_bare / piece.best);
      cpu += piece.best, wall += piece.wall;
    }
    std::printf("%s, batch %d: %.0f samples a CPU second, %.0f a second\n\n", model,
                static_cast<int>(batch), static_cast<double>(batch) / cpu,
                static_cast<double>(batch) / wall);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const std::string wanted = argc > 2 ? argv[2] : "";
  constexpr std::int64_t kBatch = 128;
  const trivet::FlushDenormals flush;
  std::printf("%d threads\n", threads);
  const auto section = [&](const char* name, std::int64_t batch, auto add_pieces) {
    if (!wanted.empty() && wanted != name) return;
    Bench bench(threads);
    add_pieces(bench);
    bench.run(name, batch);
  };
  section("products", 8, [&](Bench& bench) {
    for (const auto& [width, rows] : {std::pair{384, 2048}, {768, 1024}}) {
      for (const auto& [in, out] : {std::pair{1, 3}, {1, 1}, {1, 4}, {4, 1}}) {
        const int k = in * width, n = out * width;
        bench.product(false, false, rows, n, k);
        bench.product(false, true, rows, k, n);
        bench.product(true, false, k, n, rows);
      }
    }
    bench.product(false, true, 512, 50257, 768);
    bench.product(false, false, 512, 768, 50257);
    bench.product(true, false, 50257, 768, 512);
    bench.product(false, false, 1, 768, 768);
    bench.product(false, false, 1, 3072, 768);
  });
  section("attention", 8, [&](Bench& bench) {
    bench.attention("attention 256 x 6 x 64", 8, 256, 6, 64);
    bench.attention("attention 256 x 12 x 64", 4, 256, 12, 64);
    bench.attention("attention 1024 x 8 x 64", 1, 1024, 8, 64);
  });
  section("mlp", kBatch, [&](Bench& bench) {
    bench.linear("linear 784-512 relu", kBatch, 784, 512, TV_ACT_RELU, false);
    bench.linear("linear 512-10", kBatch, 512, 10, TV_ACT_NONE, true);
    bench.softmax(kBatch, 10);
    bench.adam("adam", 784 * 512 + 512 + 512 * 10 + 10);
  });
  section("cnn", kBatch, [&](Bench& bench) {
    bench.conv("conv 1-32 of 28x28", kBatch, 28, 1, 32, false);
    bench.pool("pool 28x28x32", kBatch, 28, 32);
    bench.conv("conv 32-64 of 14x14", kBatch, 14, 32, 64, true);
    bench.pool("pool 14x14x64", kBatch, 14, 64);
    bench.linear("linear 3136-128 relu", kBatch, 3136, 128, TV_ACT_RELU, true);
    bench.linear("linear 128-10", kBatch, 128, 10, TV_ACT_NONE, true);
    bench.softmax(kBatch, 10);
    bench.adam("adam", 9 * 32 + 32 + 9 * 32 * 64 + 64 + 3136 * 128 + 128 + 1290);
  });
  section("resnet", kBatch, [&](Bench& bench) {
    bench.conv("conv 32-32 of 14x14", kBatch, 14, 32, 32, true);
    bench.conv("conv 64-64 of 7x7", kBatch, 7, 64, 64, true);
    bench.conv("conv 128-128 of 4x4", kBatch, 4, 128, 128, true);
  });
  section("norms", kBatch, [&](Bench& bench) {
    bench.batch_norm("batch norm 14x14x32 relu", kBatch * 14 * 14, 32);
    bench.batch_norm("batch norm 7x7x64 relu", kBatch * 7 * 7, 64);
    bench.layer_norm("layer norm 50x64", kBatch * 50, 64);
  });
  section("recurrent", 1, [&](Bench& bench) {
    bench.lstm("lstm 32 x 128 x 512", 32, 128, 512);
    bench.lstm("lstm 8 x 64 x 128", 8, 64, 128);
  });
  section("heads", 8, [&](Bench& bench) {
    bench.head("softmax of 258 bytes", 8 * 256, 128, 258);
    bench.head("softmax of 8192 tokens", 8 * 256, 256, 8192);
  });
}
