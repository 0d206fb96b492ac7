//! Nouns of Korean without a dictionary: words with their particles taken off, and
//! the bare nouns before them.

use trefoil_core::MentionKind;

use super::found::Found;
use crate::{
    script::{Run, Script, runs},
    word_list::WordList,
};

/// Longest noun phrase, in words.
const LONGEST_PHRASE: usize = 3;

/// Longest word that may be a noun, in syllables.
const LONGEST_WORD: usize = 12;

/// Confidence of a name that says what it is: 서울시, 한국은행.
const NAME: f32 = 0.7;
/// Of several nouns that stand together.
const PHRASE: f32 = 0.65;
/// Of a noun of three syllables and more.
const NOUN: f32 = 0.6;
/// Of two syllables.
const SHORT_NOUN: f32 = 0.5;

/// What a word is, told from its ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word<'t> {
    /// A noun without a particle; more may follow.
    Bare(Noun<'t>),
    /// A noun with a particle or with `하다`: its phrase ends here.
    Last(Noun<'t>),
    /// A verb, an adverb, a determiner: no noun.
    Other,
}

/// A noun at the start of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Noun<'t> {
    pub(crate) text: &'t str,
    pub(crate) is_name: bool,
}

impl<'t> Noun<'t> {
    /// A name if its last syllables say so.
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, is_name: text.chars().nth(2).is_some() && ends_name(text) }
    }
}

/// Pushes the nouns of `part`, which starts at `offset` of the text.
pub(crate) fn extract(part: &str, offset: usize, found: &mut Found<'_>) {
    extract_by(part, offset, |run| word(run.text), found);
}

/// Pushes the nouns that `word` finds in the words of `part`, which starts at `offset`
/// of the text, and the groups of them.
pub(crate) fn extract_by<'t>(
    part: &'t str,
    offset: usize,
    word: impl Fn(&Run<'t>) -> Word<'t>,
    found: &mut Found<'_>,
) {
    let mut phrase = Phrase::default();
    let mut end = 0;
    for run in runs(part).filter(|run| run.script == Script::Hangul) {
        let between = part.get(end..run.start).unwrap_or_default();
        end = run.start + run.text.len();
        if end > run.text.len() && between != " " {
            phrase.flush(part, offset, found);
        }
        // `React를`, `1996년`: an ending or a counter, not a word.
        let before = part.get(..run.start).and_then(|head| head.chars().next_back());
        if before.is_some_and(char::is_alphanumeric) {
            phrase.flush(part, offset, found);
            continue;
        }
        let is_followed = part.get(end..).is_some_and(|rest| rest.starts_with(' '));
        let (noun, goes_on) = match word(&run) {
            Word::Other => (None, false),
            Word::Bare(noun) => (Some(noun), is_followed),
            Word::Last(noun) => (Some(noun), false),
        };
        phrase.nouns.extend(noun.map(|noun| (run.start, noun)));
        if !goes_on {
            phrase.flush(part, offset, found);
        }
    }
    phrase.flush(part, offset, found);
}

/// Nouns that stand together, by place.
#[derive(Debug, Default)]
struct Phrase<'t> {
    nouns: Vec<(usize, Noun<'t>)>,
}

impl Phrase<'_> {
    /// Pushes the phrase and each of its nouns, and forgets them.
    fn flush(&mut self, part: &str, offset: usize, found: &mut Found<'_>) {
        for &(start, noun) in &self.nouns {
            let length = noun.text.chars().count();
            if length < 2 || is_common(noun.text) {
                continue;
            }
            let (kind, confidence) = match length {
                _ if noun.is_name => (MentionKind::ProperNoun, NAME),
                3.. => (MentionKind::NounPhrase, NOUN),
                _ => (MentionKind::NounPhrase, SHORT_NOUN),
            };
            found.push(noun.text, offset + start, kind, confidence);
        }
        let first = self.nouns.len().saturating_sub(LONGEST_PHRASE);
        let nouns = self.nouns.get(first..).unwrap_or_default();
        // A noun that says nothing alone says nothing at the edge of a phrase.
        let is_common = |(_, noun): &&(usize, Noun<'_>)| is_common(noun.text);
        let lead = nouns.iter().take_while(is_common).count();
        if let Some([(start, _), .., (last, noun)]) = nouns.get(lead..) {
            let end = last + noun.text.len();
            if let Some(name) = part.get(*start..end) {
                found.push(name, offset + start, MentionKind::NounPhrase, PHRASE);
            }
        }
        self.nouns.clear();
    }
}

