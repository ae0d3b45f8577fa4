//! What the system tells about processes: `/proc` on Linux, nothing elsewhere (then nothing is swept and no stray found).

use super::Stray;

/// The environment variable that carries a launch's tag.
pub(super) const TAG: &str = "MCP_HOST_LAUNCH";

/// One process, as `/proc/<pid>/stat` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) pid: i32,
    pub(super) state: u8,
    pub(super) group: i32,
    /// Clock ticks since boot.
    pub(super) start: u64,
}

impl Stat {
    /// Reads a line of `/proc/<pid>/stat`. The second field is a name in parentheses and may contain anything.
    fn parse(line: &str) -> Option<Self> {
        let pid = line.split(' ').next()?.parse().ok()?;
        let mut fields = line.get(line.rfind(')')? + 1..)?.split_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        let group = fields.nth(1)?.parse().ok()?;
        let start = fields.nth(16)?.parse().ok()?;
        Some(Self { pid, state, group, start })
    }

    /// It runs or sleeps, and is not just waiting to be waited for.
    pub(super) fn lives(&self) -> bool {
        !matches!(self.state, b'Z' | b'X')
    }
}

/// One process.
pub(super) fn stat(pid: i32) -> Option<Stat> {
    // Names need not be UTF-8.
    let bytes = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    Stat::parse(&String::from_utf8_lossy(&bytes))
}

/// All processes.
pub(super) fn all() -> impl Iterator<Item = Stat> {
    let folder = std::fs::read_dir("/proc").ok();
    let pids = folder.into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(stat)
}

/// Whether a process of that number lives.
pub(super) fn is_alive(pid: i32) -> bool {
    stat(pid).is_some_and(|stat| stat.lives())
}

/// Whether anything in the group lives; `None` where the system does not tell.
pub(super) fn group_lives(group: i32) -> Option<bool> {
    cfg!(target_os = "linux").then(|| all().any(|stat| stat.group == group && stat.lives()))
}

/// When a process began; `None` where the system does not tell.
pub(super) fn start_time(pid: i32) -> Option<u64> {
    stat(pid).map(|stat| stat.start)
}

/// Which boot of the machine this is; empty where the system does not tell.
pub(super) fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// Whether a process carries the tag. Its own environment at start is looked at, which is the user's to read.
pub(super) fn has_tag(pid: i32, tag: &str) -> bool {
    let wanted = format!("{TAG}={tag}");
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
}

/// Processes that carry the tag and are not in the group.
pub(super) fn strays(tag: &str, group: i32) -> Vec<Stray> {
    let outside = all().filter(|stat| stat.group != group && stat.lives() && has_tag(stat.pid, tag));
    outside.map(|stat| Stray { pid: stat.pid, name: name(stat.pid) }).collect()
}

fn name(pid: i32) -> String {
    let name = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&name).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let line = "42 (a) S 1 (b) R 7 40 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 100 200 18446744073709551615";
        assert_eq!(Stat::parse(line), Some(Stat { pid: 42, state: b'R', group: 40, start: 98765 }));
        assert_eq!(Stat::parse("42 (a) S"), None);
        assert_eq!(Stat::parse(""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn we_live_and_carry_no_tag() {
        let me = std::process::id() as i32;
        assert!(is_alive(me));
        assert!(!has_tag(me, "0123"));
        assert!(start_time(me).is_some_and(|start| start > 0));
    }
}
