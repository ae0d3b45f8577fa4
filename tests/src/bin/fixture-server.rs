//! A server that misbehaves on demand: `fixture-server MODE [ARGUMENT]`.
//!
//! A mode is a fault of the whole server; a tool is a fault of one call. What it does not do by mistake it does right:
//! 2025-11-25 over stdio, requests answered in threads of their own. Messages that have to be wrong are written by hand.
//!
//! | mode | |
//! | --- | --- |
//! | `plain` | no fault |
//! | `noisy` | whatever is no message, before and between the messages: banners, blanks, colours, logs, arrays, bytes |
//! | `exits CODE` | says why on stderr and exits before the handshake |
//! | `silent` | reads and never answers |
//! | `rude` | answers the handshake with an error |
//! | `revision TEXT` | wants that protocol version |
//! | `bare` | says nothing about itself in the handshake |
//! | `stubborn` | goes on when stdin ends |
//! | `wedged` | stops reading once the tools were listed |
//! | `crowd` | leaves a child in its group, and one outside of it |
//! | `endless` | one page of tools with the same cursor for ever |
//! | `pages COUNT` | that many tools, fifty a page |
//! | `drifting FILE` | tools described by the text of a file |
//! | `odd` | tools of which some cannot be used |
//!
//! `FIXTURE_TRACE` names a file that gets a line for each start and each message read.

use std::{
    env,
    fs::File,
    io::{self, BufRead as _, Write as _},
    process::{Command, Stdio, exit},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

fn main() {
    let mut arguments = env::args().skip(1);
    let mode = arguments.next().unwrap_or_else(|| "plain".to_owned());
    let argument = arguments.next().unwrap_or_default();
    trace(&format!("start {}", std::process::id()));
    match mode.as_str() {
        "exits" => {
            eprintln_raw(b"Error: API_KEY is required\n");
            exit(argument.parse().unwrap_or(1));
        }
        "crowd" => crowd(),
        "noisy" => noise(),
        _ => {}
    }
    let server = Server { mode, argument };
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        trace(&line);
        if let Ok(message) = serde_json::from_str::<Value>(&line) {
            server.hear(&message);
        }
    }
    if server.mode == "stubborn" {
        loop {
            thread::sleep(Duration::from_secs(3600));
        }
    }
}

/// Leaves a child in the group and one that has left it.
fn crowd() {
    for (program, arguments) in [("sleep", vec!["3600"]), ("setsid", vec!["sleep", "3600"])] {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        if let Ok(child) = command.spawn() {
            trace(&format!("child {} {program}", child.id()));
        }
    }
}

/// What is no message.
fn noise() {
    for line in [
        &b"My Server version : 1.0"[..],
        b"",
        "🚀 listening".as_bytes(),
        b"\x1b[2mANSI\x1b[0m",
        b"{\"level\":\"info\",\"msg\":\"up\"}",
        b"[{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}]",
        b"\xff\xfe not text",
        b"{\"jsonrpc\":\"2.0\",\"id\":4711,\"result\":{}}",
    ] {
        write_line(line);
    }
}

struct Server {
    mode: String,
    argument: String,
}

impl Server {
    fn hear(&self, message: &Value) {
        let id = &message["id"];
        let params = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            _ if self.mode == "silent" => {}
            "initialize" if self.mode == "rude" => refuse(id, -32000, "go away"),
            "initialize" if self.mode == "bare" => answer(id, &json!({ "protocolVersion": "2025-11-25" })),
            "initialize" => self.welcome(id),
            "ping" => answer(id, &json!({})),
            "tools/list" => {
                answer(id, &self.tools(params["cursor"].as_str()));
                if self.mode == "wedged" {
                    loop {
                        thread::sleep(Duration::from_secs(3600));
                    }
                }
            }
            "tools/call" => {
                let (id, params) = (id.clone(), params.clone());
                thread::spawn(move || call(&id, &params));
            }
            _ if id.is_null() => {}
            _ => refuse(id, -32601, "not here"),
        }
        if self.mode == "noisy" {
            noise();
        }
    }

    fn welcome(&self, id: &Value) {
        let revision = if self.mode == "revision" { self.argument.as_str() } else { "2025-11-25" };
        let capabilities = json!({ "tools": { "listChanged": true }, "logging": {} });
        let info = json!({ "name": "fixture", "version": "1" });
        answer(id, &json!({ "protocolVersion": revision, "capabilities": capabilities, "serverInfo": info }));
    }

    fn tools(&self, cursor: Option<&str>) -> Value {
        let tool = |name: &str| json!({ "name": name, "description": "d", "inputSchema": { "type": "object" } });
        match self.mode.as_str() {
            "endless" => json!({ "tools": [tool("a"), tool("b")], "nextCursor": "again" }),
            "pages" => {
                let all: usize = self.argument.parse().unwrap_or(0);
                let from: usize = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
                let to = (from + 50).min(all);
                let tools: Vec<_> = (from..to).map(|n| tool(&format!("t{n}"))).collect();
                if to < all {
                    json!({ "tools": tools, "nextCursor": to.to_string() })
                } else {
                    json!({ "tools": tools })
                }
            }
            "drifting" => {
                let text = std::fs::read_to_string(&self.argument).unwrap_or_default();
                let described = |name: &str| {
                    let mut tool = tool(name);
                    tool["description"] = text.trim().into();
                    tool
                };
                json!({ "tools": TOOLS.map(described) })
            }
            "odd" => {
                let mut tools: Vec<_> = (0..17).map(|n| tool(&format!("t{n}"))).collect();
                tools.push(json!({ "name": "none" }));
                tools.push(json!({ "name": "true", "inputSchema": true }));
                let mut output = tool("output");
                output["outputSchema"] = json!({ "type": "no such type" });
                tools.push(output);
                json!({ "tools": tools })
            }
            _ => json!({ "tools": TOOLS.map(tool) }),
        }
    }
}

