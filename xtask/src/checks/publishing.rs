//! Each crate that can be published says what a registry and its readers need.

use std::path::Path;

use serde_json::Value;

use crate::run::{Failure, Workspace};

/// What must be there and not empty.
const NEEDED: &[&str] =
    &["description", "license", "repository", "readme", "keywords", "categories", "rust_version"];

/// The most keywords, and the most categories, that a registry takes.
const MAX_LABELS: usize = 5;

pub(crate) fn run(workspace: &Workspace, _: &[String]) -> Result<(), Failure> {
    let metadata = workspace.metadata()?;
    let packages = metadata["packages"].as_array();
    let packages = packages.ok_or_else(|| Failure::new("cargo metadata lists no packages"))?;
    let mut count = 0;
    let mut found = Vec::new();
    for package in packages {
        let ours = package["source"].is_null();
        let publishable = package["publish"].is_null();
        if ours && publishable {
            count += 1;
            found.extend(judge(package, &|file| file.is_file()));
        }
    }
    if found.is_empty() && count > 0 {
        println!("{count} crates can be published");
        return Ok(());
    }
    if count == 0 {
        found.push("no crate can be published".to_owned());
    }
    Err(Failure::list("publishing metadata", &found))
}

fn judge(package: &Value, exists: &dyn Fn(&Path) -> bool) -> Vec<String> {
    let name = package["name"].as_str().unwrap_or("?");
    let mut found = Vec::new();
    for field in NEEDED {
        let given = match &package[*field] {
            Value::String(text) => !text.trim().is_empty(),
            Value::Array(labels) => (1..=MAX_LABELS).contains(&labels.len()),
            _ => false,
        };
        if !given {
            found.push(format!("{name}: {field} is missing, empty or too long"));
        }
    }
    let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
    if let (Some(readme), Some(folder)) = (package["readme"].as_str(), manifest.parent())
        && !exists(&folder.join(readme))
    {
        found.push(format!("{name}: there is no file {readme}"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn good() -> Value {
        json!({
            "name": "mesh-x", "manifest_path": "/w/crates/mesh-x/Cargo.toml",
            "description": "X", "license": "MIT OR Apache-2.0", "repository": "https://x",
            "readme": "README.md", "keywords": ["a"], "categories": ["b"], "rust_version": "1.95",
        })
    }

    #[test]
    fn a_crate_with_everything_passes() {
        let here = |file: &Path| file == Path::new("/w/crates/mesh-x/README.md");
        assert!(judge(&good(), &here).is_empty());
    }

    #[test]
    fn each_missing_field_is_named() {
        for field in NEEDED {
            let mut package = good();
            package[*field] = Value::Null;
            assert_eq!(
                judge(&package, &|_| true),
                [format!("mesh-x: {field} is missing, empty or too long")]
            );
        }
        let mut package = good();
        package["keywords"] = json!(["a", "b", "c", "d", "e", "f"]);
        assert_eq!(judge(&package, &|_| true).len(), 1);
    }

    #[test]
    fn a_readme_that_is_not_there_is_named() {
        assert_eq!(judge(&good(), &|_| false), ["mesh-x: there is no file README.md"]);
    }
}
