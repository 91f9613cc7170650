// SPDX-License-Identifier: Apache-2.0
// What a store knows about the layers made in it: the taken paths and those with a shared name.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "trivet/layer/scope.h"

namespace trivet {

struct ParameterStore::Shared {
  struct Entry {
    ConfigOf<Layer> config;
    std::string path;              // of the first use
    std::shared_ptr<Layer> layer;  // null while it is being made
  };
  std::map<std::string, Entry> layers;  // by shared name; std::map: entries stay where they are
  std::set<std::string> paths;
};

}  // namespace trivet
