//! Confirmations in words: a launch, a mode, a class, a definition, a rule. Two choices, and the first one changes nothing.

use super::{Language, TIME_TO_ANSWER, fact, section};
use crate::{
    approval::{
        Choice, ChoiceKind, Fact, Section, Sheet, Tone,
        inert::{block, inert, name},
    },
    model::{
        CallerKind, ToolDefinition,
        admin::{LaunchView, Variable},
    },
};

/// The sheet that confirms a launch: exactly what will run, and everything that will go to it.
pub fn launch_sheet(
    id: String,
    server_name: &str,
    launch: &LaunchView,
    difference: Option<&str>,
    language: Language,
) -> Sheet {
    let server = name(server_name);
    let heading = if difference.is_some() {
        words!(
            language,
            "The server {server} was changed. Run it like this?",
            "服务器 {server} 已被更改。要这样运行它吗？"
        )
    } else {
        words!(language, "Run the server {server} on this computer?", "要在这台电脑上运行服务器 {server} 吗？")
    };
    let mut facts = Vec::new();
    if let Some(command) = &launch.command {
        facts.push(fact(words!(language, "Command", "命令"), inert(command), Tone::Plain));
        let program = match &launch.program {
            Some(program) => inert(program),
            None => words!(language, "not found on this computer", "在这台电脑上找不到"),
        };
        facts.push(fact(words!(language, "Program", "程序"), program, Tone::Plain));
        let shown: Vec<String> =
            launch.args.iter().enumerate().map(|(at, arg)| format!("{}. {}", at + 1, inert(arg))).collect();
        facts.push(fact(words!(language, "Arguments", "参数"), or_none(&shown, language), Tone::Plain));
        if let Some(cwd) = &launch.cwd {
            facts.push(fact(words!(language, "Folder", "文件夹"), inert(cwd), Tone::Plain));
        }
    }
    if let Some(url) = &launch.url {
        facts.push(fact(words!(language, "Address", "地址"), inert(url), Tone::Plain));
    }
    let named = |variables: &[Variable]| {
        variables.iter().map(|one| format!("{} = {}", inert(&one.name), inert(&one.value))).collect::<Vec<_>>()
    };
    if launch.command.is_some() {
        facts.push(fact(
            words!(language, "Environment", "环境变量"),
            or_none(&named(&launch.env), language),
            Tone::Plain,
        ));
    }
    if !launch.headers.is_empty() {
        facts.push(fact(words!(language, "Headers", "请求头"), named(&launch.headers).join("\n"), Tone::Plain));
    }
    let receives: Vec<String> = launch.receives.iter().chain(&launch.env_passthrough).map(|one| inert(one)).collect();
    if !receives.is_empty() {
        facts.push(fact(words!(language, "It will be given", "它将得到"), receives.join("\n"), Tone::Caution));
    }
    for caution in &launch.cautions {
        facts.push(fact(words!(language, "Mind", "请注意"), inert(caution), Tone::Caution));
    }
    if launch.command.is_some() {
        facts.push(fact(
            words!(language, "What this means", "这意味着"),
            words!(
                language,
                "It runs as you, with access to your files. Confirm only what you know.",
                "它以您的身份运行，可以访问您的文件。请只确认您了解的程序。"
            ),
            Tone::Caution,
        ));
    }
    let sections = difference
        .map(|text| section(words!(language, "What changed since you confirmed it", "自您确认后的变化"), block(text)))
        .into_iter()
        .collect();
    confirmation(
        id,
        words!(language, "Confirm a server", "确认服务器"),
        heading,
        facts,
        sections,
        words!(language, "Confirm", "确认"),
        language,
    )
}

