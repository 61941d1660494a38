use super::*;

fn problem<T: std::fmt::Debug>(result: Result<T, NameError>) -> NameProblem {
    result.unwrap_err().problem
}

#[test]
fn a_label_is_lower_case_and_starts_with_a_letter_or_digit() {
    for good in ["a", "0", "n1", "edge-1", &"a".repeat(63)] {
        assert_eq!(NodeName::new(good).unwrap().as_str(), good);
    }
    assert_eq!(problem(NodeName::new("")), NameProblem::Empty { offset: 0 });
    assert_eq!(problem(NodeName::new("-a")), NameProblem::Character { found: '-', offset: 0 });
    assert_eq!(problem(NodeName::new("a_b")), NameProblem::Character { found: '_', offset: 1 });
    assert_eq!(problem(NodeName::new("aé")), NameProblem::Character { found: 'é', offset: 1 });
    assert_eq!(problem(NodeName::new("A")), NameProblem::Character { found: 'A', offset: 0 });
    assert_eq!(problem(NodeName::new("a".repeat(64))), NameProblem::TooLong { max: 63, found: 64 });
}

#[test]
fn reserved_names_are_refused_where_they_collide() {
    assert_eq!(problem(ModuleName::new("events")), NameProblem::Reserved);
    assert_eq!(problem(NodeName::new("enrol")), NameProblem::Reserved);
    assert_eq!(problem(ToolName::new("events")), NameProblem::Reserved);
    assert!(PersonName::new("events").is_ok());
    assert!(ModuleName::new("serve").is_ok());
}

#[test]
fn an_event_name_says_where_in_the_whole_text_it_is_wrong() {
    assert!(EventName::new("letter.sent").is_ok());
    assert_eq!(problem(EventName::new("a..b")), NameProblem::Empty { offset: 2 });
    assert_eq!(problem(EventName::new("a.")), NameProblem::Empty { offset: 2 });
    assert_eq!(problem(EventName::new("a.*")), NameProblem::Character { found: '*', offset: 2 });
    assert_eq!(problem(EventName::new("a b")), NameProblem::Character { found: ' ', offset: 1 });
    let long = vec!["a".repeat(60); 4].join(".");
    assert_eq!(problem(EventName::new(long)), NameProblem::TooLong { max: 200, found: 243 });
}

#[test]
fn a_realm_keeps_its_text_and_fits_its_topics() {
    for good in ["acme.com", "Acme", "flowpad-demo.tab-01", "日本", "a_b~c"] {
        assert_eq!(RealmName::new(good).unwrap().as_str(), good);
    }
    assert_eq!(problem(RealmName::new(".a")), NameProblem::Empty { offset: 0 });
    assert_eq!(problem(RealmName::new("a.")), NameProblem::Empty { offset: 2 });
    assert_eq!(
        problem(RealmName::new("a\u{a0}b")),
        NameProblem::Character { found: '\u{a0}', offset: 1 }
    );
    assert_eq!(problem(RealmName::new("a%b")), NameProblem::Character { found: '%', offset: 1 });
    assert!(RealmName::new("a".repeat(210)).is_ok());
    assert_eq!(
        problem(RealmName::new("a".repeat(211))),
        NameProblem::TooLong { max: 210, found: 211 }
    );
    assert_eq!(
        problem(RealmName::new("é".repeat(41))),
        NameProblem::TooLong { max: 240, found: 246 }
    );
}

#[test]
fn a_consumer_name_tells_its_module() {
    let name =
        ConsumerName::of_module(&NodeName::new("n1").unwrap(), &ModuleName::new("mail").unwrap());
    assert_eq!(name.as_str(), "n1_mail");
    assert_eq!(ConsumerName::new("n1_mail").unwrap(), name);
    assert_eq!(name.module().unwrap().1.as_str(), "mail");
    assert_eq!(ConsumerName::new("controller").unwrap().module(), None);
    assert_eq!(
        problem(ConsumerName::new("n1_m.x")),
        NameProblem::Character { found: '.', offset: 4 }
    );
    assert_eq!(problem(ConsumerName::new("n1_")), NameProblem::Empty { offset: 3 });
}

#[test]
fn a_user_has_one_or_two_labels_and_is_no_path() {
    for good in ["controller", "mail.n1", "person.ada", "enrol.t0k3n-1"] {
        assert_eq!(UserName::new(good).unwrap().as_str(), good);
    }
    assert_eq!(problem(UserName::new("a.b.c")), NameProblem::Character { found: '.', offset: 3 });
    assert_eq!(problem(UserName::new("..")), NameProblem::Empty { offset: 0 });
    assert_eq!(problem(UserName::new("a.")), NameProblem::Empty { offset: 2 });
    assert_eq!(problem(UserName::new("../a")), NameProblem::Empty { offset: 0 });
    assert_eq!(problem(UserName::new("a.b/c")), NameProblem::Character { found: '/', offset: 3 });
}

#[test]
fn deserialising_does_not_go_round_the_check() {
    assert!(serde_json::from_str::<ModuleName>("\"mail\"").is_ok());
    let error = serde_json::from_str::<ModuleName>("\"ma*il\"").unwrap_err();
    assert!(error.to_string().contains("'*' at offset 2"), "{error}");
}

#[test]
fn a_token_id_names_its_node_and_holds_128_random_bits() {
    let id = TokenId::from_random(&NodeName::new("edge-1").unwrap(), 7);
    assert_eq!(id.as_str(), "edge-1-00000000000000000000000000000007");
    let long = TokenId::from_random(&NodeName::new("n".repeat(63)).unwrap(), u128::MAX);
    assert_eq!(TokenId::new(long.as_str()), Ok(long.clone()));
    assert_eq!(long.as_str().len(), 63);
}