/// Reads a word by its ending.
pub(crate) fn word(text: &str) -> Word<'_> {
    let length = text.chars().count();
    if length > LONGEST_WORD || is_function_word(text) {
        return Word::Other;
    }
    // 정의하려면 → 정의, 사용된다 → 사용; a verb of one syllable is no noun.
    if let Some(noun) = verbal_noun(text) {
        return if noun.chars().nth(1).is_some() {
            Word::Last(Noun::new(noun))
        } else {
            Word::Other
        };
    }
    if let Some(noun) = kept_noun(text).or_else(|| predicate_noun(text)) {
        return Word::Last(Noun::new(noun));
    }
    let is_verb =
        text.ends_with('다') && !["바다", "캐나다", "판다", "소다", "람다"].contains(&text);
    if is_verb || PREDICATES.ends(text) {
        return Word::Other;
    }
    for particle in PARTICLES.endings(text) {
        if let Some(noun) = text.strip_suffix(particle).filter(|_| !keeps(text, particle)) {
            // 때에는, 책으로: the noun is of one syllable.
            if noun.chars().nth(1).is_some() {
                return if is_function_word(noun) {
                    Word::Other
                } else {
                    Word::Last(Noun::new(plural(noun)))
                };
            } else if particle.chars().nth(1).is_some() {
                return Word::Other;
            }
        }
    }
    // 책을: a noun of one syllable.
    let is_short = length < 2 || length == 2 && text.ends_with(['은', '는', '을', '를', '에']);
    if is_short && !KEPT.contains(text) { Word::Other } else { Word::Bare(Noun::new(plural(text))) }
}

/// The noun before a form of 하다 or 되다.
fn verbal_noun(text: &str) -> Option<&str> {
    let stems =
        ['하', '되', '한', '할', '함', '합', '해', '했', '된', '될', '됨', '됩', '돼', '됐', '시'];
    let (at, stem) = text.char_indices().rfind(|(at, c)| *at > 0 && stems.contains(c))?;
    let ending = text.get(at + stem.len_utf8()..)?;
    let is_form = match stem {
        '하' | '되' => ending.is_empty() || VERB_ENDINGS.contains(ending),
        '한' | '된' | '할' | '될' => {
            matches!(ending, "" | "다" | "다고" | "다는" | "다면" | "지" | "까" | "수" | "때")
        }
        '함' | '됨' => matches!(ending, "" | "을" | "은" | "이" | "으로" | "으로써" | "에"),
        '합' | '됩' => ending.starts_with('니'),
        '해' | '돼' => ending.is_empty() || LINKED_VERBS.contains(ending),
        '했' | '됐' => {
            ["다", "으", "을", "습", "고", "지", "는"].iter().any(|start| ending.starts_with(start))
        }
        '시' => ["키", "켜", "킨", "킬", "켰", "킵"].iter().any(|start| ending.starts_with(start)),
        _ => false,
    };
    let noun = text.get(..at)?;
    // 북한, 제한, 무한: a word of two syllables is taken as it is.
    let is_word = ending.is_empty() && text.chars().count() <= 2;
    (is_form && !is_word).then_some(noun)
}

/// The noun of 수도이다, which is the predicate of its sentence.
fn predicate_noun(text: &str) -> Option<&str> {
    let copulas = ["이었습니다", "이었다", "입니다", "이에요", "이다"];
    let noun = copulas.iter().find_map(|copula| text.strip_suffix(copula))?;
    (noun.chars().nth(1).is_some() && !is_function_word(noun)).then_some(noun)
}