const TOOLS: [&str; 13] =
    ["echo", "big", "huge", "stderr", "slow", "steps", "die", "error", "nan", "twice", "last", "storm", "whoami"];

/// One call, in a thread of its own.
fn call(id: &Value, params: &Value) {
    let arguments = &params["arguments"];
    let number = |name: &str| arguments[name].as_u64().unwrap_or(0);
    let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    match params["name"].as_str().unwrap_or_default() {
        "echo" => answer(id, &text(&arguments.to_string())),
        // A result of so many bytes of text, the id first and last.
        "big" => answer(id, &text(&"x".repeat(number("bytes") as usize))),
        "huge" => {
            let filler = "x".repeat(number("bytes") as usize);
            write_line(format!(r#"{{"result":{{"t":"{filler}"}},"jsonrpc":"2.0","id":{id}}}"#).as_bytes());
        }
        // So many bytes to stderr, without a line's end, then the answer.
        "stderr" => {
            eprintln_raw("e".repeat(number("bytes") as usize).as_bytes());
            eprintln_raw(b" the end\n");
            answer(id, &text("said"));
        }
        "slow" => {
            thread::sleep(Duration::from_millis(number("ms")));
            answer(id, &text("slept"));
        }
        // So many steps of progress at once, then the answer.
        "steps" => {
            let token = &params["_meta"]["progressToken"];
            for step in 1..=number("count") {
                tell("notifications/progress", &json!({ "progressToken": token, "progress": step, "message": "m" }));
            }
            answer(id, &text("stepped"));
        }
        "die" => {
            eprintln_raw(b"fatal: it broke\n");
            exit(number("code") as i32);
        }
        "error" => refuse(id, -32050, "it does not work"),
        "nan" => write_line(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"n":NaN}}}}"#).as_bytes()),
        "twice" => write_line(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":1,"a":2}}}}"#).as_bytes()),
        // The last line has no end.
        "last" => {
            let message = json!({ "jsonrpc": "2.0", "id": id, "result": text("last words") }).to_string();
            let mut out = io::stdout().lock();
            let _ = out.write_all(message.as_bytes()).and_then(|()| out.flush());
            exit(0);
        }
        "storm" => {
            for _ in 0..200 {
                tell("notifications/tools/list_changed", &json!({}));
            }
            answer(id, &text("stormed"));
        }
        // How it was started.
        "whoami" => {
            let told = json!({
                "args": env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect::<Vec<_>>(),
                "env": env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect::<Vec<_>>(),
                "cwd": env::current_dir().unwrap_or_default(),
                "pid": std::process::id(),
            });
            answer(id, &text(&told.to_string()));
        }
        _ => refuse(id, -32602, "no such tool"),
    }
}

fn answer(id: &Value, result: &Value) {
    write_line(json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string().as_bytes());
}

fn refuse(id: &Value, code: i64, message: &str) {
    let error = json!({ "code": code, "message": message });
    write_line(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().as_bytes());
}

fn tell(method: &str, params: &Value) {
    write_line(json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string().as_bytes());
}

/// A reader that is gone is no fault of this server: it stays or goes as its mode says.
fn write_line(line: &[u8]) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(line).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
}

fn eprintln_raw(bytes: &[u8]) {
    let _ = io::stderr().lock().write_all(bytes);
}

fn trace(line: &str) {
    let Some(path) = env::var_os("FIXTURE_TRACE") else { return };
    if let Ok(mut file) = File::options().create(true).append(true).open(path) {
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }
}
