// SPDX-License-Identifier: Apache-2.0
// What most files of this project include, compiled once for each library. Files still include what
// they use; release builds (./dev bench) go without this header and show what is missing.
#ifndef TRIVET_SDK_PCH_SDK_H
#define TRIVET_SDK_PCH_SDK_H

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "trivet/config.h"
#include "trivet/plugin/registry.h"
#include "trivet/tensor.h"

#endif
