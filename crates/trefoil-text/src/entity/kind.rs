//! What a name names, as far as the name says it.

use trefoil_core::{EntityType, MentionKind};

use crate::{script::Script, word_list::WordList};

/// The type of the entity that `name` names, whose normalised form is `key`.
pub(crate) fn entity_type(name: &str, key: &str, kind: MentionKind) -> EntityType {
    if kind == MentionKind::Code {
        return EntityType::CODE;
    }
    if kind == MentionKind::NounPhrase {
        return EntityType::CONCEPT;
    }
    let by_form = if name.chars().any(|c| Script::of(c).is_cjk()) {
        by_ending(key)
    } else if name.starts_with(char::is_uppercase) {
        by_word(key)
    } else {
        None
    };
    let is_topic = matches!(kind, MentionKind::Title | MentionKind::Heading | MentionKind::Link);
    by_form.unwrap_or(if is_topic { EntityType::TOPIC } else { EntityType::NAME })
}

/// True for a form of address in small letters that is no part of the name after it:
/// `Dr. Jordan Hayes` is Jordan Hayes, but `Queen Victoria` is called so.
pub(crate) fn is_address(lower: &str) -> bool {
    ADDRESSES.contains(lower)
}

/// The type that the last word of a Latin name says, or the word before its `of`.
fn by_word(key: &str) -> Option<EntityType> {
    let (head, first) = (key.split(" of ").next()?, key.split(' ').next()?);
    let last =
        |words: &WordList, of: &str| of.rsplit(' ').next().is_some_and(|word| words.contains(word));
    let is = |words: &WordList| key.contains(' ') && (last(words, head) || last(words, key));
    let begins = |words: &WordList| key.contains(' ') && words.contains(first);
    match () {
        () if begins(&RANKS) => Some(EntityType::PERSON),
        () if is(&ORGANIZATIONS) => Some(EntityType::ORGANIZATION),
        () if is(&EVENTS) => Some(EntityType::EVENT),
        () if is(&PLACES) || begins(&BEFORE_PLACES) => Some(EntityType::PLACE),
        () => None,
    }
}

/// The type that the last characters of a Japanese or Korean name say.
fn by_ending(key: &str) -> Option<EntityType> {
    // Nothing is named by an ending alone.
    let ends = |endings: &WordList| endings.endings(key).any(|end| end.len() < key.len());
    match () {
        () if ends(&ORGANIZATION_ENDINGS) => Some(EntityType::ORGANIZATION),
        () if ends(&EVENT_ENDINGS) => Some(EntityType::EVENT),
        () if key.chars().nth(2).is_some() && ends(&PLACE_ENDINGS) => Some(EntityType::PLACE),
        () => None,
    }
}

static ADDRESSES: WordList =
    WordList::new("agent agents detective dr lt miss mr mrs ms prof professor sgt");

/// Ranks that people are called by.
static RANKS: WordList =
    WordList::new("dr emperor king lady lord mr mrs pope prince princess queen sir");

/// Last words of bodies of people.
static ORGANIZATIONS: WordList = WordList::new(
    "academy agency army association authority bank board brigade bureau church club co college
     commission committee company conservatory corporation corps council court department division
     fc federation force foundation fund group hospital inc institute institution laboratories
     laboratory league library ltd ministry museum navy network office orchestra organisation
     organization parliament party police press project records regiment school senate service
     society team trust union university",
);

/// Last words of what happens.
static EVENTS: WordList = WordList::new(
    "accident awards battle campaign championship championships conference congress cup disaster
     earthquake election festival games massacre mission olympiad olympics operation rebellion
     revolution riots siege summit tour tournament treaty war wars",
);

/// Last words of places.
static PLACES: WordList = WordList::new(
    "airport arena avenue base basin bay beach bridge canyon castle cathedral cave city coast county
     creek dam desert district empire falls forest glacier gulf harbor harbour hill hills hotel
     island islands kingdom lake mountain mountains ocean palace park peninsula province region
     republic river road sea square stadium state states station street theater theatre tower town
     township valley village",
);

static BEFORE_PLACES: WordList = WordList::new("fort lake mount mt");

static ORGANIZATION_ENDINGS: WordList = WordList::new(
    "大学 高校 会社 銀行 財団 省 庁 局 党 協会 学会 委員会 議会 幕府 新聞 大学院 研究所 대학교 대학
     은행 협회 위원회 정부 시청 도청 구청 신문 방송 그룹 전자 연구소 학회 의회",
);

static EVENT_ENDINGS: WordList =
    WordList::new("戦争 条約 革命 事件 の戦い の乱 大戦 전쟁 조약 혁명 사건 대전");

static PLACE_ENDINGS: WordList = WordList::new(
    "大陸 公園 神社 空港 帝国 王国 共和国 合衆国 都 道 府 県 市 区 町 村 郡 州 島 川 山 湖 海 駅 寺
     城 공화국 제국 왕국 공원 산맥 반도 시 군",
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::normalize_name;

    #[test]
    fn a_name_says_what_it_names() {
        for (name, kind, expected) in [
            ("Bank of England", MentionKind::ProperNoun, EntityType::ORGANIZATION),
            ("University of Texas", MentionKind::Title, EntityType::ORGANIZATION),
            ("Red River", MentionKind::ProperNoun, EntityType::PLACE),
            ("Mount Everest", MentionKind::ProperNoun, EntityType::PLACE),
            ("Battle of Hastings", MentionKind::Title, EntityType::EVENT),
            ("Queen Victoria", MentionKind::ProperNoun, EntityType::PERSON),
            ("Queen", MentionKind::ProperNoun, EntityType::NAME),
            ("River", MentionKind::ProperNoun, EntityType::NAME),
            ("Getting Started", MentionKind::Heading, EntityType::TOPIC),
            ("river bank", MentionKind::NounPhrase, EntityType::CONCEPT),
            ("useState", MentionKind::Code, EntityType::CODE),
            ("早稲田大学", MentionKind::ProperNoun, EntityType::ORGANIZATION),
            ("京都市", MentionKind::ProperNoun, EntityType::PLACE),
            ("第二次世界大戦", MentionKind::Title, EntityType::EVENT),
            ("吾輩は猫である", MentionKind::Quoted, EntityType::NAME),
            ("서울특별시", MentionKind::ProperNoun, EntityType::PLACE),
            ("한국은행", MentionKind::ProperNoun, EntityType::ORGANIZATION),
        ] {
            assert_eq!(entity_type(name, &normalize_name(name), kind), expected, "{name}");
        }
    }
}
