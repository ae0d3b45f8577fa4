//! Where everything is kept (policy.md §9): a folder of the *product*, never of the application it is built into.
//!
//! Applications like TauriTavern grant their page the whole of their own folders; what lies there can be read by any
//! script, whatever its mode. So the place does not depend on the application, and the plugin forbids it besides.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;

use super::file;
use crate::error::{Error, Result};

/// The name of our folder inside the user's.
const NAME: &str = "mcp-host";

/// The two folders of the product: configuration and stores, and state (logs, spilled results).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    config: PathBuf,
    state: PathBuf,
    chosen: bool,
}

impl Folders {
    /// `--config-dir` where it is given, the user's own folders otherwise. Makes nothing.
    pub fn resolve(config_dir: Option<&Path>) -> Result<Self> {
        match config_dir {
            Some(folder) => Self::at(folder),
            None => Self::standard(),
        }
    }

    /// The user's folders: `$XDG_CONFIG_HOME/mcp-host` and `$XDG_STATE_HOME/mcp-host` (also on macOS, with the usual
    /// fallbacks under `~`), `%APPDATA%\mcp-host` and `%LOCALAPPDATA%\mcp-host` on Windows.
    pub fn standard() -> Result<Self> {
        let homeless = || {
            Error::config_invalid("cannot tell where your home folder is; set `HOME`, or give a folder by --config-dir")
        };
        #[cfg(not(windows))]
        {
            let base = etcetera::base_strategy::Xdg::new().map_err(|_| homeless())?;
            let state = base.state_dir().ok_or_else(homeless)?;
            Ok(Self { config: base.config_dir().join(NAME), state: state.join(NAME), chosen: false })
        }
        #[cfg(windows)]
        {
            let base = etcetera::base_strategy::Windows::new().map_err(|_| homeless())?;
            Ok(Self { config: base.config_dir().join(NAME), state: base.cache_dir().join(NAME), chosen: false })
        }
    }

    /// Everything under one folder (`--config-dir`).
    pub fn at(folder: &Path) -> Result<Self> {
        if folder.as_os_str().is_empty() {
            return Err(Error::config_invalid("the folder given by --config-dir is empty; name one"));
        }
        let folder = std::path::absolute(folder).map_err(|error| file::cannot("find", folder, &error))?;
        Ok(Self { config: folder.clone(), state: folder, chosen: true })
    }

    /// Whether the person chose the folder (`--config-dir`): such a folder keeps its key in itself.
    pub fn is_chosen(&self) -> bool {
        self.chosen
    }

    /// servers.json, the key and the stores.
    pub fn config(&self) -> &Path {
        &self.config
    }

    /// Logs and spilled results.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The shared, hand-edited list of servers.
    pub fn servers_file(&self) -> PathBuf {
        self.config.join("servers.json")
    }

    /// Where the logs are.
    pub fn audit(&self) -> PathBuf {
        self.state.join("audit")
    }

    /// Where results too large for a model are put.
    pub fn spill(&self) -> PathBuf {
        self.state.join("spill")
    }

    /// The folders that nobody else may reach into, each once.
    pub fn roots(&self) -> impl Iterator<Item = &Path> {
        [self.config.as_path(), self.state.as_path()].into_iter().take(if self.config == self.state { 1 } else { 2 })
    }

    /// Makes the folders where they are missing (0700), closes ours to others, and removes litter of killed processes.
    ///
    /// A chosen folder that is not ours (it holds other things, or is shared like `/tmp`) keeps its mode; if others can
    /// write to it, it is refused, since they could then replace what they cannot read.
    pub fn prepare(&self) -> Result<()> {
        for root in self.roots() {
            make_private(root).map_err(|error| file::cannot("make the folder", root, &error))?;
            self.check_mode(root)?;
            file::sweep(root);
        }
        Ok(())
    }