/// The noun of 전문가는, whose end looks like that of a verb.
fn kept_noun(text: &str) -> Option<&str> {
    let noun = text.strip_suffix(['은', '는', '을', '를', '의', '에'])?;
    KEPT.ends(noun).then_some(noun)
}

/// True for a noun that says nothing without a context.
pub(crate) fn is_common(noun: &str) -> bool {
    COMMON.contains(noun)
}

/// True if `text` is a noun that only looks as if it ended in `particle`.
fn keeps(text: &str, particle: &str) -> bool {
    KEPT.endings(text).any(|noun| noun.ends_with(particle))
}

pub(crate) fn plural(noun: &str) -> &str {
    match noun.strip_suffix('들') {
        Some(one) if one.chars().nth(1).is_some() => one,
        _ => noun,
    }
}

pub(crate) fn is_function_word(word: &str) -> bool {
    FUNCTION_WORDS.contains(word)
}

/// True if the last syllables say that the word is the name of a place or a body.
fn ends_name(noun: &str) -> bool {
    static ENDINGS: WordList = WordList::new(
        "특별시 광역시 대학교 대학 은행 공화국 제국 왕국 왕조 시대 전쟁 협회 위원회 정부 공원 산맥
         반도 시청 도청 구청 신문 방송 그룹 전자",
    );
    ENDINGS.ends(noun)
}

/// Particles.
static PARTICLES: WordList = WordList::new(
    "에서부터 으로부터 으로서의 으로써의 이라고도 까지는 까지도 로부터 보다는 보다도 부터는 에게는
     에게도 에게서 에서는 에서도 에서만 으로는 으로도 으로만 으로서 으로써 이든지 이라고 이라는
     이라도 이라면 적으로 과는 과도 과의 까지 께서 들도 들은 들을 들의 들이 라고 라는 라도 라면 로는
     로도 로만 로서 로써 로의 마다 마저 만큼 밖에 보다 부터 에게 에는 에도 에만 에서 에의 와는 와도
     와의 으로 이고 이나 이란 이며 인데 적인 조차 처럼 한테 가 과 나 는 도 란 로 를 만 에 와 은 을
     의 이 인 적",
);

/// What may follow 하 and 되 in a verb.
static VERB_ENDINGS: WordList = WordList::new(
    "거나 게 고 고서 고자 기 기가 기도 기로 기를 기에 기까지 기도록 기만 기보다 기위해 나 느냐 는
     는가 는데 는지 니 다 다가 다면 더라도 던 도록 든 든지 며 면 면서 므로 세요 십시오 시오 어 어도
     어서 어야 여 여도 여서 여야 였다 였고 었다 었고 었던 였던 였으며 었으며 으며 은 자 자마자 지
     지도 지만 지요 지를 려고 려는 려면 라 라고 네요 죠",
);

/// What may follow 해 and 돼.
static LINKED_VERBS: WordList = WordList::new("서 야 도 요 주는 줍니다 지는 진 보세요 보겠습니다");

/// Endings of verbs and adjectives that no noun has.
static PREDICATES: WordList = WordList::new(
    "갖는 같은 거나 겠다 군요 기는 깊은 낮은 내고 넓은 네요 높은 는다 는데 늦은 니까 니다 더라도 던
     도록 든지 듯이 때마다 려고 려는 려면 려졌 려진 로운 롭게 리고 리는 만드는 만든 만들 많은 면서
     므로 받는 받은 세요 쉬운 쉽게 스러운 스럽게 아서 아야 아요 아진 않게 않고 않는 않다 않아 않은
     않을 았다 어떻게 어서 어야 어요 어진 없게 없고 없는 없다 없어 없을 없이 었다 에요 여진 였다
     예요 오고 우고 워진 으로서 으며 으면 은데 이는 이다 이지 읽는 읽은 있게 있고 있는 있다 있어
     있었 있을 있지 작은 적이고 적이며 젊은 좋은 지고 지는 지만 짧은 키고 해요",
);

