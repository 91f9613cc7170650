// SPDX-License-Identifier: Apache-2.0
// Types of config fields that the standard library lacks. All of them work in constant expressions,
// so that a plugin's file can carry their defaults.
#pragma once

#include "trivet/config/bytes.h"
#include "trivet/config/duration.h"
#include "trivet/config/interval.h"
#include "trivet/config/map.h"
#include "trivet/config/path.h"
