//! rmcp: the handshake, the ids, the cancellations, the answers to what a server asks.
//!
//! The only file that sends on an rmcp peer, and the only one that knows rmcp's types. rmcp never sees a value of the
//! server: requests go out under its ids with bytes of ours (a [`Ticket`] rides in the request's extensions), answers go
//! to their tickets, and rmcp is told only that they came.

#![expect(deprecated, reason = "servers of all revisions up to 2025-11-25 ask for roots")]

use std::{convert::Infallible, future::Future, sync::Arc};

use rmcp::{
    model::{
        CancelledNotification, CancelledNotificationParam, ClientCapabilities, ClientConfig, ClientNotification,
        ClientRequest, ClientResult, CustomRequest, ErrorCode, ErrorData, GetExtensions as _, GetMeta as _,
        Implementation, InitializeResult, JsonRpcMessage, ListRootsRequest, ListRootsResult, NumberOrString,
        PingRequest, ProgressToken, ProtocolVersion, RequestId, RootsCapabilities, ServerCapabilities,
        ServerNotification, ServerRequest, ServerResult,
    },
    service::{
        ClientLifecycleMode, NotificationContext, Peer, PeerRequestOptions, RequestContext, RequestHandle, RoleClient,
        RunningService, RxJsonRpcMessage, Service, TxJsonRpcMessage, serve_client_with_lifecycle_and_ct,
    },
    transport::Transport,
};
use tokio_util::sync::CancellationToken;

use super::{
    connect::Root,
    exchange::{Exchange, Signal, Ticket},
    wire::Id,
};

/// A running rmcp client. Dropping it ends rmcp's task.
#[derive(Debug)]
pub(super) struct Engine {
    peer: Peer<RoleClient>,
    runtime: tokio::runtime::Handle,
    _running: RunningService<RoleClient, Answers>,
}

impl Engine {
    /// Shakes hands. There is no time limit here; the exchange knows why it failed.
    pub(super) async fn start(exchange: Exchange, roots: Vec<Root>, stop: CancellationToken) -> Result<Self, String> {
        let link = Link(exchange);
        let running = serve_client_with_lifecycle_and_ct(
            Answers { roots: roots.into() },
            link,
            ClientLifecycleMode::Initialize,
            stop,
        )
        .await
        .map_err(|error| error.to_string())?;
        let peer = running.peer().clone();
        Ok(Self { peer, runtime: tokio::runtime::Handle::current(), _running: running })
    }

    /// Hands a request over; `None` = the connection is over.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that sends")]
    pub(super) async fn send(&self, ticket: Arc<Ticket>) -> Option<InFlight> {
        let mut request = CustomRequest::new(ticket.method, None);
        request.extensions.insert(Rider(ticket));
        let request = ClientRequest::CustomRequest(request);
        let handle = self.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await.ok()?;
        Some(InFlight { handle, runtime: self.runtime.clone() })
    }
}

/// What rmcp knows of a request on its way.
#[derive(Debug)]
pub(super) struct InFlight {
    handle: RequestHandle<RoleClient>,
    runtime: tokio::runtime::Handle,
}

impl InFlight {
    /// The answer came: waits until rmcp has heard of it too.
    pub(super) async fn settle(self) {
        let _ = self.handle.rx.await;
    }

    /// Nobody waits for the answer any more. The server is told, if it can know of the request. Does not wait; may be
    /// called anywhere, also where there is no runtime.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that sends")]
    pub(super) fn take_back(self, reason: &'static str) {
        let handle = self.handle;
        self.runtime.spawn(async move {
            let _ = handle.cancel(Some(reason.to_owned())).await;
        });
    }
}

/// A ticket on its way through rmcp.
#[derive(Clone)]
struct Rider(Arc<Ticket>);

/// rmcp's transport, on top of an exchange. Sending only queues, so nothing here can block.
struct Link(Exchange);

impl Transport<RoleClient> for Link {
    type Error = Infallible;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        match &item {
            JsonRpcMessage::Request(message) => {
                let RequestId::Number(id) = message.id else { return std::future::ready(Ok(())) };
                match message.request.extensions().get::<Rider>() {
                    Some(Rider(ticket)) => {
                        // One number for both: the server's progress then names its request.
                        let mut meta = message.request.get_meta().clone();
                        meta.set_progress_token(ProgressToken(NumberOrString::Number(id)));
                        self.0.submit(id, encode(&meta), Arc::clone(ticket));
                    }
                    None => self.0.greet(id, encode(&item).into()),
                }
            }
            JsonRpcMessage::Notification(message) => match &message.notification {
                ClientNotification::CancelledNotification(CancelledNotification {
                    params: CancelledNotificationParam { request_id: Some(RequestId::Number(id)), .. },
                    ..
                }) => self.0.take_back(*id, encode(&item).into()),
                _ => self.0.tell(encode(&item).into()),
            },
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => self.0.reply(encode(&item).into()),
        }
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = match self.0.next_signal().await? {
            Signal::Welcomed { id, protocol_version } => {
                let known = ProtocolVersion::KNOWN_VERSIONS.iter().find(|known| known.as_str() == protocol_version);
                let result = InitializeResult::new(ServerCapabilities::default())
                    .with_protocol_version(known.cloned().unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE));
                JsonRpcMessage::response(ServerResult::InitializeResult(result), RequestId::Number(id))
            }
            Signal::Settled(id) => JsonRpcMessage::response(ServerResult::empty(()), RequestId::Number(id)),
            Signal::Asked { id, method } => JsonRpcMessage::request(question(method), request_id(id)),
        };
        Some(message)
    }

    /// The carrier has its own end.
    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Without params: of what we answer, nothing depends on them.
fn question(method: String) -> ServerRequest {
    match method.as_str() {
        "ping" => ServerRequest::PingRequest(PingRequest::default()),
        "roots/list" => ServerRequest::ListRootsRequest(ListRootsRequest::default()),
        _ => ServerRequest::CustomRequest(CustomRequest::new(method, None)),
    }
}

fn request_id(id: Id) -> RequestId {
    match id {
        Id::Number(number) => RequestId::Number(number),
        Id::Text(text) => RequestId::String(text.into()),
    }
}

/// rmcp's own messages are plain data, which always has a JSON text.
fn encode(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// What a server gets for its questions: an answer to `ping`, the roots, and else a refusal.
#[derive(Debug)]
struct Answers {
    roots: Arc<[Root]>,
}

impl Service<RoleClient> for Answers {
    async fn handle_request(
        &self,
        request: ServerRequest,
        _: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        match request {
            ServerRequest::PingRequest(_) => Ok(ClientResult::empty(())),
            ServerRequest::ListRootsRequest(_) => {
                let roots = self.roots.iter().map(|root| {
                    let shown = rmcp::model::Root::new(root.uri.clone());
                    match &root.name {
                        Some(name) => shown.with_name(name.clone()),
                        None => shown,
                    }
                });
                Ok(ClientResult::ListRootsResult(ListRootsResult::new(roots.collect())))
            }
            ServerRequest::CustomRequest(request) => Err(refusal(format!("`{}` is not offered", request.method))),
            _ => Err(refusal("not offered".to_owned())),
        }
    }

    async fn handle_notification(
        &self,
        _: ServerNotification,
        _: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        if !self.roots.is_empty() {
            capabilities.roots = Some(RootsCapabilities::default());
        }
        let us = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).with_title("MCP host");
        // rmcp's own default is a revision that has no `initialize`.
        ClientConfig::new(capabilities, us).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

fn refusal(message: String) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}
