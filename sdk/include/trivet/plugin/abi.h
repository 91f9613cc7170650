/* SPDX-License-Identifier: Apache-2.0
 * The C part of the handshake between the trivet program and a plugin library.
 *
 * A plugin exports one data symbol, `trivet_plugin_entry_v1`; reading it runs no code of the
 * plugin. C++ authors never touch this file: TRIVET_PLUGIN (plugin.h) fills everything in. Structs
 * start with their size and only grow at the end; within one SDK major nothing here changes its
 * meaning.
 *
 * A host runs plugins that were built with an earlier minor, so a minor may only
 *   - add functions, kinds, extensions (object.h) and kernels with ids of their own;
 *   - let structs that begin with their size (these, tv_backend) grow at the end;
 *   - add virtual functions at the end of classes that only the host derives from, such as
 *     UnitRecords.
 * The rest waits for a major:
 *   - A class that plugins derive from (Task, Layer, Input, an extension's) gets no virtual
 *     function, not even at the end: the host would call what an older plugin does not have.
 *   - A struct or class that plugins derive from (TaskConfig, ModelConfig, InputConfig and the other
 *     ...Config), create (FpropContext, InputContext, TaskContext, StepState, ...Context, ...Options)
 *     or hold (Tensor, Value, NestedMap) gets, loses and moves no member.
 * test/sdk/plugin/abi_layout_test.cpp knows the sizes of the latter.
 */
#ifndef TRIVET_ABI_H
#define TRIVET_ABI_H

#include <stddef.h>
#include <stdint.h>

/* A host with SDK (major, minor) accepts plugins built with the same major and a minor that is not
 * newer. */
#define TRIVET_SDK_MAJOR 1
#define TRIVET_SDK_MINOR 0

#define TRIVET_ENTRY_MAGIC 0x54565254u /* "TRVT" read as a little-endian number */
#define TRIVET_ENTRY_SYMBOL "trivet_plugin_entry_v1"
#define TRIVET_NOTE_OWNER "trivet" /* owner of the ELF note, 7 bytes with its NUL */
#define TRIVET_NOTE_TYPE 0x74727631u

#ifdef __cplusplus
extern "C" {
#endif

/* What the host hands to a plugin's init. Valid during the call only. */
typedef struct trivet_host_v1 {
  uint32_t struct_size;
  uint32_t sdk_major, sdk_minor;
  void* registrar; /* trivet::Registrar*: what passed the handshake shares our C++ ABI */
} trivet_host_v1;

/* What a plugin exports: `extern const trivet_entry_v1 trivet_plugin_entry_v1;` */
typedef struct trivet_entry_v1 {
  uint32_t magic;
  uint32_t struct_size;
  uint32_t sdk_major, sdk_minor;
  const char* abi_tag; /* the fields of abi_tag.h as text, the same as in the note */
  /* Offers the plugin's items to the host. Returns 0; on failure writes a NUL-terminated reason of
   * at most `error_size` bytes and returns non-zero. Nothing may escape from it. */
  int (*init)(const trivet_host_v1* host, char* error, size_t error_size);
} trivet_entry_v1;

#ifdef __cplusplus
}
#endif

#endif
