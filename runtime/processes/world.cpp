// SPDX-License-Identifier: Apache-2.0
#include "processes/world.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/process_info.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"

namespace trivet {
namespace {

// A transfer inside a machine takes microseconds. A longer wait leaves the core to others.
constexpr double kSpinningSeconds = 50e-6, kYieldingSeconds = 5e-3;
constexpr unsigned kBusyMicroseconds = 50, kIdleMicroseconds = 1000;
constexpr std::int32_t kExchangeTag = 32'766, kSentTag = 32'765;
// Rank 0 reports a failure of all processes best, and has this time to come to it itself.
constexpr double kNoticeSeconds = 1;

}  // namespace

const tv_collective& collective_engine(const std::string& key, const std::string& path) {
  const auto* table =
      static_cast<const tv_collective*>(registry().table("collective", key, Origin{}, path));
  const auto refuse = [&](const std::string& what) {
    throw PluginError(key + ": " + what,
                      {.hint = "rebuild the engine against this SDK; trivet-testing has a check of "
                               "engines"});
  };
  if (table == nullptr) refuse("the plugin gave no table");
  if (table->api_version != TV_COLLECTIVE_API_VERSION) {
    refuse("the engine speaks version " + std::to_string(table->api_version) +
           " of collective.h, this program version " + std::to_string(TV_COLLECTIVE_API_VERSION));
  }
  if (table->struct_size < offsetof(tv_collective, progress) + sizeof(table->progress)) {
    refuse("its struct_size does not cover all functions");
  }
  const bool is_complete = table->launched && table->init && table->finish && table->abort &&
                           table->split && table->release && table->all_gather &&
                           table->all_to_all && table->broadcast && table->send && table->receive &&
                           table->progress;
  if (!is_complete) refuse("the engine lacks a function; only launcher may be null");
  return *table;
}

World::World(const tv_collective& engine, std::string key)
    : engine_(engine), key_(std::move(key)), exceptions_(std::uncaught_exceptions()) {
  host_.struct_size = sizeof(host_);
  host_.self = this;
  host_.set_error = [](const tv_collective_host* host, const char* text) {
    static_cast<World*>(host->self)->error_ = text != nullptr ? text : "";
  };
  about_.struct_size = sizeof(about_);
  check(engine_.init(&host_, &comm_, &about_), "init");
  if (rank() != 0) return;
  notices_.resize(static_cast<std::size_t>(size()));
  notice_requests_.resize(static_cast<std::size_t>(size()));
  for (int other = 1; other < size(); ++other) expect_notice(other);
}

World::~World() {
  // After a failure somebody may be gone, for whom this would wait. The engine keeps its requests
  // and their buffers until the process ends.
  if (failed_ || std::uncaught_exceptions() > exceptions_) {
    static auto* const unfinished = new std::vector<Unfinished>();
    unfinished->push_back({comm_, std::move(notices_), std::move(notice_requests_),
                           std::move(abandoned_), std::move(sent_), std::move(inbox_)});
    return;
  }
  try {
    end();
    engine_.finish(comm_);
  } catch (const RunError&) {
    // Another process is gone, and its work is done.
  }
}

// No request may be outstanding when the engine finishes.
void World::end() {
  while (progress()) ::sched_yield();
  if (rank() != 0) return tell({});
  for (int other = 1; other < size(); ++other) {
    tv_request*& request = notice_requests_[static_cast<std::size_t>(other)];
    while (request != nullptr) {
      if (!has_ended(request, "receive")) ::sched_yield();
    }
  }
}

void World::check(tv_status status, const char* function) {
  if (status == TV_OK) return;
  const std::string text = error_.empty() ? "failed" : error_;
  // A process that has failed tells why before it is gone.
  if (comm_ != nullptr && rank() == 0 && !failed_) check_notices();
  fail();
  throw_failure(RunError(key_ + " (" + function + "): " + text, of_engine()));
}

// A call may come from a plugin, which is not at fault.
ErrorDetails World::of_engine(std::string hint) const {
  return {.plugin = key_.substr(0, key_.find('/')), .key = key_, .hint = std::move(hint)};
}

bool World::has_ended(tv_request*& request, const char* function) {
  std::int32_t done = 0;
  check(engine_.progress(&request, &done), function);
  return done != 0;
}

void World::wait(tv_request* request, const char* function) {
  const double start = steady_seconds();
  try {
    poll(request, function, start);
  } catch (...) {
    abandoned_.push_back(request);
    throw;
  }
  if (timeout_ != kNoLimit) waited_ += steady_seconds() - start;
}

void World::poll(tv_request*& request, const char* function, double start) {
  double checked = start;
  while (!has_ended(request, function)) {
    advance_relays();
    const double now = steady_seconds();
    if (now - start < kSpinningSeconds) continue;
    if (now - start < kYieldingSeconds) {
      ::sched_yield();
      continue;
    }
    if (now - checked > kYieldingSeconds) {
      checked = now;
      if (rank() == 0 && now - start > kNoticeSeconds) check_notices();
      if (timeout_ != kNoLimit && now - start > timeout_) {
        fail();
        throw_failure(
            RunError("waited " + format_duration(timeout_) + " for another process, in " + key_ +
                         " (" + function + ")",
                     of_engine("look for a process that hangs; mesh.timeout is the limit")));
      }
    }
    ::usleep(timeout_ == kNoLimit ? kIdleMicroseconds : kBusyMicroseconds);
  }
}

void World::check_together() const {
  if (failure_) throw RunError(*failure_);
  if (failed_) throw RunError("this process has told that it ends", of_engine());
  if (!alone_) return;
  throw Error(
      "process 0 needs something of the other processes while they wait for a call of their "
      "trainers, such as weights of which each process has a part",
      {.hint = "Trainer::export_tensors gives whole weights"});
}

void World::all_gather(tv_comm* comm, std::span<const std::byte> mine, std::span<std::byte> all) {
  check_together();
  tv_request* request = nullptr;
  check(engine_.all_gather(comm, mine.data(), all.data(), mine.size(), &request), "all_gather");
  wait(request, "all_gather");
}

void World::all_to_all(tv_comm* comm, std::span<const std::byte> mine,
                       std::span<const std::uint64_t> to, std::span<std::byte> theirs,
                       std::span<const std::uint64_t> from) {
  check_together();
  tv_request* request = nullptr;
  check(engine_.all_to_all(comm, mine.data(), to.data(), theirs.data(), from.data(), &request),
        "all_to_all");
  wait(request, "all_to_all");
}

class World::Exchange final : public Transfer {
 public:
  explicit Exchange(World& world) : world_(world) { ++world_.exchanges_; }
  // After a failure the engine may still write there.
  ~Exchange() override {
    --world_.exchanges_;
    for (tv_request* const request : requests_) {
      if (request != nullptr) world_.abandoned_.push_back(request);
    }
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // `call` starts the transfer of so many bytes.
  template <class Call>
  void start(std::size_t bytes, const char* function, const Call& call) {
    if (bytes > 0) world_.check(call(&requests_.emplace_back()), function);
  }
  void wait() override {
    for (tv_request*& request : requests_) {
      if (request != nullptr) world_.wait(std::exchange(request, nullptr), "exchange");
    }
  }
  bool has_ended() override {
    world_.check_together();
    for (tv_request*& request : requests_) {
      if (request != nullptr && !world_.has_ended(request, "exchange")) return false;
      request = nullptr;
    }
    return true;
  }

 private:
  World& world_;
  std::vector<tv_request*> requests_;
};

std::unique_ptr<Transfer> World::start_exchange(tv_comm* comm, int rank,
                                                std::span<const std::span<const std::byte>> mine,
                                                std::span<const std::span<std::byte>> theirs) {
  check_together();
  const int size = static_cast<int>(mine.size());
  auto exchange = std::make_unique<Exchange>(*this);
  for (int turn = 1; turn < size; ++turn) {
    const int other = (rank + size - turn) % size;
    const std::span<std::byte> out = theirs[static_cast<std::size_t>(other)];
    exchange->start(out.size(), "receive", [&](tv_request** request) {
      return engine_.receive(comm, out.data(), out.size(), other, kExchangeTag, request);
    });
  }
  // Each starts with another one, so that not all send to the same rank first.
  for (int turn = 1; turn < size; ++turn) {
    const int other = (rank + turn) % size;
    const std::span<const std::byte> in = mine[static_cast<std::size_t>(other)];
    exchange->start(in.size(), "send", [&](tv_request** request) {
      return engine_.send(comm, in.data(), in.size(), other, kExchangeTag, request);
    });
  }
  return exchange;
}

void World::broadcast(tv_comm* comm, std::span<std::byte> data, int root) {
  check_together();
  tv_request* request = nullptr;
  check(engine_.broadcast(comm, data.data(), data.size(), root, &request), "broadcast");
  wait(request, "broadcast");
}

void World::send(tv_comm* comm, std::vector<std::byte> data, int to) {
  check_together();
  progress();
  Sent& sent = sent_.emplace_back(Sent{.data = std::move(data)});
  check(engine_.send(comm, sent.data.data(), sent.data.size(), to, kSentTag, &sent.request),
        "send");
}

void World::receive(tv_comm* comm, std::span<std::byte> data, int from) {
  check_together();
  // After a failure the engine may still write there.
  Sent& inbox = inbox_.emplace_back();
  inbox.data.resize(data.size());
  check(engine_.receive(comm, inbox.data.data(), data.size(), from, kSentTag, &inbox.request),
        "receive");
  wait(std::exchange(inbox.request, nullptr), "receive");
  std::ranges::copy(inbox.data, data.begin());
  inbox_.pop_back();
}

bool World::progress() {
  if (failed_) return false;
  std::erase_if(sent_, [this](Sent& sent) { return has_ended(sent.request, "send"); });
  std::int32_t done = 0;
  if (exchanges_ > 0) check(engine_.progress(nullptr, &done), "progress");
  advance_relays();
  return !sent_.empty() || exchanges_ > 0;
}

void World::call_while_waiting(std::weak_ptr<Relay> relay) {
  std::erase_if(relays_, [](const std::weak_ptr<Relay>& one) { return one.expired(); });
  relays_.push_back(std::move(relay));
}

// They start transfers, and make no call that would come back here. Behind a failure the engine
// does not run, and where other processes wait for an order no exchange can be under way.
void World::advance_relays() {
  if (exchanges_ == 0 || failed_ || alone_) return;
  for (const std::weak_ptr<Relay>& one : relays_) {
    if (const std::shared_ptr<Relay> relay = one.lock()) relay->advance();
  }
}

// Waits for requests as the world does: with its time limit, and its ear for failures.
class World::Part final : public ProcessGroup {
 public:
  Part(World& world, tv_comm* comm, int rank, int size)
      : world_(world), comm_(comm), rank_(rank), size_(size) {}
  ~Part() override {
    // After a failure a request may be outstanding, here or with the others.
    if (world_.failed_ || std::uncaught_exceptions() > exceptions_) return;
    world_.engine_.release(comm_);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    world_.all_gather(comm_, mine, all);
  }
  void all_to_all(std::span<const std::byte> mine, std::span<const std::uint64_t> to,
                  std::span<std::byte> theirs, std::span<const std::uint64_t> from) override {
    world_.all_to_all(comm_, mine, to, theirs, from);
  }
  void exchange(std::span<const std::span<const std::byte>> mine,
                std::span<const std::span<std::byte>> theirs) override {
    world_.start_exchange(comm_, rank_, mine, theirs)->wait();
  }
  std::unique_ptr<Transfer> start_exchange(std::span<const std::span<const std::byte>> mine,
                                           std::span<const std::span<std::byte>> theirs) override {
    return world_.start_exchange(comm_, rank_, mine, theirs);
  }
  void broadcast(std::span<std::byte> data, int root) override {
    world_.broadcast(comm_, data, root);
  }
  void send(std::vector<std::byte> data, int to) override {
    world_.send(comm_, std::move(data), to);
  }
  void receive(std::span<std::byte> data, int from) override { world_.receive(comm_, data, from); }
  bool progress() override { return world_.progress(); }
  void call_while_waiting(std::weak_ptr<Relay> relay) override {
    world_.call_while_waiting(std::move(relay));
  }
  std::unique_ptr<ProcessGroup> split(int color) override {
    return world_.split(comm_, *this, color);
  }

