// SPDX-License-Identifier: Apache-2.0
#include "trivet/launch/orchestrator.h"

namespace trivet::launch {

Orchestrator::~Orchestrator() = default;
void Orchestrator::check(std::span<const WorkUnit>, Diagnostics&) {}
void Orchestrator::refresh(std::span<const std::int64_t>) {}
std::vector<std::string> Orchestrator::intent() const {
  return {};
}

bool Orchestrator::takes_replicas() const {
  return false;
}
bool Orchestrator::gets(std::string_view, std::string_view) const {
  return true;
}
bool Orchestrator::makes_units() const {
  return false;
}
bool Orchestrator::has_supervisor() const {
  return false;
}
void Orchestrator::supervise(const Supervision&) {
  throw Error("the orchestrator has no supervisor");
}

}  // namespace trivet::launch
