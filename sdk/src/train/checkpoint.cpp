// SPDX-License-Identifier: Apache-2.0
#include "trivet/train/checkpoint.h"

namespace trivet {

// Out of line, so that the class has one vtable and one type information in the process.
CheckpointWriter::~CheckpointWriter() = default;
CheckpointReader::~CheckpointReader() = default;

}  // namespace trivet
