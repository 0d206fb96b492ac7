//! How Korean questions ask for an overview and for relations.

use trefoil_core::ByteSpan;
use trefoil_text::split_particle;

use super::grammar::{Pattern, Source, between, when};

/// The patterns; see [`Source`] for how they are written.
pub(super) const SOURCE: Source = Source {
    lead: LEAD,
    pairs: PAIRS,
    global: GLOBAL,
    related: RELATED,
    before: BEFORE,
    after: AFTER,
    nameless: NAMELESS,
    of: Some("의 "),
    split,
};

/// Connectives in front of the question proper.
const LEAD: &str =
    r"^(?:(?:혹시|그럼|그러면|저기|저기요|그런데|근데|우선|먼저|안녕하세요|죄송한데)[,.!]? )*";

/// Before a side of a pair: where it holds, what it is about.
const BEFORE: &str = r"^(?:.*(?:에서|에서의|에서는|에 있어서|경우|중에서|[,.:?!]) )?(?:(?:이|그|저|예를 들어|보통) )?";

/// After a side of a pair: what is between both, and its particle.
const AFTER: &str = r"(?:(?: ?사이| 간| 둘| 두 가지| 각각)(?:의|에|에는)?| 중(?:에|에서)?)$";

/// Pronouns and words that stand for both sides.
const NAMELESS: &str =
    r"^(?:이것|그것|저것|이거|그거|저거|이것들|무엇|뭐|서로|둘|두 가지|다른 것|나|저)$";

/// `A와 B`, `A과 B`, `A랑 B`, `A하고 B`, `A 및 B`.
fn split(both: &str) -> Vec<ByteSpan> {
    let mut separators = Vec::new();
    let mut start = 0;
    for piece in both.split_inclusive(char::is_whitespace) {
        let end = start + piece.len();
        let word = piece.trim_end();
        if matches!(word, "및" | "혹은" | "또는") {
            separators.push(start..end);
        } else if let Some((stem, _)) =
            split_particle(word).filter(|(_, particle)| JOINING.contains(particle))
        {
            separators.push(start + stem.len()..end);
        } else if let Some(stem) = word.strip_suffix(',') {
            separators.push(start + stem.len()..end);
        }
        start = end;
    }
    // What joins nothing to the right is part of the last side: `A랑 B랑`.
    separators.retain(|separator| separator.end < both.len());
    between(both, separators.into_iter())
}

/// The particles that mean "and".
const JOINING: &[&str] = &["와", "과", "랑", "이랑", "하고"];

const PAIRS: &[Pattern] = &[
    // A는 B와 어떻게 다른가
    when(r"{a}(?:은|는|이|가) {b}(?:와|과|이랑|랑|하고) (?:어떻게|뭐가|무엇이|얼마나|어떤 ?점이|어떤 면에서|어떤) ?(?:다르|다른|달라|다릅|관련|비슷|연관|관계)"),
    // A와 B의 차이, A와 B의 처우 차이, A와 B 사이에 어떤 관계가 있나요
    when(r"(?P<ab>[^?!]+?(?:(?:와|과|랑|하고) |\s및 )[^?!]+?)(?:의|은|는|이|가|을|를|랑|하고)?(?:(?: ?사이| 간| 둘)(?:의|에|에는)?)?(?:의 {m}|(?: (?:어떤|무슨|서로|서로의)))? ?(?:관계성?|관련성?|연관성?|연관 ?관계|상관 ?관계|상관성|인과 ?관계|차이점?|다른 ?점|비교|공통점|비슷한 ?점|유사점|유사성|구분|구별|장단점 비교|상호 ?작용|연결 ?고리)(?:$|[?!.,\s]|가|이|는|은|를|을|에|도|란|의|라도|로|좀|해|하|했|분석|표)").unless(r"비교 ?연산|비교(?:하는|할) (?:방법|법|함수)"),
    // A와 B는 어떻게 다른가요
    when(r"(?P<ab>[^?!]+?(?:와|과|랑|하고) [^?!]+?)(?:은|는|이|가|랑|하고)? (?:서로 )?(?:어떻게|뭐가|뭐|무엇이|어디가|어떤 ?점이|어떤 면에서|어떤|얼마나) ?(?:다르|다른|달라|다릅|틀리|틀려|비슷|관련|연관|연결|구분|구별)"),
    // A와 B를 비교
    when(r"(?P<ab>[^?!]+?(?:와|과|랑|하고) [^?!]+?)(?:을|를) (?:서로 )?비교").unless(r"비교(?:하는|할) (?:방법|법|함수)"),
    // A와 B 중에 어느 것이
    when(r"(?P<ab>[^?!]+?(?:와|과|랑|하고) [^?!]+?) (?:중|중에|중에서|가운데|둘 중)(?: 하나만)? (?:뭐|무엇|어느|어떤|누가|어디)"),
    // A를 B와 비교
    when(r"{a}(?:을|를) {b}(?:와|과|이랑|랑|하고) 비교"),
    // A가 B에 미치는 영향, A는 B에 어떤 영향을, B에 대한 A의 영향
    when(r"{a}(?:이|가) {b}에(?:게)? ?(?:미치는|주는|끼치는) (?:영향|효과)"),
    when(r"{a}(?:은|는|이|가) {b}에(?:게)? (?:(?:어떤|어떻게|무슨|얼마나|큰) )?(?:영향|관련)"),
    when(r"{a}의 {b}에 (?:대한|미치는) 영향"),
    when(r"{b}에 (?:대한|미치는) {a}의 영향"),
    when(r"^{a} (?:vs\.?|대) {b}{end}"),
];

