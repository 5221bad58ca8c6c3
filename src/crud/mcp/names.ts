/**
 * Names of tools: `provider.instance.base`, `workflow.<name>`, `system.health`; with `_` for `.` in the underscore form.
 * Provider and instance hold no `_`, so the underscore form has one reading: the first two `_` split.
 */

const providerPattern = /^[a-z][a-z0-9-]{0,24}$/;
export const basePattern = /^[a-z][a-z0-9_-]*$/;
/** Bases of tools that come from external servers keep their upper-case letters. */
export const externalBasePattern = /^[A-Za-z][A-Za-z0-9_-]*$/;
const viewPattern = /^[a-z][a-z0-9-]{0,30}$/;
export const MAX_NAME = 64;

const reservedProviders = new Set(["workflow", "system", "tools"]);
const reservedViews = new Set(["jsonrpc", "tools", "mcp", "config"]);

export const isProvider = (text: string): boolean => providerPattern.test(text) && !reservedProviders.has(text);
export const isInstance = (text: string): boolean => providerPattern.test(text);
export const isView = (text: string): boolean => viewPattern.test(text) && !reservedViews.has(text);

export const HEALTH = "system.health";

/** Dots become `_`; both forms are accepted for invocation. */
export const underscoreOf = (name: string): string => name.replaceAll(".", "_");
