/// What is left of a name where capitals, `-` and `_` don't count, as in file names of some systems, in
/// metrics and in variables. Two names of which the same is left are not both given in one place.
///
/// ```
/// assert_eq!(mesh_core::name::folded("Get_User"), mesh_core::name::folded("get-user"));
/// ```
#[must_use]
pub fn folded(name: &str) -> String {
    let fold = |c: char| if c == '_' { '-' } else { c.to_ascii_lowercase() };
    name.chars().map(fold).collect()
}
