//! Approval tokens: a yes that the person gave before the call was made, for exactly that call.
//!
//! A token lives in the memory of this process, as its hash. A script that steals one can run only the call that was
//! shown, in the document that asked, once.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::{
    clock::Clock,
    error::{Error, Result},
    model::{Caller, ServerId, hex},
};

/// How long a token is good for.
pub const LIFETIME: Duration = Duration::from_secs(5 * 60);

/// How many unused tokens one caller (one loaded document, one run) may have.
pub const MAX_ALIVE: usize = 16;

/// How many are remembered in all, to say why one is refused.
const MAX_REMEMBERED: usize = 1024;

/// A point in time by both clocks: the wall's may be set back, the other stands still while the machine sleeps.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The wall clock.
    pub wall: Timestamp,
    /// Since some fixed point.
    pub monotonic: Duration,
}

impl Moment {
    /// Now.
    pub fn of(clock: &dyn Clock) -> Self {
        Self { wall: clock.now(), monotonic: clock.monotonic() }
    }

    fn plus(self, duration: Duration) -> Self {
        let signed = SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX);
        Self {
            wall: self.wall.checked_add(signed).unwrap_or(Timestamp::MAX),
            monotonic: self.monotonic.saturating_add(duration),
        }
    }

    /// Whether either clock has reached `other`.
    fn has_reached(self, other: Self) -> bool {
        self.wall >= other.wall || self.monotonic >= other.monotonic
    }
}

/// What a token is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Who asked: for a page the very document.
    pub caller: Caller,
    /// Which server.
    pub server: ServerId,
    /// Which tool, by its own name.
    pub tool: String,
    /// The server's confirmed fingerprint.
    pub fingerprint: String,
    /// The hash of the tool's definition.
    pub definition: String,
    /// The payload digest.
    pub digest: String,
}

/// Why a token is refused; audited, and told to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "`as_str` says what each means")]
pub enum TokenRefusal {
    Unknown,
    Used,
    Expired,
    OtherCaller,
    OtherDocument,
    OtherTool,
    ServerChanged,
    DefinitionChanged,
    OtherArguments,
}

impl TokenRefusal {
    /// As written in `details.reason` and in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Used => "used",
            Self::Expired => "expired",
            Self::OtherCaller => "other_caller",
            Self::OtherDocument => "other_document",
            Self::OtherTool => "other_tool",
            Self::ServerChanged => "server_changed",
            Self::DefinitionChanged => "definition_changed",
            Self::OtherArguments => "other_arguments",
        }
    }
}

/// What the token that came with a request is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenState {
    /// None came.
    Absent,
    /// It is good for exactly this call.
    Valid,
    /// It is not.
    Refused(TokenRefusal),
}

/// The tokens of this process.
#[derive(Debug, Default)]
pub struct Tokens(Vec<Token>);

#[derive(Debug)]
struct Token {
    /// SHA-256 of the text.
    hash: [u8; 32],
    binding: Binding,
    expires: Moment,
    used: bool,
}

impl Tokens {
    /// Whether the caller may have another one; looked at before the person is asked.
    pub fn has_room(&self, caller: &Caller, now: Moment) -> bool {
        self.alive(caller, now) < MAX_ALIVE
    }

    /// A token for what the person has just allowed, and until when it is good.
    ///
    /// # Errors
    ///
    /// `rate_limited` if the caller has [`MAX_ALIVE`] already.
    pub fn issue(&mut self, binding: Binding, now: Moment) -> Result<(String, Timestamp)> {
        self.forget(now);
        if !self.has_room(&binding.caller, now) {
            return Err(Error::RateLimited {
                server: Some(binding.server),
                message: format!("{MAX_ALIVE} approval tokens are unused already; use one, or wait until one expires"),
                retry_after_ms: None,
            });
        }
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(Error::internal)?;
        let text = hex(&bytes);
        let expires = now.plus(LIFETIME);
        self.0.push(Token { hash: hash(&text), binding, expires, used: false });
        Ok((text, expires.wall))
    }

    /// What a token is worth for exactly this call. Changes nothing.
    pub fn check(&self, text: &str, binding: &Binding, now: Moment) -> TokenState {
        match self.find(text) {
            None => TokenState::Refused(TokenRefusal::Unknown),
            Some(token) => token.refusal(binding, now).map_or(TokenState::Valid, TokenState::Refused),
        }
    }

