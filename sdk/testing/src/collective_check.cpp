// SPDX-License-Identifier: Apache-2.0
#include "trivet/testing/collective_check.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace trivet::testing {
namespace {

using Bytes = std::vector<std::byte>;

// The start of the numbers of a message.
std::uint32_t seed_of(int step, int from, int to) {
  return static_cast<std::uint32_t>(step) * 7919u + static_cast<std::uint32_t>(from) * 104729u +
         static_cast<std::uint32_t>(to) * 1299709u + 1u;
}

// What a rank of the world sends to another: differs by both, by the step of the check and by the
// position.
Bytes content(std::uint64_t bytes, int step, int from, int to) {
  Bytes out(bytes);
  std::uint32_t state = seed_of(step, from, to);
  for (std::byte& byte : out) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return out;
}

class CollectiveCheck {
 public:
  CollectiveCheck(const tv_collective* engine, const CollectiveCheckOptions& options)
      : engine_(*engine), options_(options) {
    host_.struct_size = sizeof(host_);
    host_.self = this;
    host_.set_error = [](const tv_collective_host* host, const char* text) {
      static_cast<CollectiveCheck*>(host->self)->error_ = text;
    };
  }

  std::string run() {
    if (!check_table()) return wrong_;
    std::int32_t rank = -1;
    std::int32_t size = 0;
    engine_.launched(&rank, &size);
    world_.struct_size = sizeof(world_);
    tv_comm* world = nullptr;
    if (!expect_ok(engine_.init(&host_, &world, &world_), "init")) return wrong_;
    if (rank >= 0 && (rank != world_.rank || size != world_.size)) {
      fail("launched says " + std::to_string(rank) + " of " + std::to_string(size) +
           ", init says " + std::to_string(world_.rank) + " of " + std::to_string(world_.size));
    }
    if (world_.name[0] == '\0') fail("init gives no name");
    if (world_.local_size < 1 || world_.local_rank < 0 || world_.local_rank >= world_.local_size) {
      fail("init gives no rank among the processes of this machine");
    }
    check_world(world);
    engine_.finish(world);
    return wrong_;
  }

 private:
  // A communicator and the world's ranks of its members.
  struct Group {
    std::string name{};
    tv_comm* comm = nullptr;
    std::vector<int> members{};
    int rank = 0;

    int size() const { return static_cast<int>(members.size()); }
  };

  void fail(const std::string& what) {
    wrong_ += "rank " + std::to_string(world_.rank) + ": " + what + "\n";
  }

  bool expect_ok(tv_status status, const std::string& what) {
    if (status == TV_OK) return true;
    fail(what + " answers " + std::to_string(status) + ": " + error_);
    return false;
  }

  void expect_equal(const Bytes& got, const Bytes& want, const std::string& what) {
    if (got == want) return;
    const auto [at, other] = std::ranges::mismatch(got, want);
    fail(what + ": byte " + std::to_string(at - got.begin()) + " of " +
         std::to_string(want.size()) + " differs");
  }

  bool check_table() {
    if (engine_.api_version != TV_COLLECTIVE_API_VERSION) {
      fail("api_version is " + std::to_string(engine_.api_version) + ", not " +
           std::to_string(TV_COLLECTIVE_API_VERSION));
      return false;
    }
    if (engine_.struct_size < sizeof(tv_collective)) {
      fail("struct_size does not cover the functions of this version");
      return false;
    }
    const bool complete = engine_.launched && engine_.init && engine_.finish && engine_.abort &&
                          engine_.split && engine_.release && engine_.all_gather &&
                          engine_.all_to_all && engine_.broadcast && engine_.send &&
                          engine_.receive && engine_.progress;
    if (!complete) fail("a function is null; only launcher may be");
    return complete;
  }

  void wait(tv_request*& request, const std::string& what) {
    std::int32_t done = 0;
    while (done == 0) {
      if (!expect_ok(engine_.progress(&request, &done), what)) return;
      if (done == 0) std::this_thread::yield();
    }
    if (request != nullptr) fail(what + ": progress leaves the request of a transfer that ended");
  }