/// Nouns whose last syllable looks like a particle.
static KEPT: WordList = WordList::new(
    "가로 가을 각도 강도 강원도 강의 개인 거북이 거의 겨울 결과 경과 경기도 경로 경상도 고도 고양이
     곤란 과학자가 국가 국민의례 군인 규칙적 금지 기만 기와 기적 길이 깊이 나라 나이 난이도 낭만
     넓이 노을 노인 논란 논의 놀이 농도 높이 누나 누적 다음 단가 대가 대만 도로 도메인 동의 디자인
     디테일인 라인 러시아나 로그인 마을 마음 먼지 메시지 메인 면적 목적 문의 물가 미국인 미로
     민주주의 밀도 바나나 반도 반란 방지 범위 본인 부과 부인 불만 비만 빈도 사과 사업가 사은 사이
     사회주의 상인 서울 선로 성과 성적 세로 소나 소설가 속도 수도 스페인 승인 시가 시도 시에 시인
     신라 실적 아이 어린이 언제나 업적 역사가 연인 예술가 예의 오만 오프라인 온도 온라인 와와 와인
     외국인 요인 용도 우리나라 원가 원로 원숭이 원인 유로 유적 유지 음악가 의도 이란 이미지 인가
     인도 일본인 자만 자본주의 작가 전라도 전문가 정도 정의 정지 정치가 제도 제로 제주도 종이 주가
     주의 주인 중국인 중요도 증가 지도 지은 진로 차이 참가 처음 철도 체인 초과 추가 추적 충청도
     카메라 코인 타인 태도 토란 토지 통과 통로 패키지 페이지 편지 평가 포도 표적 프로 플란 플러그인
     피로 하나 학과 한국인 한반도 할인 합의 항로 해상도 해적 허가 협의 호랑이 혼란 화가 확인 회로
     회의 효과 효도 휴가 흔적",
);

/// Determiners, pronouns, adverbs, conjunctions and formal nouns.
static FUNCTION_WORDS: WordList = WordList::new(
    "가끔 가는 가능한 가면 가장 각 각각 간 간단한 간단히 갑자기 강한 같다 같습니다 같은 같이 거의
     걸쳐 것 것은 것을 것이 것이다 것입니다 것처럼 게다가 겨우 결국 경우 경우가 경우는 경우에
     경우에는 계속 곧 과연 관하여 관한 관해 그 그것 그것들 그것은 그것을 그것이 그냥 그녀 그녀는
     그는 그대로 그들 그들은 그들의 그래도 그래서 그러나 그러면 그러므로 그런 그런데 그럼 그렇게
     그렇지 그리고 그리하여 그만큼 그의 기본적으로 긴 깊게 깊은 꼭 나 나는 나면 나쁜 나중에 낮은 내
     내는 내의 너무 넓은 네 높게 높은 누가 누구 누구나 느린 다 다른 다시 다양한 다음 다음과 다행히
     단 단순히 단지 당신 당신은 당신의 당신이 대개 대신에 대체로 대하여 대한 대해 대해서 더 더구나
     더욱 더이상 덕분에 덜 도대체 동시에 동안 동안에 동일한 됐다 되 되고 되는 되며 되면 되어 된 된다
     될 됩니다 두 둘 둘째 뒤 드는 드디어 들 등 등등 등을 등의 등이 따라 따라서 따로 따르면 따른 때
     때는 때로 때마다 때문 때문에 때문이다 때문입니다 때의 또 또는 또한 마세요 마찬가지로 마치
     마침내 막 만 만드 만들기 만들어 만약 만일 많은 많이 말 매 매우 먼저 명확하게 몇 몇몇 모두
     모두를 모든 모든것 무려 무슨 무엇 무엇을 무엇이 무엇인가요 물론 및 바 바랍니다 바로 바로는
     반드시 방금 별로 보는 보다 보면 보세요 본 비록 비슷한 비해 빠르게 빠른 빨리 사실 상당히 새 새로
     새로운 새롭게 서로 설령 세 셋째 수 수가 수는 수도 수많은 순간 쉬운 쉽게 스스로 실제 실제로 쓰는
     쓰면 쓴 아니 아니다 아니라 아니면 아닌 아닙니다 아래 아래와 아마 아마도 아무 아무것도 아무도
     아무런 아무튼 아예 아주 아직 아직도 안 않 앞 앞서 애초에 약 약간 약한 양 어느 어디 어디서
     어디에 어디에서 어떠한 어떤 어떻게 어려운 어쨌든 언제 언제나 얼마 얼마나 없는 없다 없습니다
     없이 여기 여기서 여기에 여기에서 여러 여러분 여러분의 여러분이 여럿 여전히 역시 예를 예시
     예컨대 오는 오늘 오늘날 오면 오직 오히려 온 올 완전한 완전히 왜 왜냐하면 외에 우리 우리가
     우리는 우리를 우리의 우선 우연히 위 위에 위에서 위와 위의 위하여 위한 위해 위해서 유일한 의
     의하면 의하여 의한 의해 의해서 이 이것 이것들 이것은 이것을 이것이 이때 이라 이란 이러한 이런
     이렇게 이루 이를 이를테면 이름 이만큼 이미 이번 이상적 이외 이외에 이제 이제는 이처럼 이후 인
     인하여 인한 인해 일 일단 일반적으로 일부 일부러 일종의 입니다 있는 있다 있습니다 자 자기 자꾸
     자동으로 자세히 자신 자신의 자신이 자연스럽게 자주 작게 작은 잘 잠깐 잠시 저 저는 저희 적
     적어도 전 전혀 점점 정말 정말로 정확하게 정확히 제 제가 제대로 제일 좀 좁은 종종 좋은 주는 주로
     주면 주요 준 줄 중 중에 중에서 중요한 즉 즉시 지 지금 직접 짧은 차라리 참 처럼 처음 천천히 첫
     첫째 충분히 크게 큰 통하여 통한 통해 통해서 특별한 특정 특히 편이 필요한 하게 하고 하기 하나
     하나는 하나로 하나의 하는 하면 하세요 하여 하지만 한 한다 한번 한편 할 함께 합니다 항상 해 해당
     해당하는 했다 향한 향해 혹시 혹은 확실히 훨씬",
);

