// SPDX-License-Identifier: Apache-2.0
// MessageQueue: messages between the processes of a SharedWorld, matched by their stream. Messages
// of one stream from one process arrive in the order in which they were sent; one that nobody
// receives yet is kept.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <vector>

#include "local/processes/shared_world.h"

// How many transfers of a request have not ended.
struct tv_request {
  int transfers = 0;
};

namespace trivet::local {

// A communicator's messages of one tag, or of one of its calls.
struct Stream {
  std::uint32_t communicator = 0;
  std::uint32_t is_call = 0;
  std::uint64_t number = 0;  // a tag; calls are counted

  friend bool operator==(const Stream&, const Stream&) = default;
};

class MessageQueue {
 public:
  explicit MessageQueue(SharedWorld& world);

  // The bytes must live until the request has no more transfers.
  void send(int to, const Stream& stream, const void* data, std::uint64_t bytes,
            tv_request& request);
  void receive(int from, const Stream& stream, void* data, std::uint64_t bytes,
               tv_request& request);
  // Moves what can be moved without waiting. Throws RunError: a process is gone that has not ended
  // its part, a message has another size than its receiver's buffer.
  void progress();
  std::int64_t transfers() const { return transfers_; }

 private:
  struct MessageHeader {
    Stream stream{};
    std::uint64_t bytes = 0;
  };
  struct Outgoing {
    MessageHeader header{};
    const std::byte* data = nullptr;
    std::uint64_t moved = 0;  // with the header's bytes
    tv_request* request = nullptr;
  };
  struct Receiver {
    Stream stream{};
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    tv_request* request = nullptr;
  };
  struct Kept {
    MessageHeader header{};
    std::vector<std::byte> data{};
  };
  // What arrives from one process.
  struct Incoming {
    MessageHeader header{};
    std::uint64_t moved = 0;          // of the message that arrives now, with its header
    Receiver receiver{};              // of that message; its data is null: it goes to `kept`
    std::list<Receiver> receivers{};  // in the order of their calls
    std::list<Kept> kept{};
  };

  void write(int to);
  void read(int from);
  void begin_message(int from);
  void end_message(int from);
  void deliver(const Receiver& receiver, const Kept& message);
  void check_size(int from, const MessageHeader& header, const Receiver& receiver) const;
  void end_transfer(tv_request& request);
  bool is_time_to_look();
  void check_members();

  SharedWorld& world_;
  std::vector<std::deque<Outgoing>> outgoing_;  // by rank
  std::vector<Incoming> incoming_;              // by rank
  std::int64_t transfers_ = 0;                  // that have not ended
  std::uint64_t calls_ = 0;
  std::chrono::steady_clock::time_point looked_at_{};
};

}  // namespace trivet::local
