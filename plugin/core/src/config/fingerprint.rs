//! By what a launch is known once a person has confirmed it: a keyed hash over everything that makes it what it is.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::launch::{EndpointLaunch, Launch, StdioLaunch};
use crate::{
    error::{Error, Result},
    model::hex,
};

/// The fingerprint of `launch`: HMAC-SHA256 under `key`, in lower-case hex.
///
/// It covers transport, command, arguments, working folder, URL, names and *unexpanded* values of environment and
/// headers, and `envPassthrough` (policy.md §6). Every part is written with its length, so that no two launches are
/// written alike. Keyed, because a plain hash of a short secret can be guessed.
pub fn fingerprint(launch: &Launch, key: &[u8]) -> Result<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).map_err(Error::internal)?;
    let mut put = |part: &str| {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part.as_bytes());
    };
    let count = |items: usize| items.to_string();
    put("mcp-host launch v1");
    put(launch.transport().as_str());
    match launch {
        Launch::Stdio(StdioLaunch { command, args, cwd, env, env_passthrough }) => {
            put(command);
            put(&count(args.len()));
            args.iter().for_each(|arg| put(arg));
            put(&count(usize::from(cwd.is_some())));
            put(cwd.as_deref().unwrap_or_default());
            put(&count(env.len()));
            for (name, value) in env {
                put(name);
                put(value);
            }
            put(&count(env_passthrough.len()));
            env_passthrough.iter().for_each(|name| put(name));
        }
        Launch::Http(EndpointLaunch { url, headers }) | Launch::Sse(EndpointLaunch { url, headers }) => {
            put(url);
            put(&count(headers.len()));
            for (name, value) in headers {
                put(name);
                put(value);
            }
        }
    }
    Ok(hex(&mac.finalize().into_bytes()))
}
