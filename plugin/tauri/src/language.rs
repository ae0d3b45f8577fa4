//! Which of our languages the person reads.

use mcp_host_core::approval::Language;

/// The system's, as far as we speak it. `LANGUAGE` goes before the locale, as everywhere else on the desktop.
pub(crate) fn of_the_system() -> Language {
    let wanted = if cfg!(unix) { std::env::var("LANGUAGE").ok() } else { None };
    let first = wanted.as_deref().and_then(|list| list.split(':').find(|one| !one.is_empty()));
    first.map(str::to_owned).or_else(sys_locale::get_locale).map_or(Language::English, |locale| of(&locale))
}

/// The language of a locale such as `zh_CN.UTF-8` or `zh-Hans-CN`.
pub(crate) fn of(locale: &str) -> Language {
    let word = locale.split(['-', '_', '.', '@']).next().unwrap_or_default();
    if word.eq_ignore_ascii_case("zh") { Language::SimplifiedChinese } else { Language::English }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_in_every_spelling_is_chinese() {
        for locale in ["zh", "zh_CN.UTF-8", "zh-Hans-CN", "ZH-SG", "zh_TW"] {
            assert_eq!(of(locale), Language::SimplifiedChinese, "{locale}");
        }
        for locale in ["", "C", "POSIX", "en_GB.UTF-8", "za", "zhx"] {
            assert_eq!(of(locale), Language::English, "{locale}");
        }
    }
}