    /// Uses a token up, immediately before the call is written down and sent.
    pub fn consume(&mut self, text: &str, binding: &Binding, now: Moment) -> Result<(), TokenRefusal> {
        let index = self.position(text).ok_or(TokenRefusal::Unknown)?;
        let token = self.0.get_mut(index).ok_or(TokenRefusal::Unknown)?;
        if let Some(refusal) = token.refusal(binding, now) {
            return Err(refusal);
        }
        token.used = true;
        Ok(())
    }

    /// A document is gone: so are its tokens. The others of that window stay void, since they name another document.
    pub fn forget_document(&mut self, window: &str, document: u64) {
        self.0.retain(|token| {
            !matches!(&token.binding.caller, Caller::Page { window: of, document: id } if of == window && *id == document)
        });
    }

    fn alive(&self, caller: &Caller, now: Moment) -> usize {
        let alive = |token: &&Token| !token.used && !now.has_reached(token.expires) && token.binding.caller == *caller;
        self.0.iter().filter(alive).count()
    }

    /// Drops what is over for so long that nobody will ask why, and the oldest of too many.
    fn forget(&mut self, now: Moment) {
        self.0.retain(|token| !now.has_reached(token.expires.plus(LIFETIME)));
        let over = |token: &Token| token.used || now.has_reached(token.expires);
        while self.0.len() >= MAX_REMEMBERED {
            let Some(index) = self.0.iter().position(over) else { break };
            self.0.remove(index);
        }
    }

    fn find(&self, text: &str) -> Option<&Token> {
        self.position(text).and_then(|index| self.0.get(index))
    }

    /// Looks at every token, whichever it is.
    fn position(&self, text: &str) -> Option<usize> {
        let hash = hash(text);
        let mut found = Choice::from(0);
        let mut position = 0_u64;
        for (index, token) in (0_u64..).zip(&self.0) {
            let here = token.hash.ct_eq(&hash);
            position.conditional_assign(&index, here);
            found |= here;
        }
        bool::from(found).then(|| usize::try_from(position).ok()).flatten()
    }
}

impl Token {
    fn refusal(&self, binding: &Binding, now: Moment) -> Option<TokenRefusal> {
        let bound = &self.binding;
        if self.used {
            Some(TokenRefusal::Used)
        } else if now.has_reached(self.expires) {
            Some(TokenRefusal::Expired)
        } else if bound.caller != binding.caller {
            let documents = matches!(
                (&bound.caller, &binding.caller),
                (Caller::Page { window: one, .. }, Caller::Page { window: other, .. }) if one == other
            );
            Some(if documents { TokenRefusal::OtherDocument } else { TokenRefusal::OtherCaller })
        } else if bound.server != binding.server || bound.tool != binding.tool {
            Some(TokenRefusal::OtherTool)
        } else if bound.fingerprint != binding.fingerprint {
            Some(TokenRefusal::ServerChanged)
        } else if bound.definition != binding.definition {
            Some(TokenRefusal::DefinitionChanged)
        } else if bound.digest != binding.digest {
            Some(TokenRefusal::OtherArguments)
        } else {
            None
        }
    }
}

fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn page(document: u64) -> Caller {
        Caller::Page { window: "main".into(), document }
    }

    fn binding() -> Binding {
        Binding {
            caller: page(1),
            server: ServerId::parse("files").unwrap(),
            tool: "write".into(),
            fingerprint: "print".into(),
            definition: "def".into(),
            digest: "digest".into(),
        }
    }

    fn after(seconds: u64) -> Moment {
        let start = Moment { wall: "2026-01-01T00:00:00Z".parse().unwrap(), monotonic: Duration::from_secs(1000) };
        start.plus(Duration::from_secs(seconds))
    }

    #[test]
    fn a_token_is_good_once_for_the_call_that_was_shown() {
        let mut tokens = Tokens::default();
        let (text, expires) = tokens.issue(binding(), after(0)).unwrap();
        assert_eq!((text.len(), expires), (32, after(300).wall));
        assert_eq!(tokens.check(&text, &binding(), after(299)), TokenState::Valid);
        assert_eq!(tokens.check(&text, &binding(), after(299)), TokenState::Valid);
        tokens.consume(&text, &binding(), after(299)).unwrap();
        assert_eq!(tokens.consume(&text, &binding(), after(299)), Err(TokenRefusal::Used));
        assert_eq!(tokens.check(&text, &binding(), after(299)), TokenState::Refused(TokenRefusal::Used));
    }

    #[test]
    fn anything_that_differs_is_named_and_leaves_the_token_as_it_was() {
        use TokenRefusal::*;
        type Change = fn(&mut Binding);
        let changes: [(Change, TokenRefusal); 8] = [
            (|binding| binding.caller = page(2), OtherDocument),
            (|binding| binding.caller = Caller::Page { window: "other".into(), document: 1 }, OtherCaller),
            (|binding| binding.caller = Caller::Agent { run_id: "r".into() }, OtherCaller),
            (|binding| binding.server = ServerId::parse("other").unwrap(), OtherTool),
            (|binding| binding.tool = "read".into(), OtherTool),
            (|binding| binding.fingerprint = "x".into(), ServerChanged),
            (|binding| binding.definition = "x".into(), DefinitionChanged),
            (|binding| binding.digest = "x".into(), OtherArguments),
        ];
        let mut tokens = Tokens::default();
        let (text, _) = tokens.issue(binding(), after(0)).unwrap();
        for (change, refusal) in changes {
            let mut other = binding();
            change(&mut other);
            assert_eq!(tokens.check(&text, &other, after(1)), TokenState::Refused(refusal));
            assert_eq!(tokens.consume(&text, &other, after(1)), Err(refusal));
        }
        assert_eq!(tokens.check("", &binding(), after(1)), TokenState::Refused(Unknown));
        assert_eq!(tokens.consume(&text.to_uppercase(), &binding(), after(1)), Err(Unknown));
        tokens.consume(&text, &binding(), after(1)).unwrap();
    }

    #[test]
    fn a_token_expires_by_whichever_clock_says_so() {
        let mut tokens = Tokens::default();
        let (text, _) = tokens.issue(binding(), after(0)).unwrap();
        let asleep = Moment { monotonic: after(1).monotonic, ..after(300) };
        let set_back = Moment { wall: after(0).wall, ..after(300) };
        for now in [after(300), asleep, set_back] {
            assert_eq!(tokens.check(&text, &binding(), now), TokenState::Refused(TokenRefusal::Expired));
        }
    }

    #[test]
    fn a_reload_ends_the_tokens_of_the_document() {
        let mut tokens = Tokens::default();
        let (old, _) = tokens.issue(binding(), after(0)).unwrap();
        let (new, _) = tokens.issue(Binding { caller: page(2), ..binding() }, after(0)).unwrap();
        tokens.forget_document("main", 1);
        assert_eq!(tokens.consume(&old, &binding(), after(1)), Err(TokenRefusal::Unknown));
        tokens.consume(&new, &Binding { caller: page(2), ..binding() }, after(1)).unwrap();
    }

    #[test]
    fn sixteen_are_alive_at_most_for_each_document() {
        let mut tokens = Tokens::default();
        let mut texts = Vec::new();
        for _ in 0..MAX_ALIVE {
            texts.push(tokens.issue(binding(), after(0)).unwrap().0);
        }
        assert!(!tokens.has_room(&page(1), after(0)));
        assert!(matches!(tokens.issue(binding(), after(1)), Err(Error::RateLimited { .. })));
        assert!(tokens.issue(Binding { caller: page(2), ..binding() }, after(1)).is_ok());
        tokens.consume(texts.first().unwrap(), &binding(), after(1)).unwrap();
        assert!(tokens.has_room(&page(1), after(1)));
        assert!(tokens.issue(binding(), after(1)).is_ok());
        // When they have expired there is room for as many again.
        assert!(tokens.has_room(&page(1), after(301)));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut tokens = Tokens::default();
        for document in 0..1500 {
            let binding = Binding { caller: page(document), ..binding() };
            let (text, _) = tokens.issue(binding.clone(), after(0)).unwrap();
            tokens.consume(&text, &binding, after(0)).unwrap();
        }
        assert!(tokens.0.len() <= MAX_REMEMBERED);
        tokens.issue(binding(), after(700)).unwrap();
        assert_eq!(tokens.0.len(), 1);
    }
}
