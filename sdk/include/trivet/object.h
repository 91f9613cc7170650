// SPDX-License-Identifier: Apache-2.0
// Object: the base of every kind of class that plugins bring: layers, tasks, inputs,
// orchestrators...
//
// The comment of every virtual function ends with the thread that calls it:
//
//   [main-thread]    The thread of the command, such as `trivet launch`.
//   [run-thread]     The thread that trains and evaluates, one for an object's whole life.
//   [input-thread]   The thread that prefetches batches, or the run's; never two at once.
//   [any-thread]     Any number of threads at once.
#pragma once

#include <string_view>

#include "trivet/base/export.h"

namespace trivet {

class TRIVET_API Object {
 public:
  virtual ~Object();
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  // The interface of this id that the object implements beside that of its kind, e.g.
  // "trivet.layer.extend_step/3"; null if it implements none. The interfaces and their ids are in
  // trivet/extensions/, those of layers in trivet/layer/ (extend_step.h, softmax_head.h). The
  // pointer lives as long as the object. [any-thread]
  virtual const void* extension(std::string_view id) const noexcept;

 protected:
  Object() = default;
};

}  // namespace trivet
