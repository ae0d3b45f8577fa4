//! Our folders are out of every page's reach: forbidden in the asset protocol's scope and the fs plugin's, before the
//! host opens. A scope that would still give them out keeps the host shut (policy.md §9).
//!
//! Applications like TauriTavern grant their page the whole of their own folders, so whether ours can be read is a
//! question of where they are and of what an integrator granted. Both can be wrong; this looks.

use std::path::{Path, PathBuf};

use mcp_host_core::{
    error::{Error, Result},
    store::Folders,
};
use tauri::{AppHandle, Manager, Runtime, scope::fs::Scope};
use tauri_plugin_fs::FsExt;

/// Forbids our folders to pages, and makes sure that it worked.
pub(crate) fn close<R: Runtime>(app: &AppHandle<R>, folders: &Folders) -> Result<()> {
    let mut scopes = vec![("asset protocol", app.asset_protocol_scope())];
    if let Some(scope) = app.try_fs_scope() {
        scopes.push(("fs plugin", scope));
    }
    for (name, scope) in scopes {
        shut(&scope, folders).map_err(|problem| Error::ConfigInvalid {
            message: format!(
                "the application's {name} would let a page read this host's own files ({problem}); give the host another folder, or narrow the scope"
            ),
            path: None,
            key: None,
            allowed: Vec::new(),
            private: folders.roots().map(|root| root.display().to_string()).next(),
        })?;
    }
    Ok(())
}

fn shut(scope: &Scope, folders: &Folders) -> Result<(), String> {
    for root in folders.roots() {
        scope.forbid_directory(root, true).map_err(|error| error.to_string())?;
    }
    match readable(scope, folders) {
        None => Ok(()),
        Some(path) => Err(path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()),
    }
}

/// A file of ours that the scope gives out.
fn readable(scope: &Scope, folders: &Folders) -> Option<PathBuf> {
    let files = [
        folders.servers_file(),
        folders.config().join("key"),
        folders.config().join("secrets"),
        folders.audit().join("host-0.jsonl"),
        folders.spill().join("run").join("1.png"),
        crate::settings::data_folder(folders).join("storage").join("local.db"),
        // The program's own test of a scope resolves links; a name that is new is looked at as it is.
        folders.config().join("a new file"),
    ];
    let roots = folders.roots().map(Path::to_path_buf);
    files.into_iter().chain(roots).find(|path| scope.is_allowed(path))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tauri::{test::mock_app, utils::config::FsScope};

    use super::*;

    fn scope(allowed: &Path) -> Scope {
        let app = mock_app();
        Scope::new(app.handle(), &FsScope::AllowedPaths(vec![allowed.join("**")])).unwrap()
    }

    #[test]
    fn a_scope_over_everything_gives_out_nothing_of_ours() {
        let home = tempfile::tempdir().unwrap();
        let folders = Folders::at(&home.path().join("app [1]").join("mcp-host")).unwrap();
        let scope = scope(home.path());
        let other = home.path().join("app [1]").join("own.txt");
        assert!(scope.is_allowed(&other), "the control");
        assert!(readable(&scope, &folders).is_some(), "before");
        shut(&scope, &folders).unwrap();
        assert_eq!(readable(&scope, &folders), None);
        assert!(scope.is_allowed(&other), "what is not ours is left alone");
        // What a page is granted later does not open them either.
        scope.allow_directory(folders.config(), true).unwrap();
        scope.allow_file(folders.servers_file()).unwrap();
        assert_eq!(readable(&scope, &folders), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_behind_a_link_is_shut_under_both_names() {
        let home = tempfile::tempdir().unwrap();
        let real = home.path().join("real");
        std::fs::create_dir_all(real.join("mcp-host")).unwrap();
        std::os::unix::fs::symlink(&real, home.path().join("link")).unwrap();
        let scope = scope(home.path());
        let through_link = Folders::at(&home.path().join("link").join("mcp-host")).unwrap();
        shut(&scope, &through_link).unwrap();
        for root in ["link", "real"] {
            let folders = Folders::at(&home.path().join(root).join("mcp-host")).unwrap();
            std::fs::write(folders.servers_file(), "{}").unwrap();
            assert_eq!(readable(&scope, &folders), None, "{root}");
        }
    }
}
