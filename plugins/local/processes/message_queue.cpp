// SPDX-License-Identifier: Apache-2.0
#include "local/processes/message_queue.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <string>

#include "trivet/error.h"

namespace trivet::local {
namespace {

// To look whether others are alive costs a system call for each.
constexpr std::uint64_t kCallsBetweenLooks = 4096;
// Who waits without haste makes few calls.
constexpr std::uint64_t kCallsBetweenTimes = 64;
constexpr std::chrono::milliseconds kTimeBetweenLooks(50);

std::byte* bytes_of(auto& object) {
  return reinterpret_cast<std::byte*>(&object);
}

}  // namespace

MessageQueue::MessageQueue(SharedWorld& world)
    : world_(world),
      outgoing_(static_cast<std::size_t>(world.size())),
      incoming_(static_cast<std::size_t>(world.size())) {}

void MessageQueue::send(int to, const Stream& stream, const void* data, std::uint64_t bytes,
                        tv_request& request) {
  request.transfers += 1;
  transfers_ += 1;
  outgoing_[static_cast<std::size_t>(to)].push_back(
      {{stream, bytes}, static_cast<const std::byte*>(data), 0, &request});
}

void MessageQueue::receive(int from, const Stream& stream, void* data, std::uint64_t bytes,
                           tv_request& request) {
  request.transfers += 1;
  transfers_ += 1;
  Incoming& incoming = incoming_[static_cast<std::size_t>(from)];
  const Receiver receiver{stream, static_cast<std::byte*>(data), bytes, &request};
  const auto kept = std::ranges::find(incoming.kept, stream,
                                      [](const Kept& message) { return message.header.stream; });
  // The last of those kept may still be arriving: it finds this receiver at its end.
  const bool is_arriving = incoming.moved > 0 && incoming.receiver.request == nullptr &&
                           kept != incoming.kept.end() && std::next(kept) == incoming.kept.end();
  if (kept == incoming.kept.end() || is_arriving) {
    incoming.receivers.push_back(receiver);
    return;
  }
  check_size(from, kept->header, receiver);
  deliver(receiver, *kept);
  incoming.kept.erase(kept);
}

void MessageQueue::progress() {
  for (int rank = 0; rank < world_.size(); ++rank) {
    write(rank);
    read(rank);
  }
  calls_ += 1;
  if (transfers_ > 0 && is_time_to_look()) check_members();
}

bool MessageQueue::is_time_to_look() {
  if (calls_ % kCallsBetweenLooks == 0) return true;
  if (calls_ % kCallsBetweenTimes != 0) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_at_ < kTimeBetweenLooks) return false;
  looked_at_ = now;
  return true;
}

void MessageQueue::write(int to) {
  std::deque<Outgoing>& queue = outgoing_[static_cast<std::size_t>(to)];
  ByteRing& ring = world_.ring(world_.rank(), to);
  while (!queue.empty()) {
    Outgoing& message = queue.front();
    if (message.moved < sizeof(MessageHeader)) {
      message.moved += ring.write(bytes_of(message.header) + message.moved,
                                  sizeof(MessageHeader) - message.moved);
      if (message.moved < sizeof(MessageHeader)) return;
    }
    const std::uint64_t sent = message.moved - sizeof(MessageHeader);
    const std::uint64_t count = ring.write(message.data + sent, message.header.bytes - sent);
    message.moved += count;
    if (sent + count < message.header.bytes) return;
    end_transfer(*message.request);
    queue.pop_front();
  }
}

void MessageQueue::read(int from) {
  Incoming& incoming = incoming_[static_cast<std::size_t>(from)];
  ByteRing& ring = world_.ring(from, world_.rank());
  while (!ring.is_empty()) {
    if (incoming.moved < sizeof(MessageHeader)) {
      incoming.moved += ring.read(bytes_of(incoming.header) + incoming.moved,
                                  sizeof(MessageHeader) - incoming.moved);
      if (incoming.moved < sizeof(MessageHeader)) return;
      begin_message(from);
    }
    const std::uint64_t arrived = incoming.moved - sizeof(MessageHeader);
    std::byte* data = incoming.receiver.request != nullptr ? incoming.receiver.data
                                                           : incoming.kept.back().data.data();
    const std::uint64_t count = ring.read(data + arrived, incoming.header.bytes - arrived);
    incoming.moved += count;
    if (arrived + count < incoming.header.bytes) continue;
    end_message(from);
  }
}

void MessageQueue::begin_message(int from) {
  Incoming& incoming = incoming_[static_cast<std::size_t>(from)];
  const auto receiver =
      std::ranges::find(incoming.receivers, incoming.header.stream, &Receiver::stream);
  if (receiver == incoming.receivers.end() || receiver->bytes != incoming.header.bytes) {
    incoming.kept.push_back({incoming.header, std::vector<std::byte>(incoming.header.bytes)});
    if (receiver == incoming.receivers.end()) return;
  }
  check_size(from, incoming.header, *receiver);
  incoming.receiver = *receiver;
  incoming.receivers.erase(receiver);
}

void MessageQueue::end_message(int from) {
  Incoming& incoming = incoming_[static_cast<std::size_t>(from)];
  incoming.moved = 0;
  if (incoming.receiver.request != nullptr) {
    end_transfer(*incoming.receiver.request);
    incoming.receiver = {};
    return;
  }
  const auto receiver =
      std::ranges::find(incoming.receivers, incoming.header.stream, &Receiver::stream);
  if (receiver == incoming.receivers.end()) return;
  check_size(from, incoming.header, *receiver);
  deliver(*receiver, incoming.kept.back());
  incoming.kept.pop_back();
  incoming.receivers.erase(receiver);
}

void MessageQueue::deliver(const Receiver& receiver, const Kept& message) {
  if (receiver.bytes > 0) std::memcpy(receiver.data, message.data.data(), receiver.bytes);
  end_transfer(*receiver.request);
}

void MessageQueue::check_size(int from, const MessageHeader& header,
                              const Receiver& receiver) const {
  if (header.bytes == receiver.bytes) return;
  throw RunError("process " + std::to_string(from) + " sends " + std::to_string(header.bytes) +
                 " bytes where process " + std::to_string(world_.rank()) + " expects " +
                 std::to_string(receiver.bytes));
}

void MessageQueue::end_transfer(tv_request& request) {
  request.transfers -= 1;
  transfers_ -= 1;
}

void MessageQueue::check_members() {
  // A message that has begun has no receiver among those that wait.
  const auto is_needed = [this](std::size_t rank) {
    return !outgoing_[rank].empty() || !incoming_[rank].receivers.empty() ||
           incoming_[rank].moved > 0;
  };
  for (int rank = 0; rank < world_.size(); ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    if (!is_needed(index) || world_.is_there(rank)) continue;
    // Its last messages may still be in the ring.
    read(rank);
    if (!is_needed(index)) continue;
    throw RunError(
        "process " + std::to_string(rank) +
        (world_.has_left(rank) ? " has ended its part while process " : " is gone while process ") +
        std::to_string(world_.rank()) + " waits for it");
  }
}

}  // namespace trivet::local
