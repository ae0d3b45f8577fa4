//! Our own messages: one buffer, values as they are, no second encoding of what was approved.

use bytes::{BufMut, Bytes, BytesMut};
use serde::Serialize;

/// The params of a request, member by member.
#[derive(Clone, Debug, Default)]
pub(in crate::session) struct Params(Vec<(&'static str, Bytes)>);

impl Params {
    /// Adds a member whose JSON text is `raw`, which goes on the wire as it is.
    pub(in crate::session) fn raw(mut self, name: &'static str, raw: Bytes) -> Self {
        self.0.push((name, raw));
        self
    }

    /// Adds a member. What cannot be written as JSON (no value of ours is) becomes null.
    pub(in crate::session) fn with<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Self {
        let raw = serde_json::to_vec(value).unwrap_or_else(|_| b"null".to_vec());
        self.raw(name, raw.into())
    }
}

/// A whole request. `meta` is the JSON text of its `_meta`.
pub(in crate::session) fn request(id: i64, method: &str, params: &Params, meta: &[u8]) -> Bytes {
    let size = params.0.iter().map(|(name, value)| name.len() + value.len() + 4).sum::<usize>();
    let mut out = BytesMut::with_capacity(size + meta.len() + method.len() + 96);
    out.put_slice(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"#).as_bytes());
    out.put_slice(&serde_json::to_vec(method).unwrap_or_default());
    out.put_slice(br#","params":{"#);
    for (name, value) in &params.0 {
        out.put_u8(b'"');
        out.put_slice(name.as_bytes());
        out.put_slice(b"\":");
        out.put_slice(value);
        out.put_u8(b',');
    }
    out.put_slice(br#""_meta":"#);
    out.put_slice(meta);
    out.put_slice(b"}}");
    out.freeze()
}

/// Takes request `id` back. `reason` is plain text of ours.
pub(in crate::session) fn cancelled(id: i64, reason: &'static str) -> Bytes {
    let message = serde_json::json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": { "requestId": id, "reason": reason },
    });
    message.to_string().into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn approved_bytes_go_out_as_they_are() {
        let arguments = r#"{"b":1.10,"a":12345678901234567890123}"#;
        let params = Params::default().with("name", "say \"hi\"").raw("arguments", arguments.as_bytes().into());
        let bytes = request(3, "tools/call", &params, br#"{"progressToken":3}"#);
        let expected = format!(
            r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"say \"hi\"","arguments":{arguments},"_meta":{{"progressToken":3}}}}}}"#
        );
        assert_eq!(std::str::from_utf8(&bytes).unwrap(), expected);
    }
}
