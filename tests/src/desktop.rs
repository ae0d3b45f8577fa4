//! A desktop that nobody sees: display, session bus, accessibility bus, window manager, and a home folder of its own.
//!
//! One per scenario: the accessibility socket lives in the runtime and cache folders, keychains in the home, and a
//! scenario that kills things must not trouble the next. It must never touch the display or the home of the person who
//! runs the tests, except, where asked, to show the windows on their display.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::process::{self, Guarded, Running};
use crate::{place, wait};

/// What the product must remain usable at (policy.md §8).
const SCREEN: &str = "1280x720x24";

/// How the desktop is set up.
#[derive(Clone, Debug)]
pub struct Style {
    /// Dark colours.
    pub dark: bool,
    /// The locale, as `LANG` and `LANGUAGE` say it: `en_US`, `zh_CN`.
    pub language: String,
    /// A Secret Service, unlocked.
    pub keychain: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { dark: false, language: "en_US".into(), keychain: false }
    }
}

/// The desktop. Dropping it ends everything that was started in it.
pub struct Desktop {
    // Dropped from top to bottom: first what stands on the others.
    manager: Option<Guarded>,
    keychain: Option<Guarded>,
    bus: Option<Guarded>,
    display: Option<Guarded>,
    environment: Vec<(String, String)>,
    artefacts: PathBuf,
    home: TempDir,
}

impl Desktop {
    /// Starts one; logs, screenshots and whatever is kept go to `target/e2e/NAME`.
    ///
    /// # Errors
    /// A part of it did not come up: which one, and where its log is.
    pub fn start(name: &str, style: &Style) -> Result<Self> {
        Self::start_in(&place::target().join("e2e").join(name), style)
    }

    /// The same with a folder for logs and screenshots.
    ///
    /// # Errors
    /// As [`Desktop::start`].
    pub fn start_in(artefacts: &Path, style: &Style) -> Result<Self> {
        process::adopt_orphans()?;
        if artefacts.exists() {
            fs::remove_dir_all(artefacts).with_context(|| format!("`{}` is in the way", artefacts.display()))?;
        }
        fs::create_dir_all(artefacts)?;
        // Short: socket names end at 108 bytes.
        let home = tempfile::Builder::new().prefix("mcp-e2e-").tempdir()?;
        let mut desktop = Self {
            manager: None,
            keychain: None,
            bus: None,
            display: None,
            environment: Vec::new(),
            artefacts: artefacts.to_path_buf(),
            home,
        };
        desktop.lay_home(style)?;
        desktop.start_display()?;
        desktop.start_bus()?;
        if style.keychain {
            desktop.start_keychain()?;
        }
        desktop.start_manager()?;
        Ok(desktop)
    }

    /// Its `HOME`, empty at first but for settings of the tool kit.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Where logs and screenshots go.
    pub fn artefacts(&self) -> &Path {
        &self.artefacts
    }

