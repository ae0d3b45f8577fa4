//! The log as a whole: what is in it, what becomes of it, what is noticed when somebody touches it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    query,
    verify::{Finding, FindingKind, Report, Target, verify},
    *,
};
use crate::{
    clock::SystemClock,
    error::{Error, ErrorCode},
    model::{CallId, Caller, CallerKind, Raw, ServerId, admin::AuditFilter, json},
    store::{Folders, MasterKey},
};

mod disk;
mod read;
mod run;
mod tamper;

struct Place {
    _outer: tempfile::TempDir,
    folders: Folders,
    key: MasterKey,
}

impl Place {
    fn new() -> Self {
        let outer = tempfile::tempdir().unwrap();
        let folders = Folders::at(&outer.path().join("host")).unwrap();
        let key = MasterKey::open(&folders).unwrap();
        Self { _outer: outer, folders, key }
    }

    fn log(&self, origin: Origin) -> AuditLog {
        self.rotating(origin, u64::MAX)
    }

    fn rotating(&self, origin: Origin, rotate_at: u64) -> AuditLog {
        AuditLog::with_rotation(self.options(origin, false), rotate_at)
    }

    fn options(&self, origin: Origin, full: bool) -> AuditOptions {
        options(&self.folders, &self.key, origin, full)
    }

    fn audit(&self) -> PathBuf {
        self.folders.audit()
    }

    /// The file names, sorted.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = match fs::read_dir(self.audit()) {
            Ok(entries) => entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect(),
            Err(_) => Vec::new(),
        };
        names.sort();
        names
    }

    /// The one log there is.
    fn only(&self) -> PathBuf {
        let logs: Vec<_> =
            self.names().into_iter().filter(|name| name.ends_with(".jsonl") && name != "runs.jsonl").collect();
        assert_eq!(logs.len(), 1, "{logs:?}");
        self.audit().join(&logs[0])
    }

    fn verify(&self) -> Report {
        verify(&self.folders, Some(&self.key), Target::All).unwrap()
    }
}

fn lines(path: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn types(path: &Path) -> Vec<String> {
    lines(path).iter().map(|line| line["event_type"].as_str().unwrap().to_owned()).collect()
}

fn kinds(report: &Report) -> Vec<FindingKind> {
    report.runs.iter().flat_map(|run| &run.failures).map(|failure| failure.kind).collect()
}

fn files() -> ServerId {
    ServerId::parse("files").unwrap()
}

fn ask(log: &AuditLog, text: &str) -> Result<Requested, Error> {
    let json::Value::Object(arguments) = json::parse(text.as_bytes(), json::Limits::ARGUMENTS).unwrap() else {
        panic!()
    };
    let server = files();
    let subject =
        Subject::Call { server: &server, tool: "write", arguments: Some(&arguments), definition_hash: Some("abc") };
    log.requested(&CallId::random().unwrap(), &Caller::Cli, subject, Some(&"5".repeat(64)))
}

fn denied() -> Error {
    Error::PolicyDenied {
        server: Some(files()),
        rule: "needs-approval".to_owned(),
        message: format!("no; allow it by --approve-scoped write:{}", "5".repeat(64)),
        digest: Some("5".repeat(64)),
    }
}

/// One run with a denied and an allowed call.
async fn run(place: &Place) -> String {
    let log = place.log(Origin::App);
    let _ = ask(&log, "{}").unwrap().blocked(Refusal::Denied, "needs-approval", &denied()).unwrap();
    let sent = ask(&log, r#"{"path":"a"}"#).unwrap().started("mode-allow", false).await.unwrap();
    let _ = sent.completed(Completed::default()).unwrap();
    let run_id = log.run_id().unwrap();
    log.close().unwrap();
    run_id
}

/// The folder as a SIGKILL at this moment would leave it: same bytes, and nobody holds a lock.
fn killed(place: &Place) -> Place {
    let outer = tempfile::tempdir().unwrap();
    let folders = Folders::at(&outer.path().join("host")).unwrap();
    folders.prepare().unwrap();
    fs::create_dir(folders.audit()).unwrap();
    fs::copy(place.folders.config().join("key"), folders.config().join("key")).unwrap();
    for name in place.names() {
        fs::copy(place.audit().join(&name), folders.audit().join(&name)).unwrap();
    }
    Place { _outer: outer, folders, key: place.key.clone() }
}

fn options(folders: &Folders, key: &MasterKey, origin: Origin, full: bool) -> AuditOptions {
    AuditOptions {
        folders: folders.clone(),
        key: key.clone(),
        clock: SystemClock::shared(),
        origin,
        transport: "stdio".to_owned(),
        mode: "prompt".to_owned(),
        full,
    }
}