  Group split(const Group& group, const std::string& name, std::int32_t color, std::int32_t key,
              std::vector<int> members) {
    Group made{name, nullptr, std::move(members), 0};
    if (!expect_ok(engine_.split(group.comm, color, key, &made.comm), "split " + name)) return made;
    if ((made.comm == nullptr) != (color < 0)) fail("split " + name + ": a wrong communicator");
    const auto mine = std::ranges::find(made.members, world_.rank);
    made.rank = static_cast<int>(mine - made.members.begin());
    return made;
  }

  void check_world(tv_comm* comm) {
    Group world{"world", comm, {}, world_.rank};
    std::vector<int> reversed;
    std::vector<int> parity;
    std::vector<int> others;
    for (int rank = 0; rank < world_.size; ++rank) {
      world.members.push_back(rank);
      reversed.insert(reversed.begin(), rank);
      if (rank % 2 == world_.rank % 2) parity.push_back(rank);
      if (rank != 0) others.push_back(rank);
    }
    check_group(world);
    Group backwards = split(world, "reversed", 0, -world_.rank, reversed);
    Group halves = split(world, "halves", world_.rank % 2, 0, parity);
    Group without_first = split(world, "without the first", world_.rank == 0 ? -1 : 5, 0, others);
    for (const Group* group : {&backwards, &halves, &without_first}) {
      if (group->comm != nullptr) check_group(*group);
    }
    // Ranks outside of a group have made fewer steps.
    step_ = 1 << 20;
    if (halves.comm != nullptr) check_crossed(world, halves);
    check_ended();
    check_large(world);
    for (const Group* group : {&backwards, &halves, &without_first}) {
      if (group->comm != nullptr) engine_.release(group->comm);
    }
  }

  void check_group(const Group& group) {
    for (const std::uint64_t bytes : {0, 1, 7, 4096, (1 << 20) + 3}) {
      check_all_gather(group, bytes);
      check_broadcast(group, bytes);
      check_ring(group, bytes);
    }
    check_all_to_all(group);
    check_order(group);
    check_many(group);
  }

  // What all_gather gives.
  Bytes gathered(const Group& group, std::uint64_t bytes, int step) const {
    Bytes out;
    for (const int member : group.members) {
      const Bytes part = content(bytes, step, member, 0);
      out.insert(out.end(), part.begin(), part.end());
    }
    return out;
  }

  void check_all_gather(const Group& group, std::uint64_t bytes) {
    const std::string what = "all_gather of " + std::to_string(bytes) + " bytes, " + group.name;
    const int step = ++step_;
    const Bytes in = content(bytes, step, world_.rank, 0);
    Bytes out(bytes * group.members.size());
    tv_request* request = nullptr;
    if (!expect_ok(engine_.all_gather(group.comm, in.data(), out.data(), bytes, &request), what)) {
      return;
    }
    wait(request, what);
    expect_equal(out, gathered(group, bytes, step), what);
  }

  void check_broadcast(const Group& group, std::uint64_t bytes) {
    const int step = ++step_;
    for (int root = 0; root < group.size(); ++root) {
      const std::string what = "broadcast of " + std::to_string(bytes) + " bytes from " +
                               std::to_string(root) + ", " + group.name;
      const int from = group.members[static_cast<std::size_t>(root)];
      const Bytes want = content(bytes, step, from, root);
      Bytes data = root == group.rank ? want : Bytes(bytes);
      tv_request* request = nullptr;
      if (!expect_ok(engine_.broadcast(group.comm, data.data(), bytes, root, &request), what)) {
        return;
      }
      wait(request, what);
      expect_equal(data, want, what);
    }
  }

