//! Do programs in other languages find the same codes tomorrow? A code may be added to this list, and none
//! may change or go.

use tombolo::ErrorCode;

const LIST: &[(u32, &str)] = &[
    (1, "card"),
    (2, "card-broken"),
    (3, "no-such-slot"),
    (4, "build"),
    (5, "nothing-to-wait-for"),
    (6, "configuration"),
    (10, "kernel"),
    (20, "file"),
    (21, "unmappable"),
    (22, "transfer"),
    (23, "pager"),
    (24, "outside"),
    (25, "coherent-range"),
    (30, "no-such-argument"),
    (31, "argument-size"),
    (32, "slot-state"),
    (33, "misaligned-pointer"),
    (34, "schedule"),
    (35, "argument-value"),
    (40, "access"),
    (41, "violation"),
    (42, "unanswered"),
    (43, "interrupt-storm"),
    (44, "kernel-failed"),
    (45, "deadline"),
    (46, "home"),
    (47, "line-late"),
    (48, "no-home"),
    (50, "no-free-space"),
    (51, "unshareable"),
    (52, "not-shared"),
    (53, "memory-in-use"),
    (54, "unregistrable"),
    (55, "no-free-slot"),
    (56, "quota"),
    (60, "gone"),
    (61, "other-card"),
    (62, "other-space"),
    (63, "daemon"),
    (64, "not-carried"),
    (70, "interrupted"),
    (71, "stalled"),
    (80, "stream"),
    (81, "stream-reset"),
    (82, "device"),
    (83, "device-peer"),
    (90, "internal"),
];

#[test]
fn codes_keep_their_numbers_and_names() {
    let codes = ErrorCode::ALL.iter();
    let codes: Vec<(u32, &str)> = codes.map(|code| (code.number(), code.name())).collect();
    assert_eq!(codes, LIST);
}
