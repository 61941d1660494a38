/// How new an answer has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "kept or not")]
pub enum Freshness {
    /// What is kept will do.
    Kept,
    /// Ask again, since what is kept was not enough. Who was asked a moment ago is not asked again.
    Anew,
}