  // To the next rank and from the one before; alone, to itself.
  void check_ring(const Group& group, std::uint64_t bytes) {
    const std::string what =
        "send and receive of " + std::to_string(bytes) + " bytes, " + group.name;
    const int step = ++step_;
    const int to = (group.rank + 1) % group.size();
    const int from = (group.rank + group.size() - 1) % group.size();
    const Bytes out = content(bytes, step, world_.rank, to);
    Bytes in(bytes);
    tv_request* sent = nullptr;
    tv_request* received = nullptr;
    if (!expect_ok(engine_.send(group.comm, out.data(), bytes, to, 32767, &sent), what)) return;
    if (!expect_ok(engine_.receive(group.comm, in.data(), bytes, from, 32767, &received), what)) {
      return;
    }
    wait(received, what);
    wait(sent, what);
    const int sender = group.members[static_cast<std::size_t>(from)];
    expect_equal(in, content(bytes, step, sender, group.rank), what);
  }

  void check_all_to_all(const Group& group) {
    const std::string what = "all_to_all, " + group.name;
    const int step = ++step_;
    const auto bytes = [](int from, int to) {
      return static_cast<std::uint64_t>((from * 3 + to * 2) % 4) * 30011;
    };
    std::vector<std::uint64_t> in_bytes;
    std::vector<std::uint64_t> out_bytes;
    Bytes in;
    Bytes want;
    for (int rank = 0; rank < group.size(); ++rank) {
      const int member = group.members[static_cast<std::size_t>(rank)];
      in_bytes.push_back(bytes(group.rank, rank));
      out_bytes.push_back(bytes(rank, group.rank));
      const Bytes mine = content(in_bytes.back(), step, world_.rank, rank);
      const Bytes theirs = content(out_bytes.back(), step, member, group.rank);
      in.insert(in.end(), mine.begin(), mine.end());
      want.insert(want.end(), theirs.begin(), theirs.end());
    }
    Bytes out(want.size());
    tv_request* request = nullptr;
    if (!expect_ok(engine_.all_to_all(group.comm, in.data(), in_bytes.data(), out.data(),
                                      out_bytes.data(), &request),
                   what)) {
      return;
    }
    std::ranges::fill(in_bytes, 0);  // the engine has its own copy
    std::ranges::fill(out_bytes, 0);
    wait(request, what);
    expect_equal(out, want, what);
  }

  // Two messages of a tag keep their order; those of other tags can be received before them.
  void check_order(const Group& group) {
    const std::string what = "order of messages, " + group.name;
    const int step = ++step_;
    const int to = (group.rank + 1) % group.size();
    const int from = (group.rank + group.size() - 1) % group.size();
    const int sender = group.members[static_cast<std::size_t>(from)];
    constexpr std::uint64_t kBytes = 70001;
    const std::vector<int> tags = {0, 0, 1, 2};
    std::vector<Bytes> sent;
    std::vector<tv_request*> requests(2 * tags.size(), nullptr);
    for (std::size_t i = 0; i < tags.size(); ++i) {
      sent.push_back(content(kBytes, step, world_.rank, static_cast<int>(i)));
      if (!expect_ok(engine_.send(group.comm, sent[i].data(), kBytes, to, tags[i], &requests[i]),
                     what)) {
        return;
      }
    }
    std::vector<Bytes> received(tags.size(), Bytes(kBytes));
    for (const std::size_t i : {3, 2, 0, 1}) {
      if (!expect_ok(engine_.receive(group.comm, received[i].data(), kBytes, from, tags[i],
                                     &requests[tags.size() + i]),
                     what)) {
        return;
      }
      wait(requests[tags.size() + i], what);
      expect_equal(received[i], content(kBytes, step, sender, static_cast<int>(i)),
                   what + ", message " + std::to_string(i));
    }
    for (tv_request*& request : requests) wait(request, what);
  }