/// Nouns that say nothing without a context.
static COMMON: WordList = WordList::new(
    "가능 가능성 가운데 가지 감소 강조 강화 개념 개발 개선 개수 거리 검색 결과 결정 경우 경험 계기
     계획 고려 공개 과정 관계 관련 관리 구성 구현 국내 규모 그곳 기간 기능 기본 기준 기회 나머지
     내부 내용 노력 능력 다수 다음 단계 단순 단어 담당 답변 당사자 당시 대답 대부분 대상 대신 도움
     도착 동안 동작 등록 등장 마련 마음 마지막 말씀 명시 모습 모양 목록 목적 문제 물건 반대 반면
     반복 반환 발견 발생 발전 발표 방법 방식 방향 변경 변화 변환 보통 복사 부분 분야 불가능 비교
     비교적 사람 사례 사실 사용 사이 사항 삭제 상황 새로 생각 생성 생활 선언 선택 설계 설명 설정
     성공 섹션 소개 소유 수준 수행 순간 순서 시간 시기 시대 시작 시점 실패 실행 아래 안내 앞부분
     업데이트 여기저기 역할 연결 영향 예시 예전 예정 예제 오른쪽 완료 외부 왼쪽 요청 위치 위치한
     유용 유지 의미 의해 이곳 이동 이름 이번 이상 이외 이용 이유 이전 이하 이해 이후 인정 일반 일부
     일이 입력 자리 자세 작동 작성 작업 장소 저곳 저장 적용 전달 전부 전체 정도 정리 정보 제거 제공
     제외 제작 조건 조금 조사 존재 종료 종류 주의 주장 준비 중간 중단 중심 중요 증가 지금 지역 지원
     지정 직접 진행 차이 참고 참여 참조 처리 처음 초기 초반 최근 최대 최소 최종 추가 출력 출발 특징
     포함 표시 필수 필요 하나 한번 항목 해결 현재 형태 호출 확인 활동 활용 효과 후반",
);
