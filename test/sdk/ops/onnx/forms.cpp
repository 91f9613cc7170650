// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "sdk/ops/onnx/operators.h"

namespace trivet::test::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;

int axis_in(const Tensor& x, std::int64_t axis) {
  return x.shape().index(static_cast<int>(axis));
}

Tensor reshaped(const Call& c) {
  Numbers extents = c.integers("shape", 1);
  const bool keeps_zero = c.node.integer("allowzero", 0) != 0;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 0 && !keeps_zero) extents[i] = c.any().dim(static_cast<int>(i));
  }
  return ops::reshape(c.any(), shape_of(extents));
}

Tensor transposed(const Call& c) {
  const int rank = c.any().rank();
  std::vector<int> axes;
  for (const std::int64_t axis : c.node.integers("perm")) axes.push_back(static_cast<int>(axis));
  if (axes.empty()) {
    for (int axis = rank; axis-- > 0;) axes.push_back(axis);
  }
  return permuted(c.any(), axes);
}

Tensor squeezed(const Call& c) {
  const Tensor& x = c.any();
  std::vector<bool> gone(static_cast<std::size_t>(x.rank()));
  const Numbers axes = c.integers("axes", 1);
  for (int axis = 0; axis < x.rank(); ++axis) {
    gone[static_cast<std::size_t>(axis)] = axes.empty() && x.dim(axis) == 1;
  }
  for (const std::int64_t axis : axes) gone[static_cast<std::size_t>(axis_in(x, axis))] = true;
  Numbers kept;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!gone[static_cast<std::size_t>(axis)]) kept.push_back(x.dim(axis));
  }
  return ops::reshape(x, shape_of(kept));
}

Tensor unsqueezed(const Call& c) {
  Numbers axes = c.integers("axes", 1), extents = extents_of(c.any());
  const auto rank = static_cast<std::int64_t>(extents.size() + axes.size());
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  for (const std::int64_t axis : axes) extents.insert(extents.begin() + axis, 1);
  return ops::reshape(c.any(), shape_of(extents));
}

Tensor flattened(const Call& c) {
  std::int64_t axis = c.node.integer("axis", 1);
  if (axis < 0) axis += c.any().rank();
  std::int64_t rows = 1;
  for (int i = 0; i < axis; ++i) rows *= c.any().dim(i);
  return ops::reshape(c.any(), {rows, rows > 0 ? c.any().size() / rows : 0});
}

Outputs split(const Call& c) {
  const Tensor& x = c.any();
  const int axis = axis_in(x, c.node.integer("axis", 0));
  Numbers sizes = c.integers("split", 1);
  const auto parts = static_cast<std::int64_t>(c.node.outputs.size());
  if (sizes.empty()) sizes.assign(static_cast<std::size_t>(parts), x.dim(axis) / parts);
  Outputs out;
  std::int64_t at = 0;
  for (const std::int64_t size : sizes) {
    out.push_back(ops::slice(x, axis, at, at + size));
    at += size;
  }
  return out;
}

Tensor sliced(const Call& c) {
  const Numbers starts = c.integers("starts", 1), ends = c.integers("ends", 2);
  Numbers axes = c.integers("axes", 3), steps = c.has(4) ? c.integers(4) : Numbers();
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  Tensor y = c.any();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!steps.empty() && steps[i] != 1) throw NoCounterpart("Slice with a step");
    const int axis = axis_in(y, axes[i]);
    const std::int64_t n = y.dim(axis);
    const auto inside = [n](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + n : at, 0, n);
    };
    y = ops::slice(y, axis, inside(starts[i]), std::max(inside(starts[i]), inside(ends[i])));
  }
  return y;
}

Tensor expanded(const Call& c) {
  Numbers extents = c.integers(1), mine = extents_of(c.any());
  while (extents.size() < mine.size()) extents.insert(extents.begin(), 1);
  while (mine.size() < extents.size()) mine.insert(mine.begin(), 1);
  for (std::size_t i = 0; i < mine.size(); ++i) extents[i] = extents[i] == 1 ? mine[i] : extents[i];
  return ops::expand(c.any(), shape_of(extents));
}

