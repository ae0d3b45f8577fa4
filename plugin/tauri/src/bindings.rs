//! The one description of our commands: handler and TypeScript both come from it. Page and admin are apart, so that the
//! npm package carries no admin command.

use tauri::{Runtime, ipc::Invoke};
use tauri_specta::{Builder, ErrorHandlingMode, collect_commands};

use crate::{
    PLUGIN_NAME,
    command::{admin, page},
    event::{Hint, PageEvent},
};

/// The page's commands.
pub(crate) fn page<R: Runtime>() -> Builder<R> {
    builder().typ::<PageEvent>().constant("API_VERSION", page::API_VERSION).commands(collect_commands![
        page::get_api_info,
        page::list_servers,
        page::get_server_status,
        page::connect_server,
        page::disconnect_server,
        page::list_tools,
        page::call_tool,
        page::request_approval,
        page::list_resources,
        page::list_resource_templates,
        page::read_resource,
        page::subscribe_resource,
        page::unsubscribe_resource,
        page::list_prompts,
        page::get_prompt,
        page::complete,
        page::subscribe_events,
        page::unsubscribe_events,
        page::cancel_call,
        page::open_settings::<tauri::Wry>,
    ])
}

/// The settings window's commands.
pub(crate) fn admin<R: Runtime>() -> Builder<R> {
    builder().typ::<Hint>().commands(collect_commands![
        admin::admin_get_environment,
        admin::admin_watch,
        admin::admin_get_overview,
        admin::admin_get_server,
        admin::admin_get_server_log,
        admin::admin_add_server,
        admin::admin_edit_server,
        admin::admin_remove_server,
        admin::admin_set_server_enabled,
        admin::admin_confirm_server,
        admin::admin_connect_server,
        admin::admin_disconnect_server,
        admin::admin_restart_server,
        admin::admin_pin_tools,
        admin::admin_revoke_trust,
        admin::admin_list_trust,
        admin::admin_classify_tool,
        admin::admin_set_trust_annotations,
        admin::admin_call_tool,
        admin::admin_cancel_call,
        admin::admin_list_rules,
        admin::admin_add_rule,
        admin::admin_revoke_rule,
        admin::admin_check_call,
        admin::admin_set_mode,
        admin::admin_set_paused,
        admin::admin_list_waiting,
        admin::admin_raise_waiting,
        admin::admin_cancel_waiting,
        admin::admin_query_audit,
        admin::admin_verify_audit,
    ])
}

fn builder<R: Runtime>() -> Builder<R> {
    Builder::new().plugin_name(PLUGIN_NAME).error_handling(ErrorHandlingMode::Throw).disable_serde_phases()
}

/// Answers both kinds of command.
pub(crate) fn handler<R: Runtime>() -> impl Fn(Invoke<R>) -> bool + Send + Sync + 'static {
    let (page, admin) = (page::<R>(), admin::<R>());
    move |invoke| {
        let builder = if invoke.message.command().starts_with("admin_") { &admin } else { &page };
        builder.invoke_handler()(invoke)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use specta_typescript::Typescript;

    use super::*;
    use crate::command::{ADMIN_COMMANDS, PAGE_COMMANDS};

    const HEADER: &str = "/* eslint-disable */\n// Generated from Rust. Do not edit: `cargo xtask bindings`.\n";

    fn compare(builder: &Builder<tauri::Wry>, path: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let fresh = tempfile::NamedTempFile::with_suffix(".ts").unwrap();
        builder.export(Typescript::default().header(HEADER), fresh.path()).unwrap();
        let fresh = fs::read_to_string(fresh.path()).unwrap();
        if std::env::var_os("UPDATE_BINDINGS").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &fresh).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == fresh, "{} is not what Rust says; run `cargo xtask bindings`", path.display());
    }

    #[test]
    fn the_page_bindings_are_what_rust_says() {
        compare(&page(), "../../guest-js/src/bindings.ts");
    }

    #[test]
    fn the_settings_bindings_are_what_rust_says() {
        compare(&admin(), "ui/src/bindings.ts");
    }

    fn commands_in(bindings: &str) -> BTreeSet<String> {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(bindings)).unwrap();
        text.split("plugin:mcp-host|").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
    }

    fn granted_in(permissions: &str) -> BTreeSet<String> {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(permissions)).unwrap();
        text.lines()
            .filter_map(|line| line.trim().strip_prefix("\"allow-"))
            .map(|rest| rest.trim_end_matches("\",").replace('-', "_"))
            .collect()
    }

    #[test]
    fn commands_bindings_and_permissions_name_the_same() {
        let listed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(commands_in("../../guest-js/src/bindings.ts"), listed(PAGE_COMMANDS));
        assert_eq!(granted_in("permissions/default.toml"), listed(PAGE_COMMANDS));
        assert_eq!(commands_in("ui/src/bindings.ts"), listed(ADMIN_COMMANDS));
        assert_eq!(granted_in("permissions/admin.toml"), listed(ADMIN_COMMANDS));

        let files: BTreeSet<String> =
            fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("permissions/autogenerated/commands"))
                .unwrap()
                .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
                .collect();
        let all: Vec<&str> = PAGE_COMMANDS.iter().chain(ADMIN_COMMANDS).copied().collect();
        assert_eq!(files, listed(&all), "a command that went has left its permission file behind");
    }

    #[test]
    fn what_a_page_may_call_and_what_the_person_may_do_are_apart() {
        assert!(PAGE_COMMANDS.iter().all(|name| !name.starts_with("admin_")));
        assert!(ADMIN_COMMANDS.iter().all(|name| name.starts_with("admin_")));
    }
}
