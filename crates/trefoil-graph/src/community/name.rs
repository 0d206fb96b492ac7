/// The name of a community, from the names of its members, the most important first:
/// "A", "A & B" or "A, B & N others".
pub fn community_name<S: AsRef<str>>(members: &[S]) -> String {
    match members {
        [] => String::new(),
        [a] => a.as_ref().to_owned(),
        [a, b] => format!("{} & {}", a.as_ref(), b.as_ref()),
        [a, b, _] => format!("{}, {} & 1 other", a.as_ref(), b.as_ref()),
        [a, b, rest @ ..] => format!("{}, {} & {} others", a.as_ref(), b.as_ref(), rest.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(members: &[&str], expected: &str) {
        assert_eq!(community_name(members), expected);
    }

    #[test]
    fn a_name_has_two_members_and_the_number_of_the_rest() {
        check(&[], "");
        check(&["Scrooge"], "Scrooge");
        check(&["東京", "大阪"], "東京 & 大阪");
        check(&["서울", "부산", "대구"], "서울, 부산 & 1 other");
        check(&["a", "b", "c", "d", "e"], "a, b & 3 others");
    }
}
