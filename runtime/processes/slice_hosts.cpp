// SPDX-License-Identifier: Apache-2.0
#include "processes/slice_hosts.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "trivet/backend/mesh_layout.h"
#include "trivet/error.h"
#include "trivet/os/process.h"
#include "trivet/text/strings.h"

namespace trivet {
namespace {

// The fewest machines for so many processes, with those that have most of all.
std::int64_t fewest_machines(const std::vector<std::string>& hosts, std::int64_t processes) {
  std::map<std::string, std::int64_t> counts;
  for (const std::string& host : hosts) ++counts[host];
  std::vector<std::int64_t> sizes;
  for (const auto& [host, count] : counts) sizes.push_back(count);
  std::ranges::sort(sizes, std::greater{});
  std::int64_t machines = 0;
  for (std::int64_t placed = 0; placed < processes; ++machines) {
    placed += sizes[static_cast<std::size_t>(machines)];
  }
  return machines;
}

}  // namespace

std::string wrong_slice(const MeshConfig& mesh, const std::vector<std::string>& hosts) {
  const MeshLayout layout(mesh);
  std::vector<std::vector<std::string>> of_slices(static_cast<std::size_t>(layout.slices()));
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const MeshLayout::Run own =
        layout.slices_of(static_cast<std::int64_t>(rank), std::ssize(hosts));
    for (std::int64_t slice = own.first; slice < own.first + own.count; ++slice) {
      of_slices[static_cast<std::size_t>(slice)].push_back(hosts[rank]);
    }
  }
  for (std::size_t slice = 0; slice < of_slices.size(); ++slice) {
    const std::vector<std::string>& all = of_slices[slice];
    const std::set<std::string> machines(all.begin(), all.end());
    const std::int64_t fewest = fewest_machines(hosts, std::ssize(all));
    if (std::ssize(machines) <= fewest) continue;
    return fmt::format("is \"host\", and slice {} of {} has {} on {} ({}) where {} would do", slice,
                       layout.slices(), count_of(std::ssize(all), "process", "processes"),
                       count_of(std::ssize(machines), "machine"), fmt::join(machines, ", "),
                       fewest);
  }
  return {};
}

void check_slices(const ResolvedConfig& config, World& world) {
  const MeshConfig& mesh = config.experiment.mesh;
  if (mesh.slice_of.empty()) return;
  const std::string wrong = wrong_slice(mesh, all_gather_text(world, host_name()));
  if (wrong.empty()) return;
  const Value* value = config.tree.find_path("mesh.slice_of");
  throw ConfigError(Diagnostic{
      .where = value != nullptr ? value->origin() : Origin{},
      .path = "mesh.slice_of",
      .what = wrong,
      .hint = "start the processes of a slice, which have neighboring ranks, on one machine or on "
              "neighboring ones, such as by mpirun --map-by slot; or change mesh.dcn_mesh_shape"});
}

}  // namespace trivet
