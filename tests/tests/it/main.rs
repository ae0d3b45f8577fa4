//! Integration: real child processes, real servers from npm and PyPI, the real `mcp-host` binary.

mod tidy;
