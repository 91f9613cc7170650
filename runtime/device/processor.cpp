// SPDX-License-Identifier: Apache-2.0
#include "device/processor.h"

#include <fstream>
#include <string_view>

#include "trivet/text/strings.h"

namespace trivet {

Processor this_processor() {
  Processor found;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view key = trim(std::string_view(line).substr(0, colon));
    const std::string_view value = trim(std::string_view(line).substr(colon + 1));
    if (key == "model name") {
      found.model = std::string(value) + found.model;
    } else if (key == "cpu family") {
      found.model += ", family " + std::string(value);
    } else if (key == "model" || key == "stepping") {
      found.model += ", " + std::string(key) + " " + std::string(value);
    } else if (key == "microcode") {
      found.microcode = value;
    }
  }
  return found;
}

}  // namespace trivet
