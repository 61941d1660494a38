use super::*;

fn filter(text: &str) -> Filter {
    Filter::new(text).unwrap()
}

#[test]
fn a_subject_is_checked_token_by_token() {
    let problem = |text: &str| Subject::new(text).unwrap_err().problem;
    assert!(Subject::new("mx/in/1/acme.com/00").is_ok());
    assert!(
        Subject::new("a*.b>").is_ok(),
        "a star inside a token is an ordinary character"
    );
    assert_eq!(problem(""), SubjectProblem::EmptyToken { offset: 0 });
    assert_eq!(problem("a..b"), SubjectProblem::EmptyToken { offset: 2 });
    assert_eq!(problem("a."), SubjectProblem::EmptyToken { offset: 2 });
    assert_eq!(problem("a.*"), SubjectProblem::Wildcard { offset: 2 });
    assert_eq!(
        problem("a b"),
        SubjectProblem::Character {
            found: ' ',
            offset: 1
        }
    );
    assert_eq!(
        problem("a\0"),
        SubjectProblem::Character {
            found: '\0',
            offset: 1
        }
    );
    assert_eq!(
        problem("é\u{a0}"),
        SubjectProblem::Character {
            found: '\u{a0}',
            offset: 2
        }
    );
    assert_eq!(
        problem("é\u{85}"),
        SubjectProblem::Character {
            found: '\u{85}',
            offset: 2
        }
    );
    assert_eq!(
        problem(&"a".repeat(256)),
        SubjectProblem::TooLong { found: 256 }
    );
    assert!(Subject::new("a".repeat(255)).is_ok());
}

#[test]
fn a_tail_wildcard_is_last() {
    assert_eq!(
        Filter::new("a.>.b").unwrap_err().problem,
        SubjectProblem::TailNotLast { offset: 2 }
    );
    assert!(filter("a.>").has_wildcard());
    assert!(!filter("a.b").has_wildcard());
    assert_eq!(filter("a.b").as_subject().unwrap().as_str(), "a.b");
    assert_eq!(filter("a.*").as_subject(), None);
}

#[test]
fn matching_follows_the_grammar() {
    let matches = |f: &str, s: &str| filter(f).matches(&Subject::new(s).unwrap());
    assert!(matches("a.*.c", "a.b.c"));
    assert!(!matches("a.*", "a"));
    assert!(!matches("a.*", "a.b.c"));
    assert!(matches("a.>", "a.b.c"));
    assert!(!matches("a.>", "a"));
    assert!(matches(">", "a"));
    assert!(matches("*.>", "a.b"));
    assert!(!matches("*.>", "a"));
}

#[test]
fn containing_and_overlapping() {
    assert!(filter("a.>").contains(&filter("a.*.b")));
    assert!(filter("a.*").contains(&filter("a.b")));
    assert!(!filter("a.*").contains(&filter("a.>")));
    assert!(filter("a.>").contains(&filter("a.>")));
    assert!(filter("a.*.>").contains(&filter("a.b.>")));
    assert!(!filter("a.*.>").contains(&filter("a.>")));
    assert!(filter("a.*.c").overlaps(&filter("a.b.*")));
    assert!(filter("a.>").overlaps(&filter("*.b")));
    assert!(!filter("a.>").overlaps(&filter("a")));
    assert!(!filter("a.b").overlaps(&filter("a.c")));
}