  // Many transfers at once, whose last is waited for first.
  void check_many(const Group& group) {
    const std::string what = "many transfers at once, " + group.name;
    constexpr int kCount = 40;
    const int step = step_ + 1;
    step_ += kCount;
    std::vector<Bytes> in;
    std::vector<Bytes> out;
    std::vector<tv_request*> requests(kCount, nullptr);
    for (int i = 0; i < kCount; ++i) {
      const auto bytes = static_cast<std::uint64_t>(1 + 997 * (i % 7));
      in.push_back(content(bytes, step + i, world_.rank, 0));
      out.emplace_back(bytes * group.members.size());
      if (!expect_ok(engine_.all_gather(group.comm, in.back().data(), out.back().data(), bytes,
                                        &requests[static_cast<std::size_t>(i)]),
                     what)) {
        return;
      }
    }
    for (int i = kCount - 1; i >= 0; --i) {
      const auto index = static_cast<std::size_t>(i);
      wait(requests[index], what);
      expect_equal(out[index], gathered(group, in[index].size(), step + i), what);
    }
  }

  // Calls on two communicators, which half of the ranks make in the other order.
  void check_crossed(const Group& first, const Group& second) {
    const std::string what = "calls on two communicators";
    const int step = ++step_;
    constexpr std::uint64_t kBytes = 5003;
    const Bytes in = content(kBytes, step, world_.rank, 0);
    Bytes outs[] = {Bytes(kBytes * first.members.size()), Bytes(kBytes * second.members.size())};
    tv_request* requests[] = {nullptr, nullptr};
    const Group* groups[] = {&first, &second};
    for (const int turn : {0, 1}) {
      const auto index = static_cast<std::size_t>((turn + world_.rank) % 2);
      if (!expect_ok(engine_.all_gather(groups[index]->comm, in.data(), outs[index].data(), kBytes,
                                        &requests[index]),
                     what)) {
        return;
      }
    }
    for (const std::size_t index : {0, 1}) {
      wait(requests[index], what);
      expect_equal(outs[index], gathered(*groups[index], kBytes, step), what);
    }
  }

  void check_ended() {
    tv_request* none = nullptr;
    std::int32_t done = 0;
    if (expect_ok(engine_.progress(&none, &done), "progress of no request") && done == 0) {
      fail("progress: a null request has not ended");
    }
    done = 0;
    if (expect_ok(engine_.progress(nullptr, &done), "progress of all") && done == 0) {
      fail("progress: no transfer is left, but not all have ended");
    }
  }

  void check_large(const Group& world) {
    if (options_.large_bytes == 0 || world_.size < 2 || world_.rank > 1) return;
    const std::string what = "a message of " + std::to_string(options_.large_bytes) + " bytes";
    const int step = ++step_;
    tv_request* request = nullptr;
    if (world_.rank == 0) {
      const Bytes out = content(options_.large_bytes, step, 0, 1);
      if (!expect_ok(engine_.send(world.comm, out.data(), out.size(), 1, 3, &request), what)) {
        return;
      }
      wait(request, what);
      return;
    }
    Bytes in(options_.large_bytes);
    if (!expect_ok(engine_.receive(world.comm, in.data(), in.size(), 0, 3, &request), what)) return;
    wait(request, what);
    // Compared one by one: a second buffer would take as much memory again.
    std::uint32_t state = seed_of(step, 0, 1);
    std::uint64_t differing = 0;
    for (const std::byte byte : in) {
      state = state * 1664525u + 1013904223u;
      differing += byte != static_cast<std::byte>(state >> 24);
    }
    if (differing > 0) fail(what + ": " + std::to_string(differing) + " bytes differ");
  }

  tv_collective engine_;
  CollectiveCheckOptions options_;
  tv_collective_host host_{};
  tv_world world_{};
  std::string error_{};
  std::string wrong_{};
  int step_ = 0;
};

}  // namespace

std::string check_collective(const tv_collective* engine, const CollectiveCheckOptions& options) {
  if (engine == nullptr) return "there is no table\n";
  return CollectiveCheck(engine, options).run();
}

}  // namespace trivet::testing
