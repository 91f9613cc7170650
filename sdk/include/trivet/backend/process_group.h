// SPDX-License-Identifier: Apache-2.0
// ProcessGroup: this process among those that train one model together. The program makes it from
// a communication engine (trivet/backend/collective.h).
//
// All processes make the same calls in the same order, send() and receive() excepted; each call
// waits for its end, but for send() and start_exchange(). A call throws RunError when another
// process is gone or has failed, or does not come within mesh.timeout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trivet/base/export.h"

namespace trivet {

class ExchangeLog;  // trivet/tensor/exchange_log.h

// Data under way (ProcessGroup::start_exchange).
class TRIVET_API Transfer {
 public:
  // Gives up a transfer that has failed, or that nobody has waited for.
  virtual ~Transfer();
  // Returns at its end. [run-thread]
  virtual void wait() = 0;
  // Whether it is known that wait() would return at once. Does not wait. [run-thread]
  virtual bool has_ended();
};

// What is to be done while data move, such as to send on what has come.
class TRIVET_API Relay {
 public:
  virtual ~Relay();
  // Does not wait. It may be called inside of any call of a group. [run-thread]
  virtual void advance() = 0;
};

class TRIVET_API ProcessGroup {
 public:
  virtual ~ProcessGroup();

  // From 0 to size() - 1. [any-thread]
  virtual int rank() const = 0;
  // Processes. [any-thread]
  virtual int size() const = 0;

  // `all` gets what each process has in `mine`, in the order of ranks. Sizes are equal on all.
  // [run-thread]
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  // `mine` holds to[r] bytes for each rank r, one after the other; `theirs` gets from[r] bytes of
  // each. [run-thread]
  virtual void all_to_all(std::span<const std::byte> mine, std::span<const std::uint64_t> to,
                          std::span<std::byte> theirs, std::span<const std::uint64_t> from) = 0;
  // The same of memory that need not be together: each other rank r gets mine[r], and theirs[r]
  // gets what r has for this one. Those of this rank are not looked at. [run-thread]
  virtual void exchange(std::span<const std::span<const std::byte>> mine,
                        std::span<const std::span<std::byte>> theirs);
  // The same without waiting: data move while this process waits in other calls, or calls
  // progress(). The memory is the transfer's until its end. By default it is one that has ended.
  // [run-thread]
  virtual std::unique_ptr<Transfer> start_exchange(std::span<const std::span<const std::byte>> mine,
                                                   std::span<const std::span<std::byte>> theirs);
  // The data of the rank `root` become those of all. [run-thread]
  virtual void broadcast(std::span<std::byte> data, int root) = 0;

  // These go to the rank `to`, which receives them in the order of such calls. Does not wait: they
  // move while this process waits in other calls, or calls progress(). [run-thread]
  virtual void send(std::vector<std::byte> data, int to) = 0;
  // The next data that the rank `from` sends here, of which there are as many. [run-thread]
  virtual void receive(std::span<std::byte> data, int from) = 0;
  // Moves what is under way, without waiting. Returns whether some is left. [run-thread]
  virtual bool progress() = 0;
  // As long as `relay` lives, progress() and all calls that wait, of this group, those of which it
  // is a part, and their parts, call its advance() from time to time. By default nobody does: for
  // groups whose transfers have ended when they start. [run-thread]
  virtual void call_while_waiting(std::weak_ptr<Relay> relay);

  // The group of those that give the same color, which is at least 0, in the order of their ranks.
  // It ends before this one. [run-thread]
  virtual std::unique_ptr<ProcessGroup> split(int color) = 0;

  // Of the exchanges of units between these processes; null: nobody listens, and MeshConfig says
  // how many are under way. Default: null. [run-thread]
  virtual ExchangeLog* exchange_log();
};

// The text of each process, in the order of ranks. [run-thread]
TRIVET_API std::vector<std::string> all_gather_text(ProcessGroup& group, const std::string& mine);
// The text of rank 0, on all. [run-thread]
TRIVET_API std::string broadcast_text(ProcessGroup& group, std::string text);

}  // namespace trivet
