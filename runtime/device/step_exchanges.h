// SPDX-License-Identifier: Apache-2.0
// step_exchanges: the data that each process of a run on a mesh sends to others in a training step.
//
// A block of N floats that P processes share is summed in parts: each sends to each other its part
// of N / P, adds up its own, and the updated weights of all parts are gathered. That is N (P - 1) /
// P floats of gradients and as many of weights. Where devices own whole variables, a process has as
// much of each unit as its variables have. A shorter block (MeshShards::is_cut) is gathered
// and added up whole by each: N (P - 1) floats. A long block takes several exchanges
// (MeshShards::segment).
//
// Processes that share the blocks of layers along mdl exchange what the ops of
// trivet/ops/ops_mesh.h do, which a step on a meta device counts (trivet/tensor/axis_exchange.h):
// sums as those of gradients that are not cut into pieces, and gathers. Then G processes, those
// with the same blocks, have all shards between them: each sends to the other G - 1 their parts of
// its gradients. The updated weights are still gathered by all P.
//
// Weights in parts are gathered where ops read them, and their gradients are summed unit by unit,
// which that step counts, too. Of a process of several shards each one may find units that the one
// before has gathered: then fewer are sent than counted, by at most those that are whole at once.
//
// On a mesh of several slices sums and gathers of parts go within slices and between them
// (MeshLayout::in_slice): each of n processes of a slice sends 1/n of what it sends to other slices
// otherwise.
//
// An exchange is a number of messages, one after the other: P - 1 with each other process in turn,
// or ceil(log2 P) for a short gather, whose messages double (Thakur, Rabenseifner, Gropp 2005,
// Optimization of collective communication operations in MPICH).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/network.h"
#include "trivet/backend/mesh.h"
#include "trivet/tensor/axis_exchange.h"

namespace trivet {

struct Exchange {
  // "gradients", "weights", "states", "block_sums", "block_gathers", "experts", "numbers"
  std::string name;
  std::int64_t calls = 0;     // of all processes together
  std::int64_t messages = 0;  // of a process, one after the other
  std::uint64_t bytes = 0;    // that a process sends to others: the one that sends most
  // Of them to processes of other slices. An all_gather counts what each process has for those.
  std::int64_t between_messages = 0;
  std::uint64_t between_bytes = 0;
};

struct ExchangedTensors {
  std::int64_t gradients = 0;    // elements of trainable weights
  std::int64_t states = 0;       // elements of other variables
  std::int64_t variables = 0;    // of both
  bool shares_updates = false;   // Trainer::shares_updates
  bool needs_norm = false;       // the norm of an update's gradients
  bool clips_variables = false;  // by that of each variable
  bool reads_own_rows = false;   // each process, not the whole batch
  bool counts_tokens = false;
  std::vector<AxisExchange> blocks{};  // of the step of one shard
  std::int64_t units = 0;              // of weights in parts; 0: processes have whole weights
  bool units_remain = false;           // all of them may be whole at once
  bool keeps_units = false;            // they always are (WeightShare::keeps_all)
  bool sums_units = false;             // their gradients are summed unit by unit
  // Where devices own whole variables (WeightShare::parts): elements of each unit that each process
  // has. Empty: equal pieces.
  std::vector<std::vector<std::int64_t>> parts{};
};

// What a process tells each other before a step (StepRecord).
inline constexpr std::uint64_t kStepRecordBytes = 32;

// Processes that share the blocks of a shard's layers along mdl; 1: each has all blocks of its
// stages.
std::int64_t processes_of_blocks(const MeshConfig& mesh);
// Those that share its blocks and stages.
std::int64_t processes_of_shard(const MeshConfig& mesh);

// Empty for one process. The mesh must be one that runs train (check_mesh).
std::vector<Exchange> step_exchanges(const MeshConfig& mesh, const ExchangedTensors& tensors);

double seconds_of(const Exchange& exchange, const Networks& networks);
// Of all of them, one after the other.
double seconds_of(const std::vector<Exchange>& exchanges, const Networks& networks);

// Of the time of a step's exchanges what is under way while it computes for so long
// (MeshConfig::overlap): units of weights are gathered ahead, half of them in the forward pass
// (where all remain whole, all of them), and sums of their gradients continue in the backward pass.
// That takes twice the FLOPs of the forward pass, so two thirds of the time (Kaplan et al. 2020,
// Scaling laws for neural language models, section 2.1). Nothing hides the first unit of weights
// and the last one of gradients.
double hidden_seconds(const std::vector<Exchange>& exchanges, const Networks& networks,
                      const ExchangedTensors& tensors, std::int64_t overlap,
                      double compute_seconds);

}  // namespace trivet
