//! From the host's events to those who may hear them: contract events to pages, an approval's only to the document
//! whose call it is, hints to the settings window.

use std::sync::Arc;

use mcp_host_core::{
    Host,
    error::Audience,
    event::HostEvent,
    model::{Caller, ServerId},
};
use tokio::sync::broadcast::error::RecvError;

use crate::{
    event::{Hint, PageEvent},
    hub::Hub,
};

/// Relays until the host is gone.
pub(crate) async fn run(host: Host, hub: Arc<Hub>) {
    let mut events = host.events();
    loop {
        match events.recv().await {
            Ok(event) => relay(&host, &hub, event),
            Err(RecvError::Lagged(lost)) => {
                tracing::warn!(lost, "events were lost; telling everything anew");
                for server in host.list_servers(Audience::Page) {
                    hub.documents.tell(&PageEvent::ServerStatusChanged { status: Box::new(server) }, None);
                }
                hub.hint(Hint::All);
            }
            Err(RecvError::Closed) => return,
        }
    }
}

fn relay(host: &Host, hub: &Hub, event: HostEvent) {
    let server_changed = |server_id: &ServerId| hub.hint(Hint::Server { server_id: server_id.clone() });
    match event {
        HostEvent::ServerStatusChanged(status) => {
            // The event carries what the person may read. A page gets its own view, or nothing.
            if let Ok(status) = host.server_status(status.id.as_str(), Audience::Page) {
                hub.documents.tell(&PageEvent::ServerStatusChanged { status: Box::new(status) }, None);
            }
            server_changed(&status.id);
        }
        HostEvent::ServerRemoved(server_id) => {
            hub.documents.tell(&PageEvent::ServerRemoved { server_id: server_id.clone() }, None);
            server_changed(&server_id);
        }
        HostEvent::ListChanged(server_id, list) => {
            hub.documents.tell(&PageEvent::list_changed(server_id.clone(), list), None);
            server_changed(&server_id);
        }
        HostEvent::ResourceUpdated(change) => hub.documents.tell_change(&change),
        HostEvent::ApprovalRequested { caller, call, server, name } => {
            if let Caller::Page { window, document } = &caller {
                let event = PageEvent::ApprovalRequested { call_id: call, server_id: server, name };
                hub.documents.tell(&event, Some((window, *document)));
            }
            hub.hint(Hint::Waiting);
        }
        HostEvent::ApprovalResolved { caller, call, server, name, outcome } => {
            if let Caller::Page { window, document } = &caller {
                let event =
                    PageEvent::ApprovalResolved { call_id: call, server_id: server, name, outcome: Some(outcome) };
                hub.documents.tell(&event, Some((window, *document)));
            }
            hub.hint(Hint::Waiting);
        }
        HostEvent::PolicyChanged => hub.hint(Hint::Policy),
    }
}