/// The sheet that confirms a wider mode, for the host or for one server.
pub fn mode_sheet(id: String, from: &str, to: &str, server: Option<&str>, language: Language) -> Sheet {
    let heading = match server {
        Some(server) => words!(
            language,
            "Change the permission mode of {} to `{to}`?",
            "将 {} 的权限模式改为 `{to}` 吗？",
            name(server)
        ),
        None => words!(language, "Change the permission mode to `{to}`?", "将权限模式改为 `{to}` 吗？"),
    };
    let meaning = match to {
        "allow" => words!(
            language,
            "Tools that you have approved once run without asking. New and changed ones still ask.",
            "您批准过一次的工具将不再询问。新工具和被更改的工具仍会询问。"
        ),
        "danger-full-access" => words!(
            language,
            "Everything runs without asking, new and changed tools too, for this run and at most 8 hours.",
            "一切都将不经询问运行，包括新的和被更改的工具；仅限本次运行，最长 8 小时。"
        ),
        _ => words!(
            language,
            "Tools that only read run without asking; everything else asks.",
            "只读工具不经询问运行，其他一切都会询问。"
        ),
    };
    let facts = vec![
        fact(words!(language, "Now", "当前"), from.to_owned(), Tone::Plain),
        fact(words!(language, "Then", "更改后"), to.to_owned(), Tone::Plain),
        fact(words!(language, "What this means", "这意味着"), meaning, Tone::Caution),
    ];
    widening(id, heading, facts, Vec::new(), language)
}

/// The sheet that confirms a class that lets more happen.
pub fn class_sheet(id: String, server: &str, tool: &str, class: &str, language: Language) -> Sheet {
    let heading = words!(
        language,
        "Class {} of {} as `{class}`?",
        "将 {1} 的 {0} 归类为 `{class}` 吗？",
        name(tool),
        name(server)
    );
    let text = words!(
        language,
        "A tool of the class `read-only` runs without asking. This counts until the server changes its definition.",
        "`read-only` 类的工具不经询问运行。在服务器更改其定义之前有效。"
    );
    widening(
        id,
        heading,
        vec![fact(words!(language, "What this means", "这意味着"), text, Tone::Caution)],
        Vec::new(),
        language,
    )
}

/// The sheet that confirms that a server's own annotations are believed.
pub fn annotations_sheet(id: String, server: &str, language: Language) -> Sheet {
    let heading =
        words!(language, "Believe what {} says about its own tools?", "要相信 {} 对自己工具的说明吗？", name(server));
    let text = words!(
        language,
        "Tools that it calls read-only run without asking. It could be wrong, or lie.",
        "它称为只读的工具将不经询问运行。它可能出错，也可能说谎。"
    );
    widening(
        id,
        heading,
        vec![fact(words!(language, "What this means", "这意味着"), text, Tone::Caution)],
        Vec::new(),
        language,
    )
}

/// The sheet that pins definitions: all of them at once on a server's first connection, or one that changed.
pub fn definition_sheet(
    id: String,
    server: &str,
    tools: &[&ToolDefinition],
    difference: Option<&str>,
    language: Language,
) -> Sheet {
    let server = name(server);
    let heading = match tools {
        [one] => words!(
            language,
            "Approve the definition of {} on {server}?",
            "批准 {server} 上 {} 的定义吗？",
            name(&one.name)
        ),
        many => words!(
            language,
            "Approve the definitions of {} tools of {server}?",
            "批准 {server} 的 {} 个工具的定义吗？",
            many.len()
        ),
    };
    let reading = tools.iter().filter(|tool| tool.hints.read_only == Some(true)).count();
    let facts = vec![
        fact(
            words!(language, "In short", "概要"),
            words!(
                language,
                "{} tools, {reading} say that they only read",
                "{} 个工具，其中 {reading} 个自称只读",
                tools.len()
            ),
            Tone::Plain,
        ),
        fact(
            words!(language, "What this means", "这意味着"),
            words!(
                language,
                "You have seen them as they are. They still ask before they run, unless a rule or the mode allows them; \
                 if the server changes one, you are shown the difference.",
                "您已看过它们的现状。除非规则或模式允许，它们运行前仍会询问；如果服务器更改其中任何一个，会向您显示差异。"
            ),
            Tone::Plain,
        ),
    ];
    let mut sections: Vec<Section> = difference
        .map(|text| section(words!(language, "What changed since you approved it", "自您批准后的变化"), block(text)))
        .into_iter()
        .collect();
    let mut all = String::new();
    for tool in tools {
        all.push_str(&name(&tool.name));
        all.push('\n');
        for line in block(tool.description.as_deref().unwrap_or_default()).lines() {
            all.push_str("    ");
            all.push_str(line);
            all.push('\n');
        }
    }
    sections.push(section(words!(language, "What the server says of them", "服务器的说明"), all));
    widening(id, heading, facts, sections, language)
}

