// SPDX-License-Identifier: Apache-2.0
// A trivet::ProcessGroup of threads of one process.
#pragma once

#include <algorithm>
#include <barrier>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "trivet/backend/process_group.h"
#include "trivet/error.h"

namespace trivet::test {

// What the ranks of a group show each other.
struct SharedRanks {
  explicit SharedRanks(int size)
      : together(size), shown(static_cast<std::size_t>(size)), counts(shown.size()) {}
  std::barrier<> together;
  std::vector<std::span<const std::byte>> shown;
  std::vector<std::span<const std::uint64_t>> counts;
  std::mutex mutex;
  std::condition_variable has_sent;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> sent;  // from, to
  std::map<int, std::shared_ptr<SharedRanks>> parts;  // by color, while the ranks split
};

class ThreadGroup final : public ProcessGroup {
 public:
  ThreadGroup(SharedRanks& shared, int rank)
      : ThreadGroup(std::shared_ptr<SharedRanks>(std::shared_ptr<void>(), &shared), rank) {}
  ThreadGroup(std::shared_ptr<SharedRanks> shared, int rank)
      : owned_(std::move(shared)), shared_(*owned_), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(shared_.shown.size()); }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    exchange(mine, [&] {
      for (std::size_t r = 0; r < shared_.shown.size(); ++r) {
        copy(shared_.shown[r], all.subspan(r * mine.size(), mine.size()));
      }
    });
  }
  void all_to_all(std::span<const std::byte> mine, std::span<const std::uint64_t> to,
                  std::span<std::byte> theirs, std::span<const std::uint64_t> from) override {
    shared_.counts[static_cast<std::size_t>(rank_)] = to;
    exchange(mine, [&] {
      std::size_t out = 0;
      for (std::size_t r = 0; r < shared_.shown.size(); ++r) {
        const auto before = shared_.counts[r].first(static_cast<std::size_t>(rank_));
        const std::size_t begin = std::accumulate(before.begin(), before.end(), std::size_t{0});
        copy(shared_.shown[r].subspan(begin, from[r]), theirs.subspan(out, from[r]));
        out += from[r];
      }
    });
  }
  void broadcast(std::span<std::byte> data, int root) override {
    exchange(data, [&] {
      if (rank_ != root) copy(shared_.shown[static_cast<std::size_t>(root)], data);
    });
  }

  void send(std::vector<std::byte> data, int to) override {
    const std::lock_guard lock(shared_.mutex);
    shared_.sent[{rank_, to}].push_back(std::move(data));
    shared_.has_sent.notify_all();
  }
  void receive(std::span<std::byte> data, int from) override {
    std::unique_lock lock(shared_.mutex);
    std::deque<std::vector<std::byte>>& sent = shared_.sent[{from, rank_}];
    shared_.has_sent.wait(lock, [&] { return !sent.empty(); });
    if (sent.front().size() != data.size()) throw Error("a message of another size");
    copy(sent.front(), data);
    sent.pop_front();
  }
  bool progress() override { return false; }

  std::unique_ptr<ProcessGroup> split(int color) override {
    std::vector<int> colors(shared_.shown.size());
    all_gather(std::as_bytes(std::span(&color, 1)), std::as_writable_bytes(std::span(colors)));
    const auto own = static_cast<int>(std::count(colors.begin(), colors.begin() + rank_, color));
    const auto size = static_cast<int>(std::count(colors.begin(), colors.end(), color));
    std::shared_ptr<SharedRanks> part;
    {
      const std::lock_guard lock(shared_.mutex);
      std::shared_ptr<SharedRanks>& of_color = shared_.parts[color];
      if (of_color == nullptr) of_color = std::make_shared<SharedRanks>(size);
      part = of_color;
    }
    shared_.together.arrive_and_wait();
    if (rank_ == 0) shared_.parts.clear();
    shared_.together.arrive_and_wait();
    return std::make_unique<ThreadGroup>(std::move(part), own);
  }

 private:
  template <class Read>
  void exchange(std::span<const std::byte> mine, const Read& read) {
    shared_.shown[static_cast<std::size_t>(rank_)] = mine;
    shared_.together.arrive_and_wait();
    read();
    shared_.together.arrive_and_wait();
  }
  static void copy(std::span<const std::byte> from, std::span<std::byte> to) {
    if (!to.empty()) std::memcpy(to.data(), from.data(), to.size());
  }

  std::shared_ptr<SharedRanks> owned_;
  SharedRanks& shared_;
  const int rank_;
};

// Runs this on each of several ranks at once.
template <class Body>
void on_ranks(int count, const Body& body) {
  SharedRanks shared(count);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadGroup group(shared, rank);
      body(group);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace trivet::test
