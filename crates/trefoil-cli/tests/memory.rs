//! The commands of memory: `trefoil memory …`.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on may panic"
)]

mod place;

use std::fs;

use crate::place::Place;

/// What three people say, each in their own language.
fn told() -> Place {
    let place = Place::new();
    for (who, words) in [
        ("Mika", "I live in Kyoto and I prefer green tea."),
        ("健太", "パクチーが苦手です。会場を予約しなければならない。"),
        ("지훈", "저는 매운 음식을 좋아하지 않아요."),
    ] {
        place.run(&["memory", "observe", words, "--actor", who]).expect(0).says(&["learnt"]);
    }
    place
}

/// The id of the claim that answers a question best.
fn claim(place: &Place, question: &str) -> String {
    let found = place.run(&["memory", "recall", question, "--json"]).expect(0).json();
    found["claims"][0]["claim"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn what_is_told_is_recalled_in_each_language() {
    let place = told();
    for (question, answer) in [
        ("where does Mika live?", "Mika: I live in Kyoto"),
        ("健太はパクチーが苦手?", "健太: パクチーが苦手です。"),
        ("지훈 매운 음식", "지훈: 저는 매운 음식을 좋아하지 않아요."),
    ] {
        let found = place.run(&["memory", "recall", question, "--json"]).expect(0).json();
        assert_eq!(found["claims"][0]["claim"]["text"], answer, "{question}");
    }
    place.run(&["memory", "recall", "submarine"]).expect(1).says(&["nothing that is"]);
    place.run(&["memory", "recall"]).expect(0).says(&["green tea", "パクチー", "매운 음식"]);
    let explained = place.run(&["memory", "recall", "Kyoto", "--explain"]).expect(0);
    explained.says(&["words 1.00", "confidence 0.85", "from obs_"]);
}

#[test]
fn a_turn_is_found_by_its_answer_and_its_picture_and_shown_as_a_whole() {
    let place = Place::new();
    let turn = ["memory", "observe", "녹차는 어디에 있어요?", "--reply", "薬缶の隣の棚です。"];
    let more = ["--image", "a shelf of walnut", "--note", "place=write to kim@example.com"];
    let observed = place.run(&[&turn[..], &more, &["--json"]].concat()).expect(0).json();
    let observation = &observed["observation"];
    assert_eq!(observation["replyText"], "薬缶の隣の棚です。");
    assert_eq!(observation["contextNote"]["place"], "write to [email]");
    assert_eq!(observation["boundaryClass"], "pii");
    let allowed = ["--class", "pii", "--allow", "tool:contact-lookup"];
    for question in ["薬缶の隣の棚", "shelf of walnut", "녹차는 어디에"] {
        let recall = ["memory", "recall", question, "--search", "episodes"];
        place.run(&[&recall[..], &allowed].concat()).expect(0).says(&["녹차", "薬缶", "walnut"]);
        place.run(&recall).expect(1);
    }
    let id = observation["id"].as_str().unwrap();
    let shown = place.run(&["memory", "show", id]).expect(0);
    shown.says(&["薬缶の隣の棚です。", "place: write to [email]", "salience 0.50", "said"]);
    let record = place.run(&["memory", "show", id, "--json"]).expect(0).json();
    assert_eq!(record["reflection"]["reasons"], serde_json::json!(["said"]));
    place.run(&["memory", "observe", "x", "--note", "place"]).expect(2);
    place.run(&["memory", "observe", "x", "--note", "Place=x"]).expect(2).complains(&["a-z"]);
    place.run(&["memory", "forget", "--unit", id]).expect(0).says(&["nothing is left"]);
    let store = fs::read(place.path(".trefoil/store.db")).unwrap();
    for erased in ["薬缶の隣の棚", "shelf of walnut", "write to [email]"] {
        assert!(!store.windows(erased.len()).any(|bytes| bytes == erased.as_bytes()), "{erased}");
    }
}

#[test]
fn what_was_cut_out_is_nowhere_and_the_rest_is_personal() {
    let place = Place::new();
    let words = "I work at the city library; write to mika@example.com there.";
    let observed =
        place.run_with(&["memory", "observe", "--actor", "Mika", "--json"], words).expect(0).json();
    assert_eq!(observed["observation"]["boundaryClass"], "pii");
    assert!(observed["observation"]["content"].as_str().unwrap().contains("write to [email]"));
    place.run(&["memory", "recall", "city library"]).expect(1);
    let personal = ["memory", "recall", "city library", "--class", "pii"];
    place.run(&personal).expect(3).complains(&["no tag of the request may see any of them"]);
    place
        .run(&[&personal[..], &["--allow", "tool:contact-lookup"]].concat())
        .expect(0)
        .says(&["city library", "pii"]);
    let store = fs::read(place.path(".trefoil/store.db")).unwrap();
    let log = fs::read(place.path(".trefoil/store.db-wal")).unwrap_or_default();
    let address = b"mika@example.com";
    assert!(![store, log].concat().windows(address.len()).any(|bytes| bytes == address));
}

#[test]
fn feedback_moves_a_claim_once_a_minute_and_is_shown() {
    let place = told();
    let tea = claim(&place, "green tea");
    let heard = place.run(&["memory", "feedback", &tea, "helpful", "--json"]).expect(0).json();
    let moved = |name: &str| {
        heard["updated"][name].as_f64().unwrap() - heard["previous"][name].as_f64().unwrap()
    };
    assert!((moved("utility") - 0.10).abs() < 1e-6 && (moved("confidence") - 0.05).abs() < 1e-6);
    let shown = place.run(&["memory", "show", &tea]).expect(0);
    shown.says(&["1 opinion", "helpful", "made from", "I live in Kyoto and I prefer green tea."]);
    place.run(&["memory", "feedback", "clm_none", "helpful"]).expect(3).complains(&["clm_none"]);
    place.run(&["memory", "feedback", &tea, "nice"]).expect(2).complains(&["helpful"]);
}

#[test]
fn a_context_is_packed_within_its_budget() {
    let place = told();
    let packed = place
        .run(&[
            "memory",
            "context",
            "green tea",
            "--about",
            "A dinner.",
            "--window",
            "500",
            "--json",
        ])
        .expect(0)
        .json();
    assert_eq!(packed["pack"]["budget"], 300);
    assert!(packed["pack"]["tokens"].as_u64().unwrap() <= 300);
    let text = packed["pack"]["text"].as_str().unwrap();
    for part in ["A dinner.", "Mika: I prefer green tea.", "会場を予約しなければならない"]
    {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
}

#[test]
fn looking_after_memory_can_be_tried_first() {
    let place = told();
    let done = place.run(&["memory", "maintain", "--dry-run", "--json"]);
    assert_eq!(done.json()["dryRun"], true);
    place.run(&["memory", "maintain", "--dry-run"]).says(&["nothing was changed"]);
}

#[test]
fn what_is_forgotten_is_gone_with_what_was_made_from_it() {
    let place = told();
    let tea = claim(&place, "green tea");
    let receipt = place.run(&["memory", "forget", "Mika", "--json"]).expect(0).json();
    assert_eq!((&receipt["hits"], &receipt["removed"]["episode"]), (&0.into(), &1.into()));
    place.run(&["memory", "show", &tea]).expect(1);
    place.run(&["memory", "recall", "Kyoto"]).expect(1);
    place.run(&["memory", "recall", "매운 음식"]).expect(0);
    place.run(&["memory", "forget", "Mika"]).expect(1).says(&["nothing to forget"]);
    let spicy = claim(&place, "매운 음식");
    place.run(&["memory", "forget", "--unit", &spicy]).expect(0).says(&["nothing is left"]);
    place.run(&["memory", "forget"]).expect(2);
    fs::write(place.path("tides.md"), "Spring tides come with a full moon.").unwrap();
    place.run(&["index", "tides.md"]).expect(0);
    place.run(&["memory", "forget", "--document", "tides.md"]).expect(0).says(&["1 file"]);
    place.run(&["search", "tides"]).expect(1);
}

#[test]
fn a_policy_is_shown_checked_and_applied() {
    let place = told();
    let policy = place.run(&["memory", "policy", "show"]).expect(0).stdout;
    fs::write(place.path("policy.yaml"), policy.replace("1.0.0", "1.1.0")).unwrap();
    let apply = ["memory", "policy", "apply", "policy.yaml"];
    place.run(&[&apply[..], &["--dry-run"]].concat()).expect(0).says(&["not applied"]);
    place.run(&["memory", "show"]).expect(0).says(&["policy     1.0.0"]);
    place.run(&apply).expect(0).says(&["policy 1.1.0 holds"]);
    place.run(&["memory", "show"]).expect(0).says(&["policy     1.1.0", "episode    3"]);
    place.run(&["memory", "policy", "show", "1.0.0"]).expect(0).says(&["version: 1.0.0"]);
    place.run(&["memory", "policy", "show", "7.0.0"]).expect(3).complains(&["7.0.0"]);
    fs::write(place.path("policy.yaml"), policy.replace("alpha: 0.65", "alpha: 2")).unwrap();
    place.run(&apply).expect(2).complains(&["alpha"]);
}

#[test]
fn bad_input_is_told_as_such() {
    let place = Place::new();
    place.run(&["memory", "recall", "x"]).expect(3).complains(&["trefoil index"]);
    place.run(&["memory", "observe", ""]).expect(2).complains(&["1–65,536 bytes"]);
    place.run(&["memory", "observe", "x", "--days", "91"]).expect(2).complains(&["1–90 days"]);
    place.run(&["memory", "observe", "x", "--class", "secret"]).expect(3).complains(&["secret"]);
    place.run(&["memory", "observe", "x", "--source-id", "../x"]).expect(2).complains(&["upwards"]);
    place.run(&["memory", "recall", "x", "--limit", "51"]).expect(2).complains(&["1–50"]);
}
