// SPDX-License-Identifier: Apache-2.0
#include "train/replica_check.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "trivet/config/digest.h"
#include "trivet/error.h"
#include "trivet/os/process.h"
#include "trivet/text/strings.h"

namespace trivet {
namespace {

constexpr std::size_t kDigestSize = 32;

std::string digest_of(std::span<const std::byte> bytes) {
  return digest({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string digest_of(const Tensor& value) {
  const bool is_near = value.device().host_visible() && value.contiguous();
  if (is_near && value.dtype() == DType::f32) return digest_of(std::as_bytes(value.span<float>()));
  return digest_of(value.to_bytes());
}

// One after the other, in the order of the store. Weights in parts are on no two processes.
std::string digests_of(const ParameterStore& store) {
  std::string all;
  for (const auto& parameter : store.parameters()) {
    const bool is_whole = !parameter->trainable() || !store.is_in_parts();
    all += is_whole ? digest_of(parameter->value()) : std::string(kDigestSize, '-');
  }
  return all;
}

bool are_equal(const std::vector<std::string>& texts) {
  return std::ranges::all_of(texts, [&](const std::string& one) { return one == texts.front(); });
}

// What more than half of the processes have, if so many are equal.
std::vector<std::string>::const_iterator majority(const std::vector<std::string>& texts) {
  return std::ranges::find_if(texts, [&](const std::string& one) {
    return 2 * std::ranges::count(texts, one) > std::ssize(texts);
  });
}

std::string_view part(const std::string& digests, std::size_t index) {
  return std::string_view(digests).substr(index * kDigestSize, kDigestSize);
}

// The processes that hold other variables than the reference, by rank.
struct Difference {
  bool has_majority = false;  // which is the reference; else process 0 is
  std::vector<std::size_t> ranks;
  std::vector<std::string> paths;
};

Difference difference(const std::vector<std::string>& all, const ParameterStore& store) {
  const auto most = majority(all);
  Difference found{.has_majority = most != all.end(), .ranks = {}, .paths = {}};
  const std::string& reference = found.has_majority ? *most : all.front();
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] != reference) found.ranks.push_back(rank);
  }
  for (std::size_t i = 0; i < store.parameters().size(); ++i) {
    const bool differs = std::ranges::any_of(
        found.ranks, [&](std::size_t rank) { return part(all[rank], i) != part(reference, i); });
    if (differs) found.paths.push_back(store.parameters()[i]->path());
  }
  return found;
}

std::string text_of(const Difference& found, std::size_t processes, std::int64_t step) {
  const bool is_one = found.ranks.size() == 1;
  const std::int64_t more = std::ssize(found.paths) - 1;
  return fmt::format("{} {} of {} {} from {} in '{}'{} after step {}",
                     is_one ? "process" : "processes", fmt::join(found.ranks, ", "), processes,
                     is_one ? "differs" : "differ", found.has_majority ? "the others" : "process 0",
                     found.paths.front(),
                     more > 0 ? " and " + count_of(more, "other variable") : "", step);
}

// Without a majority process 0 may be the wrong one.
std::string hint_of(const Difference& found, const std::vector<std::string>& hosts) {
  std::vector<std::string> machines;
  if (!found.has_majority) machines.push_back(hosts.front() + " (process 0)");
  for (const std::size_t rank : found.ranks) {
    machines.push_back(fmt::format("{} (process {})", hosts[rank], rank));
  }
  return fmt::format(
      "check the memory and the processor of {}, or the plugins for one that does "
      "not compute the same in each process; the newest checkpoint is from before "
      "the difference: the same command continues from it",
      fmt::join(machines, ", "));
}

}  // namespace

ReplicaCheck::ReplicaCheck(ProcessGroup* group, const ParameterStore& store, std::int64_t interval)
    : group_(group), store_(store), interval_(interval) {}

void ReplicaCheck::end_step(std::int64_t step) const {
  if (interval_ > 0 && step % interval_ == 0) compare(step);
}

void ReplicaCheck::before_save(std::int64_t step) const {
  if (interval_ > 0) compare(step);
}

void ReplicaCheck::compare(std::int64_t step) const {
  if (group_ == nullptr) return;
  const std::string own = digests_of(store_);
  if (are_equal(all_gather_text(*group_, digest(own)))) return;
  const std::vector<std::string> all = all_gather_text(*group_, own);
  const std::vector<std::string> hosts = all_gather_text(*group_, host_name());
  const Difference found = difference(all, store_);
  throw RunError(text_of(found, all.size(), step), {.hint = hint_of(found, hosts)});
}

}  // namespace trivet
