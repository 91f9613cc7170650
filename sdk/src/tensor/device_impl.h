// SPDX-License-Identifier: Apache-2.0
// The implementation of a Device: the opened backend, what the host offers it, and the SDK's own
// small constants there.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tensor/device_memory.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/tensor.h"
#include "trivet/tensor/axis_exchange.h"
#include "trivet/tensor/device.h"

namespace trivet {

class ProcessGroup;  // trivet/backend/process_group.h

// Scratch of the current backend call: pieces of one block, which grows to what the largest call
// needed.
class Scratch {
 public:
  void* take(DeviceMemory& memory, std::uint64_t bytes);  // null when there is no memory left
  void end_call(DeviceMemory& memory) {
    if (used_ != 0) reset(memory);
  }
  void release(DeviceMemory& memory);

 private:
  struct Chunk {
    void* data;
    std::uint64_t bytes;
  };
  void reset(DeviceMemory& memory);

  std::vector<Chunk> chunks_;
  std::uint64_t used_ = 0;         // of the last chunk
  std::uint64_t used_before_ = 0;  // of the chunks before it
};

struct Device::Impl {
  Device* self = nullptr;
  DeviceOptions options;
  const tv_backend* table = nullptr;
  const RegistryItem* item = nullptr;
  tv_ctx* context = nullptr;
  tv_info info{};
  tv_host host{};
  std::string error_text;  // what the backend said last
  std::unique_ptr<DeviceMemory> memory;
  Scratch scratch;
  const char* op = "";  // the op that is running, for the memory table
  FlopCount flops;
  // Of the last pipeline: stages (0: there was none), micro-batches, repeats.
  std::array<std::int64_t, 3> pipeline{};
  double pipeline_flops = 0;            // PipelineUse::flops
  bool is_in_stage = false;             // computes a part of a pipeline
  std::weak_ptr<ProcessGroup> sending;  // what it sends moves between the calls of kernels
  // Calls, by kind, bytes, unit and number of processes.
  std::map<std::tuple<AxisExchange::Kind, std::uint64_t, std::int64_t, std::int64_t>, std::int64_t>
      axis_exchanges;

  struct Kernel {
    const char* name;  // as given: compared by address first
    std::uint64_t native = 0, fallback = 0;
  };
  std::vector<Kernel> kernels;
  std::vector<std::pair<std::string, const void*>> extensions;

  // Values needed again and again by compositions. They live as long as the device.
  std::map<std::uint32_t, Tensor> constants;  // by bits
  Tensor numbers;                             // i32 0, 1, 2, ...

  void move_sent();
  void upload(void* destination, const void* source, std::uint64_t bytes);
  void download(void* destination, const void* source, std::uint64_t bytes);
  Tensor constant(float value);  // f32, rank 0
  Tensor iota(std::int64_t n);   // i32 [n]: 0, 1, .., n - 1
};

}  // namespace trivet