Tensor tiled(const Call& c) {
  Tensor y = c.any();
  const Numbers repeats = c.integers(1);
  for (std::size_t axis = 0; axis < repeats.size(); ++axis) {
    const std::vector<Tensor> parts(static_cast<std::size_t>(repeats[axis]), y);
    y = ops::concat(parts, static_cast<int>(axis));
  }
  return y;
}

// Rows of x along an axis; the axes of the indices come before the other axes.
Tensor gathered(const Call& c) {
  const Tensor &x = c.f32(0), &given = c.any(1);
  const int axis = axis_in(x, c.node.integer("axis", 0));
  std::vector<std::int32_t> numbers;
  for (const std::int64_t i : c.integers(1)) {
    numbers.push_back(static_cast<std::int32_t>(i < 0 ? i + x.dim(axis) : i));
  }
  const Tensor indices = Tensor::from<std::int32_t>(c.device, numbers, given.shape());
  std::vector<int> order{axis};
  Numbers before, after;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis) order.push_back(i);
    if (i != axis) (i < axis ? before : after).push_back(x.dim(i));
  }
  const Tensor rows =
      ops::gather_rows(ops::reshape(permuted(x, order), {x.dim(axis), -1}), indices);
  Numbers extents = extents_of(given);
  std::vector<int> back;
  const auto count = static_cast<int>(extents.size());
  for (int i = 0; i < axis; ++i) back.push_back(count + i);
  for (int i = 0; i < count; ++i) back.push_back(i);
  for (int i = axis; i < x.rank() - 1; ++i) back.push_back(count + i);
  extents.insert(extents.end(), before.begin(), before.end());
  extents.insert(extents.end(), after.begin(), after.end());
  return permuted(ops::reshape(rows, shape_of(extents)), back);
}

Tensor padded(const Call& c) {
  const std::string mode = c.node.text("mode", "constant");
  Tensor y = c.f32();
  const Numbers pads = c.node.has("paddings") ? c.node.integers("paddings") : c.integers("pads", 1);
  float value = c.node.number("value", 0);
  if (c.has(2)) value = c.f32(2).item();
  const std::map<std::string, PadMode> modes{
      {"constant", PadMode::constant}, {"edge", PadMode::edge}, {"reflect", PadMode::reflect}};
  for (int axis = 0; axis < y.rank(); ++axis) {
    std::int64_t before = pads[static_cast<std::size_t>(axis)];
    std::int64_t after = pads[static_cast<std::size_t>(axis + y.rank())];
    y = ops::slice(y, axis, std::max<std::int64_t>(0, -before),
                   y.dim(axis) - std::max<std::int64_t>(0, -after));
    before = std::max<std::int64_t>(0, before);
    after = std::max<std::int64_t>(0, after);
    y = ops::pad(y, axis, before, after, modes.at(mode), value);
  }
  return y;
}

DType dtype_of_onnx(std::int64_t type) {
  switch (static_cast<Type>(type)) {
    case Type::f32:
    case Type::f64:
      return DType::f32;
    case Type::f16:
      return DType::f16;
    case Type::bf16:
      return DType::bf16;
    case Type::i32:
    case Type::i64:
      return DType::i32;
    case Type::boolean:
      return DType::boolean;
    case Type::u8:
      return DType::u8;
    default:
      throw NoCounterpart("a cast to type " + std::to_string(type));
  }
}

// ONNX 1.12 truncates a float to bfloat16; later versions round, as trivet does.
DType cast_target(DType to) {
  if (to == DType::bf16) throw NoCounterpart("bfloat16 cut off");
  return to;
}

Tensor space_to_depth(const Call& c) {
  const std::int64_t block = c.node.integer("blocksize", 1);
  const Tensor& x = c.f32();
  const std::int64_t n = x.dim(0), d = x.dim(1), h = x.dim(2) / block, w = x.dim(3) / block;
  const Tensor cut = ops::reshape(x, {n, d, h, block, w, block});
  return ops::reshape(ops::transpose(cut, {0, 3, 5, 1, 2, 4}), {n, d * block * block, h, w});
}

