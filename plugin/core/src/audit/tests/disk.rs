//! A full disk.

use std::{fs, path::PathBuf};

use super::*;

/// What a full disk does; run by the test below inside a file system of 64 KiB.
#[tokio::test]
#[ignore = "run by `on_a_full_disk_outcomes_fit_and_no_call_is_taken` in a small file system"]
async fn inside_a_full_disk() {
    let disk = PathBuf::from(std::env::var_os("MCP_HOST_TEST_DISK").unwrap());
    let folders = Folders::at(&disk.join("host")).unwrap();
    let key = MasterKey::open(&folders).unwrap();
    let store = crate::store::Sealed::<Vec<String>>::signed(&folders, "policy", &key);
    store
        .update(|rules| {
            rules.push("deny".to_owned());
            Ok(())
        })
        .unwrap();
    let log = AuditLog::open(options(&folders, &key, Origin::App, false));
    let mut sent = Vec::new();
    for _ in 0..2 {
        sent.push(ask(&log, "{}").unwrap().started("mode-allow", false).await.unwrap());
    }
    let filler = disk.join("filler");
    let mut size = 64 * 1024;
    let mut file = fs::File::create(&filler).unwrap();
    while size > 0 {
        if std::io::Write::write_all(&mut file, &vec![b'x'; size]).is_err() {
            size /= 2;
        }
    }
    // The last page of the log may have room for a record or two.
    let refused = (0..20).find_map(|_| match ask(&log, "{}") {
        Ok(requested) => {
            drop(requested);
            None
        }
        Err(error) => Some(error),
    });
    assert_eq!(refused.unwrap().code(), ErrorCode::AuditUnavailable);
    let error = store
        .update(|rules| {
            rules.push("x".repeat(8000));
            Ok(())
        })
        .unwrap_err();
    assert!(error.to_string().contains("free some space"), "{error}");
    assert_eq!(*store.current().unwrap().value, ["deny"], "the old store is whole");

    for sent in sent {
        let big = Raw::from_text(format!("[{}1]", "\"word\",".repeat(1000))).unwrap();
        let _ = sent.completed(Completed { structured: Some(&big), ..Completed::default() }).unwrap();
    }
    assert!(ask(&log, "{}").is_err(), "the disk is full still");
    drop(file);
    fs::remove_file(&filler).unwrap();
    drop(ask(&log, "{}").unwrap());
    log.close().unwrap();
    let report = verify(&folders, Some(&key), Target::All).unwrap();
    assert!(report.valid && report.keyed && !report.runs[0].unclean, "{report:?}");
    println!("the full disk was survived");
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_full_disk_outcomes_fit_and_no_call_is_taken() {
    let disk = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=64k tmpfs \"$MCP_HOST_TEST_DISK\" || exit 77
        exec \"$0\" --exact audit::tests::disk::inside_a_full_disk --ignored --nocapture";
    let output = std::process::Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .env("MCP_HOST_TEST_DISK", disk.path())
        .output();
    match output {
        Ok(output) if output.status.success() => {
            assert!(String::from_utf8_lossy(&output.stdout).contains("the full disk was survived"), "{output:?}");
        }
        Ok(output) if output.status.code() == Some(77) || output.stderr.starts_with(b"unshare:") => {
            eprintln!("NOT TESTED: no small file system can be mounted here: {output:?}");
        }
        Err(error) => eprintln!("NOT TESTED: `unshare` cannot be run: {error}"),
        Ok(output) => {
            panic!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
        }
    }
}