/// A rule in the words of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in `HostRule`")]
pub struct RuleWords {
    pub effect: String,
    pub operation: String,
    pub server: Option<String>,
    pub subject: Option<String>,
    pub callers: Vec<CallerKind>,
    pub conditions: Vec<String>,
    pub expires_at: Option<String>,
}

/// The sheet that confirms a rule that allows, or (`made: false`) that one which denies or asks is taken away.
pub fn rule_sheet(id: String, rule: &RuleWords, made: bool, language: Language) -> Sheet {
    let subject = rule.subject.as_deref().map_or_else(|| words!(language, "everything", "一切"), name);
    let server = rule.server.as_deref().map_or_else(|| words!(language, "every server", "每个服务器"), name);
    let heading = if made {
        words!(language, "Allow {subject} of {server} without asking?", "要不经询问允许 {server} 的 {subject} 吗？")
    } else {
        words!(
            language,
            "Take away the rule about {subject} of {server}?",
            "要取消关于 {server} 的 {subject} 的规则吗？"
        )
    };
    let callers: Vec<&str> = rule.callers.iter().map(|kind| kind.as_str()).collect();
    let mut facts = vec![
        fact(words!(language, "Rule", "规则"), format!("{} ({})", rule.effect, rule.operation), Tone::Plain),
        fact(words!(language, "For", "适用于"), callers.join(", "), Tone::Plain),
    ];
    if !rule.conditions.is_empty() {
        let conditions: Vec<String> = rule.conditions.iter().map(|one| inert(one)).collect();
        facts.push(fact(words!(language, "Only if", "条件"), conditions.join("\n"), Tone::Plain));
    }
    let until = rule.expires_at.clone().unwrap_or_else(|| words!(language, "until you revoke it", "直到您撤销"));
    facts.push(fact(words!(language, "Counts", "有效期"), until, Tone::Plain));
    widening(id, heading, facts, Vec::new(), language)
}

fn widening(id: String, heading: String, facts: Vec<Fact>, sections: Vec<Section>, language: Language) -> Sheet {
    confirmation(
        id,
        words!(language, "Allow more", "放宽权限"),
        heading,
        facts,
        sections,
        words!(language, "Confirm", "确认"),
        language,
    )
}

fn confirmation(
    id: String,
    title: String,
    heading: String,
    facts: Vec<Fact>,
    sections: Vec<Section>,
    yes: String,
    language: Language,
) -> Sheet {
    let choice = |kind, label: String, explanation: String| Choice {
        kind,
        label,
        explanation,
        second_question: None,
        typed: None,
    };
    Sheet {
        id,
        parent: None,
        title,
        heading,
        facts,
        arguments: Vec::new(),
        sections,
        choices: vec![
            choice(
                ChoiceKind::Deny,
                words!(language, "Cancel", "取消"),
                words!(language, "Nothing changes.", "一切不变。"),
            ),
            choice(ChoiceKind::Confirm, yes, words!(language, "Exactly what is shown here.", "仅限这里显示的内容。")),
        ],
        time_to_answer: TIME_TO_ANSWER,
        time_left_label: words!(language, "Time left", "剩余时间"),
        language,
    }
}

fn or_none(lines: &[String], language: Language) -> String {
    if lines.is_empty() { words!(language, "none", "无") } else { lines.join("\n") }
}
