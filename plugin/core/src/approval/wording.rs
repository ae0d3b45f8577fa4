//! Questions in words, in the person's language: the only place that words a [`Sheet`].
//!
//! Every text of a stranger passes `inert` here, and stands in quotes or under a label that says whose it is.

macro_rules! words {
    ($language:expr, $english:literal, $chinese:literal $(, $($argument:tt)*)?) => {
        match $language {
            Language::English => format!($english $(, $($argument)*)?),
            Language::SimplifiedChinese => format!($chinese $(, $($argument)*)?),
        }
    };
}

mod confirm;

use std::time::Duration;

use super::{
    ArgumentRow, Choice, ChoiceKind, Fact, Language, Section, Sheet, Tone,
    inert::{block, inert, line, name},
};
use crate::model::{Caller, CallerKind, Hints, Operation, OperationKind, json};

pub use confirm::{RuleWords, annotations_sheet, class_sheet, definition_sheet, launch_sheet, mode_sheet, rule_sheet};

/// Two minutes from being shown.
const TIME_TO_ANSWER: Duration = Duration::from_secs(120);

/// Why a question is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No rule allows it yet.
    NeedsApproval,
    /// This definition was never approved.
    Unseen,
    /// The definition is another than the approved one; the difference in lines.
    Changed(String),
    /// A rule of the person's says to ask.
    AskRule(String),
    /// The person marked the tool as costly.
    Costly,
    /// The arguments point into the host's own folders.
    TouchesHost,
}

/// Which "yes" is on offer besides "once".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// Until the host ends.
    pub session: bool,
    /// Always, for exactly this.
    pub exact: bool,
    /// Always, under these conditions (in words).
    pub conditions: Option<Vec<String>>,
    /// Always, for the whole tool (or everything the server lists).
    pub tool: bool,
}

/// A question about an operation.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// The id that the question will have.
    pub id: String,
    /// Who asks.
    pub caller: &'a Caller,
    /// The person's own name for the server.
    pub server_name: &'a str,
    /// What is asked.
    pub operation: &'a Operation,
    /// Why the person is asked.
    pub reason: Reason,
    /// What may be offered.
    pub offers: Offers,
}

/// The sheet for an operation that needs a yes.
pub fn operation_sheet(asked: &Asked<'_>, language: Language) -> Sheet {
    let server = name(asked.server_name);
    let who = who(asked.caller, language);
    let (target, heading) = heading(asked, &who, &server, language);
    let mut facts = vec![
        fact(words!(language, "Who asks", "请求者"), who, Tone::Plain),
        fact(
            words!(language, "Server", "服务器"),
            words!(language, "{server} (id `{id}`)", "{server}（标识 `{id}`）", id = asked.operation.server()),
            Tone::Plain,
        ),
    ];
    let mut sections = Vec::new();
    let mut arguments = Vec::new();
    let mut destructive = false;
    match asked.operation {
        Operation::CallTool { tool, arguments: given, .. } => {
            facts.push(fact(words!(language, "Tool", "工具"), target.clone(), Tone::Plain));
            destructive = tool.hints.read_only != Some(true) && tool.hints.destructive != Some(false);
            let (ability, tone) = ability(tool.hints, language);
            facts.push(fact(words!(language, "It can", "它可以"), ability, tone));
            if let Some(title) = tool.title.as_deref().filter(|title| !title.is_empty()) {
                facts.push(fact(
                    words!(language, "The server's title", "服务器给的标题"),
                    line(title, 200),
                    Tone::Untrusted,
                ));
            }
            if let Some(text) = tool.description.as_deref().filter(|text| !text.is_empty()) {
                facts.push(fact(words!(language, "The server says", "服务器的说明"), line(text, 600), Tone::Untrusted));
                if text.chars().count() > 600 {
                    let text: String = text.chars().take(40_000).collect();
                    sections.push(section(
                        words!(language, "The server's whole description", "服务器的完整说明"),
                        block(&text),
                    ));
                }
            }
            arguments = given.value.iter().map(|(key, value)| argument_row(key, value, language)).collect();
            let whole = json::Value::Object((*given.value).clone()).pretty();
            sections.insert(0, section(words!(language, "All arguments", "全部参数"), block(&whole)));
        }
        Operation::ReadResource { uri, .. } | Operation::Subscribe { uri, .. } => {
            facts.push(fact(words!(language, "Address", "地址"), inert(uri), Tone::Untrusted));
        }
        Operation::GetPrompt { arguments: given, .. } => {
            facts.push(fact(words!(language, "Prompt", "提示词"), target.clone(), Tone::Plain));
            arguments = given
                .iter()
                .map(|(key, value)| argument_row(key, &json::Value::String(value.clone()), language))
                .collect();
        }
        Operation::Complete { .. } | Operation::Connect { .. } => {}
    }
    facts.push(why(&asked.reason, language));
    if let Reason::Changed(difference) = &asked.reason {
        sections.insert(
            0,
            section(words!(language, "What changed since you approved it", "自您批准后的变化"), block(difference)),
        );
    }
    Sheet {
        id: asked.id.clone(),
        parent: parent(asked.caller),
        title: words!(language, "Permission needed", "需要您的许可"),
        heading,
        facts,
        arguments,
        sections,
        choices: choices(asked, &target, &server, destructive, language),
        time_to_answer: TIME_TO_ANSWER,
        time_left_label: words!(language, "Time left", "剩余时间"),
        language,
    }
}

