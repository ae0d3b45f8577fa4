//! What a verification found, in the shape in which it is told (audit.md, "Verify, read, export").

use serde::Serialize;

/// What was found.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// No run has a failure, and there is at least one run.
    pub valid: bool,
    /// Everything was judged with its key.
    pub keyed: bool,
    /// One entry for each run; the list of runs itself (`runs`) where it has something to say.
    pub runs: Vec<RunReport>,
}

/// What was found in one run.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunReport {
    /// The run, or the file's name where it names none.
    pub run_id: String,
    /// Whole lines.
    pub events: u64,
    /// It has not ended cleanly (or not yet): no fault.
    pub unclean: bool,
    /// What must not be.
    pub failures: Vec<Finding>,
    /// What is worth knowing.
    pub warnings: Vec<Finding>,
}

/// One thing that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// In which line of its file, from 1; 0 = the file as a whole.
    pub line: u64,
}

/// The kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The line is not what its hash says, or the file's head is another.
    HashMismatch,
    /// The line does not follow the one before.
    PrevHashMismatch,
    /// A field of the format is not there, or not of its type.
    MissingFields,
    /// A field that the format does not know.
    UnexpectedField,
    /// Not a JSON object.
    JsonParseError,
    /// The line was not written with the key, or not for this run.
    HmacMismatch,
    /// Lines are gone from the end.
    Truncated,
    /// The log, or its entry in the list of runs, is not there.
    Missing,
    /// Warning: the clock went back.
    TimestampRegression,
    /// Warning: without the key, or under another: the chain alone was judged.
    NotKeyed,
    /// Warning: there are more failures than are listed.
    MoreFailures,
}

impl FindingKind {
    /// As in the report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HashMismatch => "hash_mismatch",
            Self::PrevHashMismatch => "prev_hash_mismatch",
            Self::MissingFields => "missing_fields",
            Self::UnexpectedField => "unexpected_field",
            Self::JsonParseError => "json_parse_error",
            Self::HmacMismatch => "hmac_mismatch",
            Self::Truncated => "truncated",
            Self::Missing => "missing",
            Self::TimestampRegression => "timestamp_regression",
            Self::NotKeyed => "not_keyed",
            Self::MoreFailures => "more_failures",
        }
    }
}
