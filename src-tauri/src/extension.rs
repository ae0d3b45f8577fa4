//! Extensions: folders of ES modules that run in the page, as in TauriTavern. One is bundled.
//!
//! Whatever lies in the folder runs with the page's rights, which is why the page has none that matter. Files are
//! served on a scheme of their own, so that an extension's relative imports work.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::Serialize;
use tauri::{
    AppHandle, Manager, Runtime, UriSchemeContext,
    http::{Request, Response, StatusCode, header},
};

/// The scheme that extensions are imported from.
pub(crate) const SCHEME: &str = "extension";

/// The bundled extension's folder.
const BUNDLED: &str = "mcp-example";

/// The bundled extension's files.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/extension.rs"));

/// Larger than any script or picture of an extension.
const MAX_FILE: u64 = 8 * 1024 * 1024;

/// One extension, as the page imports it.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Extension {
    /// Its folder.
    name: String,
    /// The module to import.
    url: String,
    /// Its `manifest.json`, where it has one that can be read.
    manifest: Option<serde_json::Value>,
}

/// What there is to load, in the order of the names.
#[tauri::command]
#[allow(clippy::needless_pass_by_value, reason = "a command's arguments are its own")]
pub(crate) fn list_extensions<R: Runtime>(app: AppHandle<R>) -> Result<Vec<Extension>, String> {
    let folder = folder(&app).map_err(|error| error.to_string())?;
    list(&folder).map_err(|error| format!("the extensions cannot be listed: {error}"))
}

/// Writes the bundled extension into the folder, anew on each start.
pub(crate) fn install_bundled<R: Runtime>(app: &AppHandle<R>) -> Result<(), Box<dyn std::error::Error>> {
    let target = folder(app)?.join(BUNDLED);
    for (name, content) in FILES {
        let file = target.join(name);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent)?;
        }
        if fs::read(&file).ok().as_deref() != Some(*content) {
            fs::write(&file, content)?;
        }
    }
    Ok(())
}

/// Answers the scheme: a file of an extension, for the main window.
pub(crate) fn respond<R: Runtime>(context: &UriSchemeContext<'_, R>, request: &Request<Vec<u8>>) -> Response<Vec<u8>> {
    let found = if context.webview_label() == "main" {
        folder(context.app_handle()).ok().and_then(|folder| read(&folder, request.uri().path()))
    } else {
        None
    };
    let (status, mime, body) = match found {
        Some((mime, body)) => (StatusCode::OK, mime, body),
        None => (StatusCode::NOT_FOUND, "text/plain", Vec::new()),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static(mime));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, header::HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    // The page is of another scheme, and so of another origin.
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, header::HeaderValue::from_static("*"));
    response
}

fn folder<R: Runtime>(app: &AppHandle<R>) -> tauri::Result<PathBuf> {
    Ok(app.path().app_local_data_dir()?.join("extensions"))
}

fn list(folder: &Path) -> io::Result<Vec<Extension>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if !is_name(&name) || !entry.path().join("index.js").is_file() {
            continue;
        }
        let manifest = fs::read(entry.path().join("manifest.json")).ok();
        let manifest = manifest.and_then(|text| serde_json::from_slice(&text).ok());
        found.push(Extension { url: url(&name, "index.js"), name, manifest });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// Where the page finds a file: custom schemes are hosts on Windows.
fn url(name: &str, file: &str) -> String {
    if cfg!(windows) {
        format!("http://{SCHEME}.localhost/{name}/{file}")
    } else {
        format!("{SCHEME}://localhost/{name}/{file}")
    }
}

/// A name that is the same in a path, in a URL and on every system.
fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty() && name.len() <= 128 && !name.starts_with('.') && name.bytes().all(plain)
}

/// A file below `folder`, with its type. Nothing else: no other name, no way up, no link out.
fn read(folder: &Path, path: &str) -> Option<(&'static str, Vec<u8>)> {
    let mut file = folder.to_path_buf();
    for part in path.strip_prefix('/')?.split('/') {
        if !is_name(part) {
            return None;
        }
        file.push(part);
    }
    let (file, folder) = (file.canonicalize().ok()?, folder.canonicalize().ok()?);
    if !file.starts_with(folder) {
        return None;
    }
    let metadata = fs::metadata(&file).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_FILE {
        return None;
    }
    let mime = match file.extension().and_then(|extension| extension.to_str()) {
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json") => "application/json",
        Some("html") => "text/html; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        _ => "application/octet-stream",
    };
    Some((mime, fs::read(&file).ok()?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn laid_out() -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        let extensions = home.path().join("extensions");
        for folder in ["b", "a/lib", ".hidden", "without-index", "two words"] {
            fs::create_dir_all(extensions.join(folder)).unwrap();
        }
        for file in ["b/index.js", "a/index.js", "a/lib/part.js", ".hidden/index.js", "two words/index.js"] {
            fs::write(extensions.join(file), "export {};").unwrap();
        }
        fs::write(extensions.join("a/manifest.json"), r#"{"display_name":"A"}"#).unwrap();
        fs::write(home.path().join("secret.js"), "secret").unwrap();
        home
    }

    #[test]
    fn what_has_an_index_and_a_plain_name_is_listed() {
        let home = laid_out();
        let found = list(&home.path().join("extensions")).unwrap();
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(found[0].manifest, Some(serde_json::json!({ "display_name": "A" })));
        assert!(list(&home.path().join("nowhere")).unwrap().is_empty());
    }

    #[test]
    fn only_files_of_the_folder_are_served() {
        let home = laid_out();
        let folder = home.path().join("extensions");
        let (mime, body) = read(&folder, "/a/lib/part.js").unwrap();
        assert_eq!((mime, body.as_slice()), ("text/javascript; charset=utf-8", b"export {};".as_slice()));
        for path in ["/../secret.js", "/a/../../secret.js", "//secret.js", "/a", "/", "", "/a/nothing.js", "/a/%2e%2e"]
        {
            assert!(read(&folder, path).is_none(), "{path}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(home.path().join("secret.js"), folder.join("a").join("link.js")).unwrap();
            assert!(read(&folder, "/a/link.js").is_none());
        }
    }
}