    #[cfg(unix)]
    fn check_mode(&self, root: &Path) -> Result<()> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let cannot = |verb: &str, error: io::Error| file::cannot(verb, root, &error);
        let metadata = fs::metadata(root).map_err(|error| cannot("look at the folder", error))?;
        if !metadata.is_dir() {
            return Err(cannot("use the folder", io::Error::from(io::ErrorKind::NotADirectory)));
        }
        let me = rustix::process::geteuid().as_raw();
        let sticky = metadata.mode() & 0o1000 != 0;
        let ours = !self.chosen || (!sticky && looks_like_ours(root));
        if metadata.mode() & 0o077 != 0 && metadata.uid() == me && ours {
            match fs::set_permissions(root, fs::Permissions::from_mode(0o700)) {
                // Reading from a read-only disk is fine; what must be written fails there by itself.
                Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {}
                result => result.map_err(|error| cannot("close the folder to other users", error))?,
            }
        } else if metadata.mode() & 0o022 != 0 || (metadata.uid() != me && metadata.uid() != 0 && me != 0) {
            return Err(Error::ConfigInvalid {
                message: "other users can write to the folder, or it belongs to one; give a new or empty folder by \
                          --config-dir, or run `chmod 700` on it"
                    .to_owned(),
                path: None,
                key: None,
                allowed: Vec::new(),
                private: Some(root.display().to_string()),
            });
        }
        Ok(())
    }

    #[cfg(not(unix))]
    fn check_mode(&self, root: &Path) -> Result<()> {
        if root.is_dir() {
            Ok(())
        } else {
            Err(file::cannot("use the folder", root, &io::Error::from(io::ErrorKind::NotADirectory)))
        }
    }
}

/// Makes a folder and what is missing above it, for this user alone.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Empty, or with our files in it.
#[cfg(unix)]
fn looks_like_ours(folder: &Path) -> bool {
    let marked = ["key", "servers.json", "audit"].iter().any(|name| folder.join(name).exists());
    marked || fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_chosen_folder_holds_everything_and_is_made_private() {
        let outer = tempfile::tempdir().unwrap();
        let folders = Folders::at(&outer.path().join("new/one")).unwrap();
        folders.prepare().unwrap();
        assert_eq!(mode(folders.config()), 0o700);
        assert_eq!(folders.audit(), folders.config().join("audit"));
        assert_eq!(folders.roots().count(), 1);
    }

    #[test]
    fn an_open_folder_of_ours_is_closed_and_a_foreign_one_is_left_or_refused() {
        let outer = tempfile::tempdir().unwrap();
        let at = |name: &str, bits: u32, content: &str| {
            let path = outer.path().join(name);
            fs::create_dir(&path).unwrap();
            if !content.is_empty() {
                fs::write(path.join(content), "{}").unwrap();
            }
            fs::set_permissions(&path, fs::Permissions::from_mode(bits)).unwrap();
            (Folders::at(&path).unwrap().prepare(), path)
        };
        let (result, path) = at("empty", 0o775, "");
        assert!(result.is_ok());
        assert_eq!(mode(&path), 0o700);
        let (result, path) = at("ours", 0o755, "servers.json");
        assert!(result.is_ok());
        assert_eq!(mode(&path), 0o700);
        let (result, path) = at("project", 0o755, "Cargo.toml");
        assert!(result.is_ok());
        assert_eq!(mode(&path), 0o755, "somebody's project is not ours to close");
        let (result, path) = at("shared", 0o1777, "servers.json");
        assert!(result.unwrap_err().to_string().contains("other users can write"));
        assert_eq!(mode(&path), 0o1777);
    }

    #[test]
    fn a_file_in_place_of_the_folder_is_named() {
        let outer = tempfile::tempdir().unwrap();
        let path = outer.path().join("file");
        fs::write(&path, "").unwrap();
        assert!(Folders::at(&path).unwrap().prepare().unwrap_err().to_string().contains("`file`"));
    }
}
