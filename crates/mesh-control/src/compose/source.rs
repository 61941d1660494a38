/// A file of a mesh, as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a name and a text")]
pub struct Source<'a> {
    /// What problems and grants call it.
    pub file: &'a str,
    /// What is in it.
    pub text: &'a str,
}
