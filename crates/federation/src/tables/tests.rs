use super::*;

#[test]
fn an_extended_entry_goes_back_and_a_gone_one_is_passed_over() {
    let mut due = Due::default();
    due.push(10, 0, 1);
    due.push(10, 1, 1);
    due.push(20, 2, 1);
    let end = |slot, _| match slot {
        0 => None,
        1 => Some(30),
        _ => Some(20),
    };
    assert_eq!(due.pop(9, end), None);
    assert_eq!(due.next(), Some(10));
    assert_eq!(due.pop(10, end), None);
    assert_eq!(due.next(), Some(20));
    assert_eq!(due.pop(25, end), Some(2));
    assert_eq!(due.pop(25, end), None);
    assert_eq!(due.next(), Some(30));
}

#[test]
fn what_is_gone_takes_no_room_for_ever() {
    let mut due = Due::default();
    for stamp in 0..10_000 {
        due.push(1_000, 0, stamp);
        due.tidy(1, |_, other| other == stamp);
    }
    assert!(due.bytes() < 16 * 200, "{}", due.bytes());
}

#[test]
fn a_text_is_kept_once_for_as_long_as_it_is_used() {
    let mut names = Names::<u8>::new();
    let slot = names.hold("acme").unwrap();
    assert_eq!(names.hold("acme"), Some(slot));
    let other = names.hold("shop").unwrap();
    assert_ne!(slot, other);
    *names.value_mut(slot).unwrap() = 7;
    names.release(slot);
    assert_eq!((names.users(slot), names.value(slot), names.len()), (1, Some(&7), 2));
    names.release(slot);
    assert_eq!((names.find("acme"), names.len()), (None, 1));
    assert_eq!(names.find("shop"), Some(other));
    names.release(other);
    assert_eq!(names.bytes(), 0);
}

#[test]
fn a_slot_is_used_again() {
    let mut slots = Slots::new();
    assert_eq!([slots.insert('a'), slots.insert('b')], [Some(0), Some(1)]);
    assert_eq!(slots.remove(0), Some('a'));
    assert_eq!(slots.remove(0), None);
    assert_eq!(slots.insert('c'), Some(0));
    assert_eq!(slots.iter_from(0).collect::<Vec<_>>(), [(0, &'c'), (1, &'b')]);
    assert_eq!(slots.iter_from(1).count(), 1);
    assert_eq!(slots.iter_from(9).count(), 0);
}
