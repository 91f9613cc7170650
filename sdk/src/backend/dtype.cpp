// SPDX-License-Identifier: Apache-2.0
// Sizes and names of element types.
#include "trivet/backend/dtype.h"

#include "trivet/error.h"

namespace trivet {

std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32:
    case DType::u32:
      return 4;
    case DType::bf16:
    case DType::f16:
      return 2;
    case DType::u8:
    case DType::boolean:
    case DType::i8:
      return 1;
  }
  throw Error("unknown element type " + std::to_string(static_cast<int>(dtype)));
}

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "f16";
    case DType::i32:
      return "i32";
    case DType::u8:
      return "u8";
    case DType::boolean:
      return "bool";
    case DType::u32:
      return "u32";
    case DType::i8:
      return "i8";
  }
  throw Error("unknown element type " + std::to_string(static_cast<int>(dtype)));
}

}  // namespace trivet
