//! The dialog's own words. Everything about the question itself comes worded in the sheet.

use mcp_host_core::approval::Language;

/// One language's words.
pub(crate) struct Words {
    pub(crate) deny: &'static str,
    pub(crate) more: &'static str,
    pub(crate) back: &'static str,
    pub(crate) cancel: &'static str,
    /// Before a choice's label, as the answer to the second question.
    pub(crate) yes: &'static str,
    pub(crate) more_heading: &'static str,
    pub(crate) sure_heading: &'static str,
    pub(crate) details: &'static str,
    pub(crate) arguments: &'static str,
    pub(crate) argument: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) size: &'static str,
    pub(crate) value: &'static str,
    /// Behind the label of a text that is not ours.
    pub(crate) quoted: &'static str,
    pub(crate) caution: &'static str,
    /// Why nothing can be pressed.
    pub(crate) covered: &'static str,
    pub(crate) unfocused: &'static str,
    /// Enter and Space do not allow.
    pub(crate) use_keys: &'static str,
    /// For dialogs in steps.
    pub(crate) next: &'static str,
    pub(crate) other: &'static str,
    pub(crate) part: &'static str,
    pub(crate) limits: &'static str,
    pub(crate) too_long: &'static str,
    /// In the background.
    pub(crate) waiting: &'static str,
}

const ENGLISH: Words = Words {
    deny: "Deny",
    more: "More choices…",
    back: "Back",
    cancel: "Close",
    yes: "Yes: ",
    more_heading: "What should count from now on?",
    sure_heading: "Are you sure?",
    details: "Details",
    arguments: "Arguments",
    argument: "Name",
    kind: "Type",
    size: "Size",
    value: "Value",
    quoted: "quoted, not checked",
    caution: "Caution",
    covered: "Something covers this window. Move it away to answer.",
    unfocused: "Click here to answer.",
    use_keys: "Enter and Space never allow. Click the button, or press Alt and its underlined letter.",
    next: "Continue",
    other: "Other choices",
    part: "part",
    limits: "This system's dialog cannot close by itself when the request is withdrawn, and cannot tell whether something covers it. Answer only what you have read.",
    too_long: "This is too long to be shown in this system's dialogs, so it cannot be allowed here.",
    waiting: "A request waits for your answer.",
};

const CHINESE: Words = Words {
    deny: "拒绝",
    more: "更多选择…",
    back: "返回",
    cancel: "关闭",
    yes: "是：",
    more_heading: "今后应当如何处理？",
    sure_heading: "您确定吗？",
    details: "详情",
    arguments: "参数",
    argument: "名称",
    kind: "类型",
    size: "大小",
    value: "值",
    quoted: "引用，未经核实",
    caution: "注意",
    covered: "有其他窗口遮挡了此窗口。请移开后再回答。",
    unfocused: "请点击此处以回答。",
    use_keys: "回车键和空格键不会允许任何操作。请点击按钮，或按 Alt 加带下划线的字母。",
    next: "继续",
    other: "其他选择",
    part: "部分",
    limits: "请求撤回时，此系统的对话框无法自行关闭，也无法得知是否被遮挡。请只回答您已阅读的内容。",
    too_long: "内容过长，无法在此系统的对话框中显示，因此不能在这里允许。",
    waiting: "有一个请求等待您的回答。",
};

impl Words {
    pub(crate) fn of(language: Language) -> &'static Self {
        match language {
            Language::English => &ENGLISH,
            Language::SimplifiedChinese => &CHINESE,
        }
    }
}

/// A button's label with an underlined letter that no other button has: `wanted` if it can be, else another letter of
/// the label, else one behind it.
pub(crate) fn with_mnemonic(label: &str, wanted: char, taken: &mut Vec<char>) -> String {
    // In a mnemonic label one underscore marks a letter, two are one underscore.
    let escaped = |part: &str| part.replace('_', "__");
    let free = |c: char| c.is_ascii_alphabetic() && !taken.contains(&c.to_ascii_lowercase());
    let inside = label
        .char_indices()
        .find(|(_, c)| c.eq_ignore_ascii_case(&wanted) && free(*c))
        .or_else(|| label.char_indices().find(|(_, c)| free(*c)));
    if let Some((at, letter)) = inside {
        taken.push(letter.to_ascii_lowercase());
        let (before, after) = label.split_at(at);
        return format!("{}_{}", escaped(before), escaped(after));
    }
    match std::iter::once(wanted).chain('a'..='z').find(|c| free(*c)) {
        Some(letter) => {
            taken.push(letter);
            format!("{} (_{})", escaped(label), letter.to_ascii_uppercase())
        }
        None => escaped(label),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_buttons_share_a_letter() {
        let mut taken = Vec::new();
        assert_eq!(with_mnemonic("Deny", 'd', &mut taken), "_Deny");
        assert_eq!(with_mnemonic("More choices…", 'm', &mut taken), "_More choices…");
        assert_eq!(with_mnemonic("Deny everything", 'd', &mut taken), "D_eny everything");
        assert_eq!(with_mnemonic("允许一次", 'a', &mut taken), "允许一次 (_A)");
        assert_eq!(with_mnemonic("拒绝", 'd', &mut taken), "拒绝 (_B)");
        assert_eq!(with_mnemonic("m_c", 'm', &mut taken), "m___c");
    }
}