/// Who asks, in words.
pub fn who(caller: &Caller, language: Language) -> String {
    match caller {
        Caller::Page { window, .. } => {
            words!(language, "A script of the page in window {}", "窗口 {} 中页面的脚本", name(window))
        }
        Caller::Agent { run_id } => words!(language, "The agent, run {}", "智能体，运行 {}", name(run_id)),
        Caller::Serve { client, process, .. } => {
            let client = name(client);
            match process {
                Some((pid, program)) => words!(
                    language,
                    "An MCP client that calls itself {client} (process {pid}, {program})",
                    "自称 {client} 的 MCP 客户端（进程 {pid}，{program}）",
                    program = inert(program)
                ),
                None => words!(language, "An MCP client that calls itself {client}", "自称 {client} 的 MCP 客户端"),
            }
        }
        Caller::Cli => words!(language, "The command line", "命令行"),
        Caller::Settings => words!(language, "You, in the settings window", "您，通过设置窗口"),
    }
}

fn parent(caller: &Caller) -> Option<String> {
    match caller {
        Caller::Page { window, .. } => Some(window.clone()),
        _ => None,
    }
}

fn heading(asked: &Asked<'_>, who: &str, server: &str, language: Language) -> (String, String) {
    match asked.operation {
        Operation::CallTool { tool, .. } => {
            let tool = name(&tool.name);
            let heading =
                words!(language, "{who} wants to run {tool} on {server}.", "{who} 想在 {server} 上运行 {tool}。");
            (tool, heading)
        }
        Operation::ReadResource { uri, listed, .. } | Operation::Subscribe { uri, listed, .. } => {
            let heading = if *listed {
                words!(language, "{who} wants to read what {server} lists.", "{who} 想读取 {server} 列出的内容。")
            } else {
                words!(
                    language,
                    "{who} wants to read an address that {server} does not list.",
                    "{who} 想读取 {server} 没有列出的地址。"
                )
            };
            (inert(uri), heading)
        }
        Operation::GetPrompt { name: prompt, .. } => {
            let heading =
                words!(language, "{who} wants to use the prompts of {server}.", "{who} 想使用 {server} 的提示词。");
            (name(prompt), heading)
        }
        Operation::Complete { .. } => (
            String::new(),
            words!(language, "{who} wants suggestions from {server}.", "{who} 想从 {server} 获取建议。"),
        ),
        Operation::Connect { .. } => {
            (String::new(), words!(language, "{who} wants to start {server}.", "{who} 想启动 {server}。"))
        }
    }
}

fn ability(hints: Hints, language: Language) -> (String, Tone) {
    let mut text = match (hints.read_only, hints.destructive) {
        (Some(true), destructive) if destructive != Some(true) => {
            words!(language, "only read, says the server", "服务器称其只读")
        }
        (_, Some(false)) => {
            words!(language, "change things, but not destroy them, says the server", "服务器称其会更改但不会破坏内容")
        }
        _ => words!(language, "change or destroy things", "更改或破坏内容"),
    };
    if hints.open_world != Some(false) {
        text.push_str(&words!(language, "; reach the outside world", "；可访问外部世界"));
    }
    let tone =
        if hints.read_only == Some(true) && hints.destructive != Some(true) { Tone::Plain } else { Tone::Caution };
    (text, tone)
}

fn why(reason: &Reason, language: Language) -> Fact {
    let (text, tone) = match reason {
        Reason::NeedsApproval => {
            (words!(language, "no rule of yours allows it yet", "您还没有规则允许它"), Tone::Plain)
        }
        Reason::Unseen => {
            (words!(language, "you have not approved this tool before", "您以前没有批准过这个工具"), Tone::Caution)
        }
        Reason::Changed(_) => (
            words!(language, "the server changed this tool since you approved it", "自您批准后，服务器更改了这个工具"),
            Tone::Caution,
        ),
        Reason::AskRule(id) => {
            (words!(language, "your rule `{id}` says to ask", "您的规则 `{id}` 要求询问"), Tone::Plain)
        }
        Reason::Costly => {
            (words!(language, "you marked this tool as costly", "您将这个工具标记为高成本"), Tone::Caution)
        }
        Reason::TouchesHost => (
            words!(
                language,
                "its arguments point into the folders where this program keeps your rules and secrets",
                "它的参数指向本程序保存规则和机密的文件夹"
            ),
            Tone::Caution,
        ),
    };
    fact(words!(language, "Why you are asked", "询问原因"), text, tone)
}

