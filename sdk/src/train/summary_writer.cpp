// SPDX-License-Identifier: Apache-2.0
#include "trivet/summary_writer.h"

namespace trivet {

// Out of line, so that the class has one vtable and one type information in the process.
SummaryWriter::~SummaryWriter() = default;

void SummaryWriter::begin(std::int64_t) {}
void SummaryWriter::summaries(std::string_view, std::int64_t, const Summaries&) {}

}  // namespace trivet
