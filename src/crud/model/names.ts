/**
 * Names of tools: `provider.instance.base`, `workflow.<name>`, `system.health`; with `_` for `.` in the underscore form.
 * Provider and instance hold no `_`, so the underscore form has one reading: the first two `_` split.
 */

export const basePattern = /^[a-z][a-z0-9_-]*$/;
/** Bases of tools that come from external servers keep their upper-case letters. */
export const externalBasePattern = /^[A-Za-z][A-Za-z0-9_-]*$/;
/** `jsonrpc`, `tools`, `mcp` and `config` stand in addresses for something else. */
export const viewPattern = /^(?!(?:jsonrpc|tools|mcp|config)$)[a-z][a-z0-9-]{0,30}$/;
export const MAX_NAME = 64;

/** Dots become `_`; both forms are accepted for invocation. */
export const underscoreOf = (name: string): string => name.replaceAll(".", "_");