fn choices(asked: &Asked<'_>, target: &str, server: &str, destructive: bool, language: Language) -> Vec<Choice> {
    let for_whom = match asked.caller.kind() {
        CallerKind::Page => words!(language, "all scripts of the page", "页面的所有脚本"),
        CallerKind::Agent => words!(language, "the agent", "智能体"),
        CallerKind::Serve => words!(language, "MCP clients", "MCP 客户端"),
        CallerKind::Cli => words!(language, "the command line", "命令行"),
        CallerKind::Settings => words!(language, "the settings window", "设置窗口"),
    };
    let what = match asked.operation.kind() {
        OperationKind::Call => words!(language, "{target} on {server}", "{server} 的 {target}"),
        OperationKind::Prompt | OperationKind::Complete => {
            words!(language, "the prompts of {server}", "{server} 的提示词")
        }
        _ => words!(language, "what {server} lists", "{server} 列出的内容"),
    };
    // On a terminal a yes to what is not only reading is typed, so that a held key cannot give it.
    let typed = match asked.operation {
        Operation::CallTool { tool, .. } if destructive => Some(inert(&tool.name)),
        _ => None,
    };
    let choice = |kind, label: String, explanation: String| {
        let always = matches!(kind, ChoiceKind::AlwaysExact | ChoiceKind::AlwaysConditions | ChoiceKind::AlwaysTool);
        let second_question = (always && destructive).then(|| {
            words!(
                language,
                "This can change or destroy things, and you will not be asked again. {explanation} Are you sure?",
                "它可能更改或破坏内容，而且不会再询问您。{explanation}确定吗？"
            )
        });
        let typed = if kind.allows() { typed.clone() } else { None };
        Choice { kind, label, explanation, second_question, typed }
    };
    let offers = &asked.offers;
    let mut choices = vec![
        choice(ChoiceKind::Deny, words!(language, "Deny", "拒绝"), words!(language, "Not this time.", "这次不允许。")),
        choice(
            ChoiceKind::AllowOnce,
            words!(language, "Allow once", "允许一次"),
            words!(language, "Only this request.", "仅限这一次请求。"),
        ),
    ];
    if offers.session {
        choices.push(choice(
            ChoiceKind::AllowSession,
            words!(language, "Allow until this program ends", "允许，直到本程序结束"),
            words!(language, "{what}, for {for_whom}, at most 8 hours.", "{what}，对{for_whom}有效，最长 8 小时。"),
        ));
    }
    if offers.exact {
        choices.push(choice(
            ChoiceKind::AlwaysExact,
            words!(language, "Always allow exactly this", "始终允许完全相同的请求"),
            words!(
                language,
                "{what} with exactly these arguments, for {for_whom}.",
                "{what}，仅限完全相同的参数，对{for_whom}有效。"
            ),
        ));
    }
    if let Some(conditions) = &offers.conditions {
        let conditions = conditions.iter().map(|one| inert(one)).collect::<Vec<_>>().join("; ");
        choices.push(choice(
            ChoiceKind::AlwaysConditions,
            words!(language, "Always allow under conditions", "有条件地始终允许"),
            words!(
                language,
                "{what}, for {for_whom}, only if: {conditions}.",
                "{what}，对{for_whom}有效，条件：{conditions}。"
            ),
        ));
    }
    if offers.tool {
        choices.push(choice(
            ChoiceKind::AlwaysTool,
            words!(language, "Always allow", "始终允许"),
            words!(language, "{what} with any arguments, for {for_whom}.", "{what}，任何参数，对{for_whom}有效。"),
        ));
    }
    choices.push(choice(
        ChoiceKind::Never,
        words!(language, "Never allow", "永不允许"),
        words!(
            language,
            "{what}, for {for_whom}, until you revoke it in the settings.",
            "{what}，对{for_whom}，直到您在设置中撤销。"
        ),
    ));
    if asked.caller.kind() == CallerKind::Page {
        choices.push(choice(
            ChoiceKind::DenyPages,
            words!(language, "Deny everything from the page for 10 minutes", "10 分钟内拒绝页面的一切请求"),
            words!(
                language,
                "No script of the page can ask you anything until then.",
                "在此期间页面脚本无法向您请求任何事。"
            ),
        ));
    }
    choices
}

fn argument_row(key: &str, value: &json::Value, language: Language) -> ArgumentRow {
    let (kind, size, text) = match value {
        json::Value::Null => (words!(language, "nothing", "空"), String::new(), "null".to_owned()),
        json::Value::Bool(flag) => (words!(language, "yes or no", "是或否"), String::new(), flag.to_string()),
        json::Value::Number(number) => (words!(language, "number", "数字"), String::new(), number.as_str().to_owned()),
        json::Value::String(text) => {
            let count = text.chars().count();
            (words!(language, "text", "文本"), words!(language, "{count} characters", "{count} 个字符"), text.clone())
        }
        json::Value::Array(items) => {
            let count = items.len();
            (words!(language, "list", "列表"), words!(language, "{count} items", "{count} 项"), value.to_wire())
        }
        json::Value::Object(object) => {
            let count = object.len();
            (words!(language, "object", "对象"), words!(language, "{count} fields", "{count} 个字段"), value.to_wire())
        }
    };
    ArgumentRow { name: line(key, 80), kind, size, preview: line(&text, 80) }
}

fn fact(label: String, text: String, tone: Tone) -> Fact {
    Fact { label, text, tone }
}

fn section(label: String, text: String) -> Section {
    Section { label, text }
}