    /// A command that runs in this desktop, and knows nothing of another.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = process::clean_command(program);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.home());
        command
    }

    /// Starts a command of this desktop; its output goes to `LOG.log` among the artefacts.
    ///
    /// # Errors
    /// It could not be started.
    pub fn start_guarded(&self, command: &Command, log: &str) -> Result<Guarded> {
        Guarded::start(command, &self.artefacts.join(format!("{log}.log")), false)
    }

    /// Every running process that was started in this desktop, however deep or orphaned: it descends from us, and its
    /// environment or arguments name this home.
    pub fn processes(&self) -> Vec<Running> {
        let all = process::running();
        let mark = self.home().to_string_lossy().into_owned();
        process::descendants(std::process::id(), &all).into_iter().filter(|process| process.mentions(&mark)).collect()
    }

    fn lay_home(&mut self, style: &Style) -> Result<()> {
        let home = self.home.path().to_path_buf();
        let folder = |name: &str| home.join(name).to_string_lossy().into_owned();
        let encoding =
            if locale_exists(&style.language)? { format!("{}.UTF-8", style.language) } else { "C.UTF-8".into() };
        self.environment = vec![
            ("HOME".into(), home.to_string_lossy().into_owned()),
            ("XDG_CONFIG_HOME".into(), folder(".config")),
            ("XDG_DATA_HOME".into(), folder(".local/share")),
            ("XDG_STATE_HOME".into(), folder(".local/state")),
            ("XDG_CACHE_HOME".into(), folder(".cache")),
            ("XDG_RUNTIME_DIR".into(), folder("run")),
            ("TMPDIR".into(), folder("tmp")),
            ("XDG_SESSION_TYPE".into(), "x11".into()),
            ("GDK_BACKEND".into(), "x11".into()),
            ("LANG".into(), encoding),
            // gettext and our own choice of language look here first, also where that locale was never generated.
            ("LANGUAGE".into(), style.language.clone()),
            ("TZ".into(), "UTC".into()),
            // There is no GPU behind Xvfb.
            ("LIBGL_ALWAYS_SOFTWARE".into(), "1".into()),
            ("WEBKIT_DISABLE_DMABUF_RENDERER".into(), "1".into()),
        ];
        for name in [".config/gtk-3.0", ".local/share", ".local/state", ".cache", "run", "tmp"] {
            fs::create_dir_all(home.join(name))?;
        }
        fs::set_permissions(home.join("run"), fs::Permissions::from_mode(0o700))?;
        let settings = format!(
            "[Settings]\ngtk-application-prefer-dark-theme={}\ngtk-enable-animations=0\ngtk-cursor-blink=0\n",
            u8::from(style.dark)
        );
        fs::write(home.join(".config/gtk-3.0/settings.ini"), settings)?;
        Ok(())
    }

    fn start_display(&mut self) -> Result<()> {
        if std::env::var_os("MCP_E2E_HERE").is_some()
            && let Ok(display) = std::env::var("DISPLAY")
        {
            self.environment.push(("DISPLAY".into(), display));
            if let Ok(authority) = std::env::var("XAUTHORITY") {
                self.environment.push(("XAUTHORITY".into(), authority));
            }
            return Ok(());
        }
        let mut command = self.command("Xvfb");
        // It picks a free number itself and says which.
        command.args(["-displayfd", "1", "-screen", "0", SCREEN, "-nolisten", "tcp", "-noreset"]);
        let mut display = self.piped(&command, "xvfb")?;
        let number = first_line(&mut display).context("Xvfb did not start; see xvfb.log")?;
        self.environment.push(("DISPLAY".into(), format!(":{number}")));
        self.display = Some(display);
        Ok(())
    }

    fn start_bus(&mut self) -> Result<()> {
        let mut command = self.command("dbus-daemon");
        command.args(["--session", "--nofork", "--nopidfile", "--print-address=1"]);
        let mut bus = self.piped(&command, "dbus")?;
        let address = first_line(&mut bus).context("dbus-daemon did not start; see dbus.log")?;
        self.environment.push(("DBUS_SESSION_BUS_ADDRESS".into(), address));
        self.bus = Some(bus);
        Ok(())
    }

    fn start_keychain(&mut self) -> Result<()> {
        // `--unlock` reads a password from standard input: empty here.
        let mut command = self.command("sh");
        command.args(["-c", "printf '\\n' | exec gnome-keyring-daemon --unlock --foreground --components=secrets"]);
        self.keychain = Some(self.start_guarded(&command, "keychain")?);
        wait::until("a Secret Service on the session bus", wait::LONG, || {
            let mut question = self.command("dbus-send");
            question.args([
                "--session",
                "--print-reply",
                "--dest=org.freedesktop.DBus",
                "/org/freedesktop/DBus",
                "org.freedesktop.DBus.NameHasOwner",
                "string:org.freedesktop.secrets",
            ]);
            Ok(process::read_output(&mut question)?.contains("boolean true").then_some(()))
        })
    }

    fn start_manager(&mut self) -> Result<()> {
        if self.display.is_none() {
            return Ok(());
        }
        let mut command = self.command("openbox");
        command.args(["--sm-disable"]);
        self.manager = Some(self.start_guarded(&command, "openbox")?);
        wait::until("a window manager", wait::LONG, || {
            let mut question = self.command("xprop");
            question.args(["-root", "_NET_SUPPORTING_WM_CHECK"]);
            Ok(process::read_output(&mut question)?.contains("window id").then_some(()))
        })
    }

    fn piped(&self, command: &Command, log: &str) -> Result<Guarded> {
        Guarded::start(command, &self.artefacts.join(format!("{log}.log")), true)
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        self.manager.take();
        self.keychain.take();
        self.bus.take();
        // The bus started the accessibility bus and others; they are our orphans now.
        let deadline = std::time::Instant::now() + Duration::from_secs(5);
        loop {
            let left: Vec<Running> = self.processes();
            let display = self.display.as_ref().map(Guarded::id);
            let left: Vec<Running> = left.into_iter().filter(|process| Some(process.id) != display).collect();
            if left.is_empty() {
                break;
            }
            let late = std::time::Instant::now() >= deadline;
            for process in left {
                process::signal(process.id, if late { Signal::KILL } else { Signal::TERM });
            }
            if late {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        self.display.take();
    }
}

fn first_line(child: &mut Guarded) -> Result<String> {
    let output = child.take_output().context("its output is not piped")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    anyhow::ensure!(!line.trim().is_empty(), "it ended without a word: {}", child.output());
    Ok(line.trim().to_owned())
}

fn locale_exists(language: &str) -> Result<bool> {
    let known = process::read_output(Command::new("locale").arg("-a"))?;
    Ok(known.lines().any(|line| line.eq_ignore_ascii_case(&format!("{language}.utf8"))))
}
