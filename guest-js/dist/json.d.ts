/**
 * A plain copy of `value` as `JSON.stringify` would write it, made in one pass, so that a getter or a Proxy cannot show
 * one thing now and another later. What JSON would change silently (`NaN` to `null`, a Map to `{}`) or cannot write (a
 * cycle, a BigInt, half a surrogate pair) is `mcp.invalid_input` with the JSON pointer of the place.
 */
export declare function plainJson(value: unknown, path: string): unknown;
