// SPDX-License-Identifier: Apache-2.0
// What rank 0 has the other processes do, which wait for it in follow() (lead_trainer.h).
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "processes/world.h"
#include "trivet/config/json.h"
#include "trivet/config/value.h"

namespace trivet {

struct Order {
  std::string call;
  Value argument{};
};

inline void give(World& world, const Order& order) {
  broadcast_text(world,
                 to_json(Value::table({{"call", order.call}, {"argument", order.argument}})));
}

// While it lives, the other processes make the call of rank 0.
class Together {
 public:
  explicit Together(World& world) : world_(world) { world_.set_alone(false); }
  ~Together() { world_.set_alone(true); }
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;

 private:
  World& world_;
};

}  // namespace trivet
