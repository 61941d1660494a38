use mesh_core::manifest::Problem;

/// A module that has no account, since its manifest is refused. Nobody else's account depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// The module, as far as it can be told: by the mesh file's assignment of that manifest, or by the
    /// manifest's own `name`.
    pub module: Option<String>,
    /// The manifest, as it was named to the composer; of an assignment without one, the mesh file.
    pub file: String,
    /// What is wrong, each with its line and field.
    pub problems: Vec<Problem>,
}

impl Refused {
    pub(super) fn of(module: Option<String>, problem: Problem) -> Self {
        Self { module, file: problem.file.to_string(), problems: vec![problem] }
    }
}
