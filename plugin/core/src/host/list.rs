//! Lists: fetched once for everybody, served from the cache, refreshed when the server says so, never in a storm.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{
    Inner,
    connect::Want,
    server::{List, Server},
};
use crate::{
    audit::Event,
    error::{Error, Result},
    event::{HostEvent, ListKind},
    model::{Caller, PromptSummary, ResourceSummary, ResourceTemplateSummary, ToolDefinition},
    session::{Listed, RequestOptions, Session},
};

/// Between two refreshes of one list.
const REFRESH_PAUSE: Duration = Duration::from_millis(500);

/// What one fetch brought, and as of when.
#[derive(Debug)]
pub(super) struct Fetched<T> {
    /// The connection that was asked.
    generation: u64,
    /// How often the server had said that the list changed.
    changes: u64,
    list: Result<Arc<Listed<T>>>,
}

/// How one kind of list is fetched and kept. The four kinds differ in nothing else.
trait Kind: Sized + Send + Sync + 'static {
    const KIND: ListKind;
    fn list(server: &Server) -> &List<Self>;
    fn is_declared(session: &Session) -> bool;
    fn fetch(session: &Session) -> impl Future<Output = Result<Listed<Self>>> + Send;
    /// Whether two of them are the same as far as anybody can see.
    fn same(a: &Self, b: &Self) -> bool;
    /// What else is kept of a new list.
    fn kept(_server: &Server, _list: &Listed<Self>) {}
}

impl Kind for ToolDefinition {
    const KIND: ListKind = ListKind::Tools;
    fn list(server: &Server) -> &List<Self> {
        &server.tools
    }
    fn is_declared(session: &Session) -> bool {
        session.handshake().capabilities.tools == Some(true)
    }
    async fn fetch(session: &Session) -> Result<Listed<Self>> {
        session.list_tools(RequestOptions::default()).await
    }
    fn same(a: &Self, b: &Self) -> bool {
        a.hash == b.hash && a.name == b.name && a.quarantined == b.quarantined
    }
    fn kept(server: &Server, list: &Listed<Self>) {
        server.index_tools(list);
    }
}

impl Kind for ResourceSummary {
    const KIND: ListKind = ListKind::Resources;
    fn list(server: &Server) -> &List<Self> {
        &server.resources
    }
    fn is_declared(session: &Session) -> bool {
        session.handshake().capabilities.resources == Some(true)
    }
    async fn fetch(session: &Session) -> Result<Listed<Self>> {
        session.list_resources(RequestOptions::default()).await
    }
    fn same(a: &Self, b: &Self) -> bool {
        a == b
    }
}

impl Kind for ResourceTemplateSummary {
    const KIND: ListKind = ListKind::Resources;
    fn list(server: &Server) -> &List<Self> {
        &server.templates
    }
    fn is_declared(session: &Session) -> bool {
        session.handshake().capabilities.resources == Some(true)
    }
    async fn fetch(session: &Session) -> Result<Listed<Self>> {
        session.list_resource_templates(RequestOptions::default()).await
    }
    fn same(a: &Self, b: &Self) -> bool {
        a == b
    }
}

impl Kind for PromptSummary {
    const KIND: ListKind = ListKind::Prompts;
    fn list(server: &Server) -> &List<Self> {
        &server.prompts
    }
    fn is_declared(session: &Session) -> bool {
        session.handshake().capabilities.prompts == Some(true)
    }
    async fn fetch(session: &Session) -> Result<Listed<Self>> {
        session.list_prompts(RequestOptions::default()).await
    }
    fn same(a: &Self, b: &Self) -> bool {
        a == b
    }
}

impl Inner {
    pub(super) async fn tools(
        self: &Arc<Self>,
        server: &Arc<Server>,
        caller: &Caller,
        cancel: &CancellationToken,
    ) -> Result<Arc<Listed<ToolDefinition>>> {
        self.list(server, caller, cancel).await
    }

    pub(super) async fn resources(
        self: &Arc<Self>,
        server: &Arc<Server>,
        caller: &Caller,
        cancel: &CancellationToken,
    ) -> Result<Arc<Listed<ResourceSummary>>> {
        self.list(server, caller, cancel).await
    }

    pub(super) async fn templates(
        self: &Arc<Self>,
        server: &Arc<Server>,
        caller: &Caller,
        cancel: &CancellationToken,
    ) -> Result<Arc<Listed<ResourceTemplateSummary>>> {
        self.list(server, caller, cancel).await
    }

    pub(super) async fn prompts(
        self: &Arc<Self>,
        server: &Arc<Server>,
        caller: &Caller,
        cancel: &CancellationToken,
    ) -> Result<Arc<Listed<PromptSummary>>> {
        self.list(server, caller, cancel).await
    }

    /// The list of a connected server; of one that is not, the last known of this run.
    async fn list<T: Kind>(
        self: &Arc<Self>,
        server: &Arc<Server>,
        caller: &Caller,
        cancel: &CancellationToken,
    ) -> Result<Arc<Listed<T>>> {
        let session = match self.connect(server, Want::List(caller.kind()), cancel).await {
            Ok(session) => session,
            Err(error @ (Error::NotConnected { .. } | Error::LaunchFailed { .. } | Error::RateLimited { .. })) => {
                return T::list(server).last().ok_or(error);
            }
            Err(error) => return Err(error),
        };
        tokio::select! {
            list = self.up_to_date(server, &session) => list,
            () = cancel.cancelled() => {
                Err(Error::Cancelled { server: Some(server.id.clone()), what: format!("listing `{}`", server.id), sent: true })
            }
        }
    }

