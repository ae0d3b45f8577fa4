import type { McpRequestOptions } from './contract';
/**
 * How the API reaches the host: `invoke` of `@tauri-apps/api/core`, or anything that takes a command and its arguments
 * and hands them on unchanged.
 */
export type InvokeLike = (command: string, args: Record<string, unknown>) => Promise<unknown>;
/** The plugin's name in command names. */
export declare const PLUGIN = "mcp-host";
/** Sends one command. */
export declare function request<T>(invoke: InvokeLike, command: string, args?: Record<string, unknown>): Promise<T>;
/** Sends one command that can be given a time limit and taken back. */
export declare function cancellable<T>(invoke: InvokeLike, command: string, args: Record<string, unknown>, options: McpRequestOptions | undefined): Promise<T>;