const GLOBAL: &[Pattern] = &[
    when(r"개요(?:가|는|에 대해|좀|만|를 ?(?:알|설|보여|요|말|정|부탁|좀|간)|{end})"),
    when(r"요약(?:해|본|좀|문|하면|하자면|부탁|을 ?(?:알|보여|부탁|줘|해|볼|원)|{end})")
        .unless(r"요약(?:하는| 기능| 버튼)|방법"),
    when(r"(?:전체|전반|전부|모두)(?:를|을)? ?(?:요약|정리|훑|개괄|살펴|통틀어|간추)"),
    when(
        r"전체(?:의)? ?(?:내용|주제|흐름|구조|그림|줄거리|개요|맥락|구성|윤곽|틀)|전체적(?:으로|인)|전체(?:에서|에) ?(?:반복|공통|걸쳐|나타|다루|자주)",
    ),
    when(
        r"주제(?:가|는|를|에 대해|들이|들을) ?(?:뭐|뭔|무엇|무슨|알려|설명|나열|정리|궁금|어떤|말)",
    ),
    when(
        r"(?:핵심|주요|주된|중심|공통|가장 큰|큰) ?(?:주제|내용|요점|논점|쟁점|아이디어|화제|메시지)(?:가|이|는|은|를|을|만|들|에|{end})",
    ),
    when(
        r"(?:무엇에|뭐에|무엇을|뭘) ?(?:관한|대한|다룬|다루는) ?(?:것|거|글|책|문서|자료|내용|이야기|논문|보고서|영화|소설)|(?:무엇|뭐)에 대해 (?:쓰|다루|말하|설명|이야기)|(?:무엇|뭐)(?:을|를|에 대해) 다루|뭘 다루",
    ),
    when(
        r"(?:어떤|무슨) (?:내용|이야기|얘기|주제|글|책|문서|자료)(?:인|이에|예요|입|이야|이죠|이 (?:있|나오|담)|가 (?:있|나오|담)|을 (?:다루|담)|를 (?:다루|담|하)|에 대|{end})",
    ),
    when(
        r"전반적(?:으로|인)|전반에 (?:대해|걸쳐)|큰 ?그림|큰 ?틀|한마디로|간추려|개괄|줄거리|골자",
    ),
    when(r"(?:요점|요지|취지)(?:가|이|는|은|를|을|만|{end})"),
    when(r"정리(?:를)? ?(?:해 ?(?:줘|주|달|줄)|부탁)").unless(
        r"(?:책상|방|옷|옷장|서랍|짐|냉장고|사진|파일|메일함|창고|책장|주방)(?:을|를|도)? ?정리",
    ),
];

const RELATED: &[Pattern] = &[
    when(r"(?:^|[\s,.?!])왜(?:[\s?!.,]|$|요|죠|지|그[런래렇]|이[런래렇]|인지|일까|냐{end}|냐고|안 |못 |들)"),
    when(r"어째서|어찌하여|(?:무엇|뭐|뭣) ?때문|(?:무슨|어떤) (?:이유|까닭)"),
    when(r"(?:는|은|한|던|된|인|의|할|을|난|린|운|간|온|진|긴|킨|쓴|산|든|[가-힣]ㄴ) (?:이유|까닭)(?:(?:가|는|란|이|은)? ?(?:뭐|뭔|무엇|무슨|궁금|알려|설명|있|어디|{end})|(?:를|을|에 대해|좀|도) ?(?:알|설명|말해|가르|궁금|찾|묻|정리))"),
    when(r"원인(?:(?:이|은)? ?(?:뭐|뭔|무엇|무슨|궁금|알려|설명|어디|{end})|(?:을|좀|에 대해) ?(?:알|설명|말해|가르|궁금|찾|파악))"),
    when(r"(?:의|미치는|주는|끼치는) 영향(?:은|이|을|에|{end})"),
    when(r"차이(?:점)?(?:이|가|는|은|를|을|에 대해|좀) ?(?:뭐|뭔|무엇|어떤|알|설명|궁금|있|나나|말해)|(?:의|간) (?:차이점?|관계|비교){end}"),
    when(r"(?:뭐가|무엇이|어떻게|어디가) (?:다르|달라|다른|다릅)|비교(?:해|하여|표| 좀) ?(?:줘|주|보|줄|{end})").unless(r"비교(?:하는|할) (?:방법|법|함수)"),
];