    async fn up_to_date<T: Kind>(
        self: &Arc<Self>,
        server: &Arc<Server>,
        session: &Arc<Session>,
    ) -> Result<Arc<Listed<T>>> {
        if !T::is_declared(session) {
            return Ok(Arc::new(nothing()));
        }
        if let Some(list) = T::list(server).fresh(session.generation()) {
            return Ok(list);
        }
        let wanted = T::list(server).changes();
        loop {
            let (inner, of, over) = (self.clone(), server.clone(), session.clone());
            let fetch = || async move {
                let changes = T::list(&of).changes();
                Arc::new(Fetched {
                    generation: over.generation(),
                    changes,
                    list: inner.fetch_list::<T>(&of, &over, changes).await,
                })
            };
            let Some(fetched) = T::list(server).flight.join(fetch).await else {
                return Err(Error::internal("the task that lists ended"));
            };
            // A run that began before the change, or over an older connection, is not the one that is wanted.
            if fetched.generation >= session.generation() && fetched.changes >= wanted {
                return fetched.list.clone();
            }
        }
    }

    async fn fetch_list<T: Kind>(
        self: &Arc<Self>,
        server: &Arc<Server>,
        session: &Session,
        changes: u64,
    ) -> Result<Arc<Listed<T>>> {
        let list = match T::fetch(session).await {
            // It declared the capability and does not know the method: it has none.
            Err(Error::ServerError { jsonrpc_code: -32601, .. }) => nothing(),
            outcome => outcome?,
        };
        let list = Arc::new(list);
        T::kept(server, &list);
        let before = T::list(server).keep(list.clone(), session.generation(), changes);
        let changed = before.as_ref().is_none_or(|before| {
            before.items.len() != list.items.len() || !before.items.iter().zip(&list.items).all(|(a, b)| T::same(a, b))
        });
        if changed {
            self.list_changed::<T>(server, before.is_some());
        }
        Ok(list)
    }

    fn list_changed<T: Kind>(self: &Arc<Self>, server: &Arc<Server>, known_before: bool) {
        if T::KIND == ListKind::Tools {
            self.tools_listed(server);
        }
        if known_before {
            self.emit(HostEvent::ListChanged(server.id.clone(), T::KIND));
        }
    }

    /// The tools are wanted at once by nearly everybody: their number, their permissions, their cost.
    pub(super) fn refresh_after_connect(self: &Arc<Self>, server: &Arc<Server>, session: &Arc<Session>) {
        self.refresh(server, session, ListKind::Tools);
    }

    /// Fetches a list anew in the background: one running and one waiting at most, half a second apart.
    pub(super) fn refresh(self: &Arc<Self>, server: &Arc<Server>, session: &Arc<Session>, kind: ListKind) {
        let (inner, server, session) = (self.clone(), server.clone(), session.clone());
        if !server.state().refreshes.begin(kind) {
            return;
        }
        tokio::spawn(async move {
            loop {
                let rest = server.state().refreshes.rest(kind, inner.clock.monotonic(), REFRESH_PAUSE);
                inner.clock.sleep(rest).await;
                // From here on another "changed" means another fetch.
                server.state().refreshes.fetching(kind, inner.clock.monotonic());
                server.outdate(kind);
                if let Err(error) = inner.fetch(&server, &session, kind).await {
                    tracing::debug!(server = %server.id, %error, "a list could not be refreshed");
                }
                if !session.is_open() || !server.state().refreshes.again(kind) {
                    server.state().refreshes.end(kind);
                    return;
                }
            }
        });
    }

    async fn fetch(self: &Arc<Self>, server: &Arc<Server>, session: &Arc<Session>, kind: ListKind) -> Result<()> {
        match kind {
            ListKind::Tools => self.up_to_date::<ToolDefinition>(server, session).await.map(drop),
            ListKind::Prompts => self.up_to_date::<PromptSummary>(server, session).await.map(drop),
            // Nobody may ever want them: only what was listed before is listed again.
            ListKind::Resources => {
                if server.resources.last().is_some() {
                    self.up_to_date::<ResourceSummary>(server, session).await?;
                }
                if server.templates.last().is_some() {
                    self.up_to_date::<ResourceTemplateSummary>(server, session).await?;
                }
                Ok(())
            }
        }
    }

    /// Compares a new list of tools with what is pinned, and writes down what is new, changed and gone.
    fn tools_listed(self: &Arc<Self>, server: &Arc<Server>) {
        let Some(list) = server.tools.last() else { return };
        let counts = self.rulebook.compare(&server.id, &list.items);
        self.note(&Event::tools_listed(&server.id, list.items.len(), counts.unseen, counts.changed, counts.gone));
        self.policy_has_changed();
        self.status_changed(server);
    }
}

fn nothing<T>() -> Listed<T> {
    Listed { items: Vec::new(), cut: false, diagnostics: Vec::new() }
}
