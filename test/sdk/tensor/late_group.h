// SPDX-License-Identifier: Apache-2.0
// A trivet::ProcessGroup of threads whose exchanges take a random number of polls, so that they end
// in another order on each rank.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "trivet/backend/process_group.h"
#include "trivet/error.h"

namespace trivet::test {

// What is on its way between all ranks: group, from, to, and the number of the exchange.
struct Mail {
  using Key = std::tuple<std::string, int, int, std::int64_t>;
  std::mutex mutex;
  std::map<Key, std::vector<std::byte>> messages;
};

// What the groups of one rank have in common.
struct LateRank {
  Mail& mail;
  int rank = 0;      // of all
  int in_slice = 1;  // ranks, for the count
  std::mt19937 random;
  std::vector<std::weak_ptr<Relay>> relays{};
  std::int64_t between = 0;  // bytes sent to ranks of other slices

  void advance() {
    for (const std::weak_ptr<Relay>& one : relays) {
      if (const auto relay = one.lock()) relay->advance();
    }
  }
};

class LateTransfer final : public Transfer {
 public:
  struct Part {
    Mail::Key key;
    std::span<std::byte> memory;
  };
  LateTransfer(LateRank& rank, std::vector<Part> parts) : rank_(rank), parts_(std::move(parts)) {}

  bool has_ended() override { return rank_.random() % 3 == 0 && take(); }
  void wait() override {
    const auto start = std::chrono::steady_clock::now();
    while (!take()) {
      rank_.advance();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      if (std::chrono::steady_clock::now() - start > std::chrono::seconds(60)) {
        throw Error("waited for too long");
      }
    }
  }

 private:
  bool take() {
    const std::scoped_lock lock(rank_.mail.mutex);
    std::erase_if(parts_, [&](const Part& part) {
      const auto found = rank_.mail.messages.find(part.key);
      if (found == rank_.mail.messages.end()) return false;
      if (found->second.size() != part.memory.size()) throw Error("messages do not match");
      std::ranges::copy(found->second, part.memory.begin());
      rank_.mail.messages.erase(found);
      return true;
    });
    return parts_.empty();
  }

  LateRank& rank_;
  std::vector<Part> parts_;
};

class LateGroup final : public ProcessGroup {
 public:
  LateGroup(LateRank& own, std::string name, std::vector<int> ranks)
      : own_(own), name_(std::move(name)), ranks_(std::move(ranks)) {}

  int rank() const override {
    return static_cast<int>(std::ranges::find(ranks_, own_.rank) - ranks_.begin());
  }
  int size() const override { return static_cast<int>(ranks_.size()); }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    std::vector<std::span<const std::byte>> sent(ranks_.size(), mine);
    std::vector<std::span<std::byte>> received;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      received.push_back(all.subspan(i * mine.size(), mine.size()));
    }
    std::ranges::copy(mine, received[static_cast<std::size_t>(rank())].begin());
    exchange(sent, received);
  }
  void exchange(std::span<const std::span<const std::byte>> mine,
                std::span<const std::span<std::byte>> theirs) override {
    start_exchange(mine, theirs)->wait();
  }
  std::unique_ptr<Transfer> start_exchange(std::span<const std::span<const std::byte>> mine,
                                           std::span<const std::span<std::byte>> theirs) override {
    const std::int64_t number = exchanges_++;
    std::vector<LateTransfer::Part> parts;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const int other = ranks_[i];
      if (other == own_.rank) continue;
      parts.push_back({{name_, other, own_.rank, number}, theirs[i]});
      if (other / own_.in_slice != own_.rank / own_.in_slice) {
        own_.between += std::ssize(mine[i]);
      }
      const std::scoped_lock lock(own_.mail.mutex);
      own_.mail.messages[{name_, own_.rank, other, number}].assign(mine[i].begin(), mine[i].end());
    }
    return std::make_unique<LateTransfer>(own_, std::move(parts));
  }
  bool progress() override {
    own_.advance();
    return true;
  }
  void call_while_waiting(std::weak_ptr<Relay> relay) override { own_.relays.push_back(relay); }
  std::unique_ptr<ProcessGroup> split(int color) override {
    std::vector<int> colors(ranks_.size());
    all_gather(std::as_bytes(std::span(&color, 1)), std::as_writable_bytes(std::span(colors)));
    std::vector<int> ranks;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (colors[i] == color) ranks.push_back(ranks_[i]);
    }
    const std::string name = name_ + "/" + std::to_string(splits_++) + "." + std::to_string(color);
    return std::make_unique<LateGroup>(own_, name, ranks);
  }

  void all_to_all(std::span<const std::byte>, std::span<const std::uint64_t>, std::span<std::byte>,
                  std::span<const std::uint64_t>) override {
    throw Error("not expected");
  }
  void broadcast(std::span<std::byte>, int) override { throw Error("not expected"); }
  void send(std::vector<std::byte>, int) override { throw Error("not expected"); }
  void receive(std::span<std::byte>, int) override { throw Error("not expected"); }

 private:
  LateRank& own_;
  const std::string name_;
  const std::vector<int> ranks_;
  std::int64_t exchanges_ = 0, splits_ = 0;
};

struct LateRun {
  std::vector<std::int64_t> between;  // bytes, by rank
  std::vector<std::string> errors;
};

// Runs this on each of several ranks at once.
template <class Body>
LateRun on_late_ranks(int count, int in_slice, const Body& body) {
  LateRun run;
  run.between.resize(static_cast<std::size_t>(count));
  Mail mail;
  std::mutex mutex;
  std::vector<int> ranks;
  for (int rank = 0; rank < count; ++rank) ranks.push_back(rank);
  std::vector<std::thread> threads;
  for (const int rank : ranks) {
    threads.emplace_back([&, rank] {
      LateRank own{.mail = mail,
                   .rank = rank,
                   .in_slice = in_slice,
                   .random = std::mt19937(static_cast<unsigned>(rank))};
      LateGroup group(own, "all", ranks);
      try {
        body(group, own);
      } catch (const std::exception& failure) {
        const std::scoped_lock lock(mutex);
        run.errors.push_back(failure.what());
      }
      run.between[static_cast<std::size_t>(rank)] = own.between;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return run;
}

}  // namespace trivet::test
