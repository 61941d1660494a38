//! What changes of a small mesh's files do.

use mesh_core::permissions::Effect;

use super::super::{Diff, Presence, Step, UserDiff};
use super::composed;
use crate::compose::Composition;

fn step(step: &Step<'_>, sign: char) -> String {
    let never = if step.grant.effect == Effect::Deny { "never " } else { "" };
    let what = &step.grant.rule.filter;
    let effect = match &step.effect {
        None => String::new(),
        Some(gain) => match &gain.example {
            Some(example) => format!(" ({example})"),
            None => " (?)".to_owned(),
        },
    };
    format!("\n  {sign} {never}{what}{effect}, {}", step.grant.because)
}

fn of_user(user: &UserDiff<'_>) -> String {
    let presence = match user.presence {
        Presence::Added => "+",
        Presence::Removed => "-",
        Presence::Changed => "~",
    };
    let mut told = format!("{presence} {}", user.name);
    if user.presence == Presence::Changed {
        told.extend(user.granted.iter().map(|granted| step(granted, '+')));
        told.extend(user.taken.iter().map(|taken| step(taken, '-')));
    }
    told
}

/// The difference in a few words, and whether it widens.
fn told(old: &Composition, new: &Composition) -> (String, bool) {
    let diff = Diff::of(old, new);
    let settings = diff.settings.iter().map(ToString::to_string);
    let all: Vec<String> = settings.chain(diff.users.iter().map(of_user)).collect();
    (all.join("\n"), diff.widens())
}

/// From the files as they are to those with a change, and back.
fn both_ways(changes: &[(&str, &str)]) -> [(String, bool); 2] {
    let (old, new) = (composed(&[]), composed(changes));
    [told(&old, &new), told(&new, &old)]
}

#[test]
fn the_same_files_differ_in_nothing_and_neither_do_files_in_another_order() {
    let nothing = (String::new(), false);
    assert_eq!(both_ways(&[]), [nothing.clone(), nothing.clone()]);
    let order = [
        ("emits = ['sent']\nconsumes", "# moved\nversion = '1'\nconsumes"),
        ("name = 'mail'\nversion = '1'", "name = 'mail'\nemits = ['sent']"),
    ];
    assert_eq!(both_ways(&order), [nothing.clone(), nothing]);
    assert!(Diff::of(&composed(&[]), &composed(&[])).is_empty());
}

#[test]
fn a_right_that_comes_is_told_with_its_line_and_widens_and_the_way_back_does_not() {
    let [there, back] = both_ways(&[("emits = ['sent']", "emits = ['sent', 'lost']")]);
    let lost = "mesh.events.mail.lost (mesh.events.mail.lost), mail.toml:3:18: emits[1]";
    assert_eq!(there, (format!("~ mail.n1\n  + {lost}"), true));
    assert_eq!(back, (format!("~ mail.n1\n  - {lost}"), false));
}

#[test]
fn an_event_more_in_consumes_is_heard_and_widens_though_the_right_to_be_delivered_stays() {
    let [there, back] =
        both_ways(&[("consumes = ['vault.*']", "consumes = ['vault.*', 'mail.sent']")]);
    let sent = "mesh.deliver.EVENTS.n1_mail (mesh.events.mail.sent), mail.toml:4:12: consumes";
    assert_eq!(there, (format!("~ mail.n1\n  + {sent}"), true));
    assert_eq!(back, (format!("~ mail.n1\n  - {sent}"), false));
    // Another way to say the same is none, and less is not more.
    let [other, _] = both_ways(&[("consumes = ['vault.*']", "consumes = ['vault.>']")]);
    let [less, _] = both_ways(&[("consumes = ['vault.*']", "consumes = ['vault.opened']")]);
    assert!(!less.1 && less.0.contains("- mesh.deliver"), "{less:?}");
    assert_eq!(other.1, other.0.contains("+ mesh.deliver"), "{other:?}");
}

#[test]
fn a_person_who_becomes_administrator_gains_the_other_tools_alone() {
    let [there, back] = both_ways(&[("tools = ['vault.open']", "administrator = true")]);
    assert_eq!(
        there.0,
        "~ person.bob\n  + mesh.tools.> (mesh.tools.x), mesh.toml:19:17: people[1].administrator\n  \
         - mesh.tools.vault.open, mesh.toml:19:10: people[1].tools[0]"
    );
    assert!(there.1);
    assert!(back.0.contains("\n  + mesh.tools.vault.open, "), "{}", back.0);
    assert!(!back.1);
}

#[test]
fn users_that_come_widen_and_users_that_go_do_not() {
    let [there, back] = both_ways(&[("nodes = ['n1']", "nodes = ['n1', 'n2']")]);
    assert_eq!(there, ("+ mail.n2".to_owned(), true));
    assert_eq!(back, ("- mail.n2".to_owned(), false));
}

#[test]
fn a_module_that_is_refused_loses_its_users_and_no_other_does() {
    let [there, _] = both_ways(&[("emits = ['sent']", "emits = ['s e n t']")]);
    assert_eq!(there, ("- mail.n1".to_owned(), false));
}

#[test]
fn one_account_widens_and_says_what_that_means() {
    let bus = "[bus]\nisolation = 'one-account'\naccept_one_account = 'any user who may acknowledge a message can delete every stream of this mesh'\n\n[[people]]\nname = 'ann'";
    let change = [("[[people]]\nname = 'ann'", bus)];
    let [there, back] = both_ways(&change);
    assert!(
        there.0.starts_with("isolation: from split to one-account\n~ controller\n"),
        "{}",
        there.0
    );
    assert!(there.0.ends_with("\n- controller-edge"), "{}", there.0);
    assert!(there.1);
    let (old, new) = (composed(&[]), composed(&change));
    let meaning = Diff::of(&old, &new).settings[0].meaning.unwrap();
    assert!(meaning.contains("can delete every stream"), "{meaning}");
    // The controller's second user comes back, which had its rights by another name.
    assert!(back.0.contains("+ controller-edge") && back.1);
}

#[test]
fn a_limit_widens_where_it_is_raised() {
    let bus =
        |most: u32| format!("[bus.limits]\nedge_connections = {most}\n\n[[people]]\nname = 'ann'");
    let of = |most| composed(&[("[[people]]\nname = 'ann'", &bus(most))]);
    let (few, many) = (of(10), of(20));
    assert_eq!(told(&few, &many), ("limits.edge_connections: from 10 to 20".to_owned(), true));
    assert_eq!(told(&many, &few), ("limits.edge_connections: from 20 to 10".to_owned(), false));
}

#[test]
fn a_larger_budget_of_answers_widens_and_a_smaller_one_does_not() {
    let bus = |max: u32, minutes: u32| {
        format!(
            "[bus]\nanswers = 'allow_responses'\nresponses = {{ max = {max}, expires = '{minutes}m' }}\n\n\
             [[people]]\nname = 'ann'"
        )
    };
    let of = |max, minutes| composed(&[("[[people]]\nname = 'ann'", &bus(max, minutes))]);
    let widens = |old: &Composition, new: &Composition| told(old, new).1;
    let budget = of(2, 20);
    assert!(widens(&composed(&[]), &budget));
    assert!(widens(&budget, &of(3, 20)) && widens(&budget, &of(2, 30)));
    assert!(!widens(&budget, &of(1, 15)));
    assert!(widens(&budget, &of(1, 30)));
}
