// SPDX-License-Identifier: Apache-2.0
// Element types of tensors and of files. The values are those of tv_dtype in backend.h; i8 is in
// files only, as the integers of quantized weights: no tensor has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trivet/backend/backend.h"
#include "trivet/base/export.h"

namespace trivet {

enum class DType : std::uint8_t {
  f32 = TV_F32,
  bf16 = TV_BF16,
  f16 = TV_F16,
  i32 = TV_I32,
  u8 = TV_U8,
  boolean = TV_BOOL,  // one byte, 0 or 1
  u32 = TV_U32,       // random bits
  i8 = TV_U32 + 1,
};

// Bytes of one element.
TRIVET_API std::size_t size_of(DType dtype);

// "f32", "bf16", "f16", "i32", "u8", "bool", "u32", "i8".
TRIVET_API std::string_view name_of(DType dtype);

// The DType of a C++ type; bf16 and f16 have none.
template <class T>
inline constexpr DType dtype_of = T::no_trivet_dtype_for_this_type;
template <>
inline constexpr DType dtype_of<float> = DType::f32;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of<std::uint8_t> = DType::u8;
template <>
inline constexpr DType dtype_of<bool> = DType::boolean;
template <>
inline constexpr DType dtype_of<std::uint32_t> = DType::u32;

}  // namespace trivet
