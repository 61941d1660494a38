//! The README's files are files that the program takes.

use super::{Folder, mesh, program, text};

const README: &str = include_str!("../../README.md");

/// The README's files, in a folder.
fn files(name: &str) -> (Folder, Vec<String>) {
    let folder = Folder::new(name);
    let blocks = README.split("```toml\n# ").skip(1).map(|block| {
        let (name, file) = block.split("```").next().unwrap().split_once('\n').unwrap();
        folder.write(name, file)
    });
    let files = blocks.collect();
    (folder, files)
}

/// `$ mesh …` in a block of the console, and what comes of it there.
#[test]
fn what_the_readme_shows_is_what_is_printed() {
    let (folder, _) = files("readme-console");
    let mut runs = 0;
    for block in README.split("```console\n$ mesh ").skip(1) {
        let (command, expected) = block.split("```").next().unwrap().split_once('\n').unwrap();
        let run = program().current_dir(&folder.0).args(command.split(' ')).output().unwrap();
        let printed = format!("{}{}", text(&run.stdout), text(&run.stderr));
        assert_eq!(printed, expected, "of mesh {command}:\n{printed}");
        runs += 1;
    }
    assert!(runs >= 5, "{runs}");
}

#[test]
fn the_readme_lists_every_code_of_a_problem() {
    let advice = include_str!("../../../mesh-core/src/manifest/advice.rs");
    let advice = advice.split("/// What to do about it").next().unwrap();
    let codes = advice.split("=> \"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let mut all = 0;
    for code in codes {
        assert!(README.contains(&format!("`{code}`")), "{code}");
        all += 1;
    }
    assert!(all > 25, "{all}");
}

#[test]
fn the_readmes_mesh_runs_and_every_flow_but_one_is_in_it() {
    let (_folder, files) = files("readme");
    assert_eq!(files.len(), 4);
    let run = mesh(&["demo", "--mesh", &files[0]]);
    let story = text(&run.stdout);
    assert_eq!(run.status.code(), Some(0), "{story}{}", text(&run.stderr));
    assert!(
        story.contains("11 as computed from the files, 0 otherwise, 1 not in this mesh"),
        "{story}"
    );
    assert!(
        story.contains("- ben calls stock.count: answered by stock.count (caller: ben)"),
        "{story}"
    );
}

#[test]
fn the_readme_names_every_flow_that_can_be_broken() {
    let help = text(&mesh(&["demo", "--help"]).stdout);
    let broken = help.split("--break").nth(1).unwrap().split("--transport").next().unwrap();
    let flows: Vec<&str> = broken
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- ")?.split_once(':').map(|(flow, _)| flow))
        .collect();
    assert_eq!(flows.len(), 12, "{help}");
    for flow in flows {
        assert!(README.contains(&format!("`{flow}`")), "{flow}");
    }
}