Tensor depth_to_space(const Call& c) {
  const std::int64_t block = c.node.integer("blocksize", 1);
  const Tensor& x = c.f32();
  const std::int64_t n = x.dim(0), d = x.dim(1) / (block * block), h = x.dim(2), w = x.dim(3);
  const bool columns_first = c.node.text("mode", "DCR") == "CRD";
  const Tensor y =
      columns_first
          ? ops::transpose(ops::reshape(x, {n, d, block, block, h, w}), {0, 1, 4, 2, 5, 3})
          : ops::transpose(ops::reshape(x, {n, block, block, d, h, w}), {0, 3, 4, 1, 5, 2});
  return ops::reshape(y, {n, d, h * block, w * block});
}

Numbers shape_part(const Call& c) {
  const Numbers all = extents_of(c.any());
  const auto n = static_cast<std::int64_t>(all.size());
  const auto inside = [n](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + n : at, 0, n);
  };
  const std::int64_t begin = inside(c.node.integer("start", 0));
  const std::int64_t end = std::max(begin, inside(c.node.integer("end", n)));
  return {all.begin() + begin, all.begin() + end};
}

// 1 where a triangle keeps an element of [rows, columns].
Tensor triangle(const Call& c, bool upper, std::int64_t diagonal) {
  const std::int64_t rows = c.any().dim(-2), columns = c.any().dim(-1);
  std::vector<std::uint8_t> kept;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      kept.push_back(upper ? j - i >= diagonal : j - i <= diagonal);
    }
  }
  return ops::cast(Tensor::from<std::uint8_t>(c.device, kept, {rows, columns}), DType::boolean);
}

Tensor trilu(const Call& c) {
  const std::int64_t diagonal = c.has(1) ? c.integers(1)[0] : 0;
  const Tensor& x = c.any();
  const Tensor kept = triangle(c, c.node.integer("upper", 1) != 0, diagonal);
  return ops::where(kept, x, Tensor::full(c.device, {}, 0, x.dtype()));
}

void form(Operators& all, const char* name, Tensor (*f)(const Call&)) {
  all[name] = [f](const Call& c) -> Outputs { return {f(c)}; };
}

}  // namespace

void add_forms(Operators& all) {
  form(all, "Reshape", reshaped);
  form(all, "Transpose", transposed);
  form(all, "Squeeze", squeezed);
  form(all, "Unsqueeze", unsqueezed);
  form(all, "Flatten", flattened);
  form(all, "Slice", sliced);
  form(all, "Expand", expanded);
  form(all, "Tile", tiled);
  form(all, "Gather", gathered);
  form(all, "Pad", padded);
  form(all, "SpaceToDepth", space_to_depth);
  form(all, "DepthToSpace", depth_to_space);
  form(all, "Trilu", trilu);
  all["Split"] = split;
  all["Identity"] = [](const Call& c) -> Outputs { return {c.any()}; };
  all["Concat"] = [](const Call& c) -> Outputs {
    return {ops::concat(c.inputs, static_cast<int>(c.node.integer("axis", 1)))};
  };
  all["Cast"] = [](const Call& c) -> Outputs {
    return {ops::cast(c.any(), cast_target(dtype_of_onnx(c.node.integer("to", 1))))};
  };
  all["CastLike"] = [](const Call& c) -> Outputs {
    return {ops::cast(c.any(), cast_target(c.any(1).dtype()))};
  };
  all["Shape"] = [](const Call& c) -> Outputs { return {c.of_integers(shape_part(c))}; };
  all["Size"] = [](const Call& c) -> Outputs {
    return {ops::reshape(c.of_integers({c.any().size()}), {})};
  };
  all["Constant"] = [](const Call& c) -> Outputs {
    if (c.node.has("value_float")) return {c.constant(c.node.number("value_float", 0))};
    if (c.node.has("value_ints")) return {c.of_integers(c.node.integers("value_ints"))};
    if (c.node.has("value_int")) {
      return {ops::reshape(c.of_integers({c.node.integer("value_int", 0)}), {})};
    }
    if (!c.node.has("value")) throw NoCounterpart("a constant of another kind");
    return {to_device(c.device, *c.node.attributes.at("value").tensor)};
  };
  all["ConstantOfShape"] = [](const Call& c) -> Outputs {
    Tensor one = c.constant(0);
    if (c.node.has("value")) one = to_device(c.device, *c.node.attributes.at("value").tensor);
    return {ops::expand(ops::reshape(one, {}), shape_of(c.integers(0)))};
  };
}

}  // namespace trivet::test::onnx
