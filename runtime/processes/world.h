// SPDX-License-Identifier: Apache-2.0
// World: this process among those that it works with, by a communication engine
// (trivet/backend/collective.h).
//
// Rank 0 leads: a process that fails tells it why, and rank 0 throws that from the call that it
// waits in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trivet/backend/collective.h"
#include "trivet/backend/process_group.h"
#include "trivet/error.h"
#include "trivet/tensor/exchange_log.h"

namespace trivet {

// The engine of a key of kind "collective". Throws ConfigError, with `path` as the place of the
// key: no plugin offers it; PluginError: its table is of another version, or lacks functions.
const tv_collective& collective_engine(const std::string& key, const std::string& path);

class World final : public ProcessGroup {
 public:
  // Starts the engine, and waits for all processes. Throws RunError with the engine's reason.
  World(const tv_collective& engine, std::string key);
  // Waits for all processes, unless a call has failed or an exception is on its way.
  ~World() override;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const override { return about_.rank; }
  int size() const override { return about_.size; }
  // Of the processes of this machine.
  int local_size() const { return about_.local_size; }
  // The key of the engine, and what it calls itself.
  const std::string& key() const { return key_; }
  std::string name() const { return static_cast<const char*>(about_.name); }

  // Whether a call has failed: another process may be gone.
  bool has_failed() const { return failed_; }

  // How long calls wait for other processes. Without a limit they also leave the core to others.
  static constexpr double kNoLimit = 0;
  void set_timeout(double seconds) { timeout_ = seconds; }
  double timeout() const { return timeout_; }
  // On rank 0: whether the others wait for an order, so that calls would wait forever. Such calls
  // throw Error.
  void set_alone(bool alone) { alone_ = alone; }
  // So far, in calls with a limit.
  double waited_seconds() const { return waited_; }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void all_to_all(std::span<const std::byte> mine, std::span<const std::uint64_t> to,
                  std::span<std::byte> theirs, std::span<const std::uint64_t> from) override;
  void exchange(std::span<const std::span<const std::byte>> mine,
                std::span<const std::span<std::byte>> theirs) override;
  std::unique_ptr<Transfer> start_exchange(std::span<const std::span<const std::byte>> mine,
                                           std::span<const std::span<std::byte>> theirs) override;
  void broadcast(std::span<std::byte> data, int root) override;
  void send(std::vector<std::byte> data, int to) override;
  void receive(std::span<std::byte> data, int from) override;
  bool progress() override;
  void call_while_waiting(std::weak_ptr<Relay> relay) override;
  std::unique_ptr<ProcessGroup> split(int color) override;
  ExchangeLog* exchange_log() override { return &exchange_log_; }

  struct Failure {
    std::string text;
    std::string plugin{}, key{};  // at fault; may be empty
  };
  // From another rank than 0: what has failed in a call of rank 0's order, as on all ranks.
  void tell(const Failure& failure);
  // On rank 0: drops what each other rank has told. Waits for it.
  void take_failures();
  // From another rank than 0, which makes no further call: tells why, unless a call has failed, and
  // waits some seconds, until rank 0 has told it and is gone.
  void leave(const Failure& failure) noexcept;

 private:
  class Part;      // a group of some of the processes
  class Exchange;  // a transfer

  // What a rank tells rank 0: a failure, or, without text, its end in order.
  struct Notice {
    char text[1000], plugin[64], key[128];
  };

  ErrorDetails of_engine(std::string hint = {}) const;
  void check(tv_status status, const char* function);
  void fail();
  [[noreturn]] void throw_failure(RunError failure);
  bool has_ended(tv_request*& request, const char* function);
  void wait(tv_request* request, const char* function);
  void all_gather(tv_comm* comm, std::span<const std::byte> mine, std::span<std::byte> all);
  void all_to_all(tv_comm* comm, std::span<const std::byte> mine, std::span<const std::uint64_t> to,
                  std::span<std::byte> theirs, std::span<const std::uint64_t> from);
  std::unique_ptr<Transfer> start_exchange(tv_comm* comm, int rank,
                                           std::span<const std::span<const std::byte>> mine,
                                           std::span<const std::span<std::byte>> theirs);
  void broadcast(tv_comm* comm, std::span<std::byte> data, int root);
  void send(tv_comm* comm, std::vector<std::byte> data, int to);
  void receive(tv_comm* comm, std::span<std::byte> data, int from);
  std::unique_ptr<ProcessGroup> split(tv_comm* comm, const ProcessGroup& group, int color);
  void poll(tv_request*& request, const char* function, double start);
  void advance_relays();
  void check_together() const;
  void check_notices();
  void expect_notice(int rank);
  void end();

  // Data under way, which the engine reads.
  struct Sent {
    std::vector<std::byte> data;
    tv_request* request = nullptr;
  };

  struct Unfinished {
    tv_comm* comm;
    std::vector<Notice> notices;
    std::vector<tv_request*> requests, abandoned;
    std::list<Sent> sent, inbox;
  };

  const tv_collective& engine_;
  std::string key_;
  tv_collective_host host_{};
  tv_comm* comm_ = nullptr;
  tv_world about_{};
  std::string error_{};
  double timeout_ = kNoLimit;
  double waited_ = 0;
  bool failed_ = false;
  std::optional<RunError> failure_{};
  bool alone_ = false;
  const int exceptions_;                        // on their way when this was made
  std::vector<Notice> notices_{};               // of rank 0: by rank
  std::vector<tv_request*> notice_requests_{};  // null: it has come
  std::vector<tv_request*> abandoned_{};        // whose waits have failed
  std::list<Sent> sent_{}, inbox_{};
  ExchangeLog exchange_log_{};
  int exchanges_ = 0;  // that nobody has waited for yet
  std::vector<std::weak_ptr<Relay>> relays_{};
};

}  // namespace trivet
