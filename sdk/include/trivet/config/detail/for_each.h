// SPDX-License-Identifier: Apache-2.0
// TRIVET_FOR_EACH(macro, a, b, ...) is macro(a) macro(b) ...; nothing for an empty list. The
// expansion rescans itself 4^4 times, which is the longest list it takes.
#pragma once

#define TRIVET_PARENS ()
#define TRIVET_EXPAND(...) \
  TRIVET_EXPAND3(TRIVET_EXPAND3(TRIVET_EXPAND3(TRIVET_EXPAND3(__VA_ARGS__))))
#define TRIVET_EXPAND3(...) \
  TRIVET_EXPAND2(TRIVET_EXPAND2(TRIVET_EXPAND2(TRIVET_EXPAND2(__VA_ARGS__))))
#define TRIVET_EXPAND2(...) \
  TRIVET_EXPAND1(TRIVET_EXPAND1(TRIVET_EXPAND1(TRIVET_EXPAND1(__VA_ARGS__))))
#define TRIVET_EXPAND1(...) \
  TRIVET_EXPAND0(TRIVET_EXPAND0(TRIVET_EXPAND0(TRIVET_EXPAND0(__VA_ARGS__))))
#define TRIVET_EXPAND0(...) __VA_ARGS__

#define TRIVET_FOR_EACH(macro, ...) \
  __VA_OPT__(TRIVET_EXPAND(TRIVET_FOR_EACH_STEP(macro, __VA_ARGS__)))
#define TRIVET_FOR_EACH_STEP(macro, first, ...) \
  macro(first) __VA_OPT__(TRIVET_FOR_EACH_AGAIN TRIVET_PARENS(macro, __VA_ARGS__))
#define TRIVET_FOR_EACH_AGAIN() TRIVET_FOR_EACH_STEP