 private:
  World& world_;
  tv_comm* comm_;
  int rank_, size_;
  const int exceptions_ = std::uncaught_exceptions();  // on their way when this was made
};

// The engine waits in its split without a time limit, so all come together first.
std::unique_ptr<ProcessGroup> World::split(tv_comm* comm, const ProcessGroup& group, int color) {
  std::vector<int> colors(static_cast<std::size_t>(group.size()));
  all_gather(comm, std::as_bytes(std::span(&color, 1)), std::as_writable_bytes(std::span(colors)));
  const auto own = colors.begin() + group.rank();
  tv_comm* part = nullptr;
  check(engine_.split(comm, color, group.rank(), &part), "split");
  return std::make_unique<Part>(*this, part,
                                static_cast<int>(std::count(colors.begin(), own, color)),
                                static_cast<int>(std::ranges::count(colors, color)));
}

void World::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  all_gather(comm_, mine, all);
}

void World::all_to_all(std::span<const std::byte> mine, std::span<const std::uint64_t> to,
                       std::span<std::byte> theirs, std::span<const std::uint64_t> from) {
  all_to_all(comm_, mine, to, theirs, from);
}

void World::exchange(std::span<const std::span<const std::byte>> mine,
                     std::span<const std::span<std::byte>> theirs) {
  start_exchange(mine, theirs)->wait();
}

std::unique_ptr<Transfer> World::start_exchange(std::span<const std::span<const std::byte>> mine,
                                                std::span<const std::span<std::byte>> theirs) {
  return start_exchange(comm_, rank(), mine, theirs);
}

void World::broadcast(std::span<std::byte> data, int root) {
  broadcast(comm_, data, root);
}

void World::send(std::vector<std::byte> data, int to) {
  send(comm_, std::move(data), to);
}

void World::receive(std::span<std::byte> data, int from) {
  receive(comm_, data, from);
}

std::unique_ptr<ProcessGroup> World::split(int color) {
  return split(comm_, *this, color);
}

}  // namespace trivet
