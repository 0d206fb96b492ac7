//! Words that carry no meaning alone. They are indexed like any other, and a query
//! leaves them out as long as it has other words; only those in Hiragana, every third
//! word of Japanese prose, are no terms at all.

use crate::{script::Script, word_list::WordList};

/// True if `term`, lower-cased and not stemmed, is a function word of its script.
pub(crate) fn is_stop(script: Script, term: &str) -> bool {
    let list = match script {
        Script::Spaced => &ENGLISH,
        Script::Han => &KANJI,
        Script::Hiragana => &HIRAGANA,
        Script::Hangul => &HANGUL,
        Script::Katakana | Script::Mark | Script::Other => return false,
    };
    list.contains(term)
}

/// Articles, pronouns, prepositions, auxiliaries, question words, and what is left of
/// a contraction without its clitic (`don't` → `don`).
static ENGLISH: WordList = WordList::new(
    "a about after all also am an and any are aren as at be because been before being between both
     but by can could couldn did didn do does doesn doing don during each for from further had hadn
     has hasn have haven having he her here hers him his how i if in into is isn it its just me more
     most my no nor not of on only or other our out she should shouldn so some such than that the
     their them then there these they this those through to too us very was wasn we were weren what
     when where which while who whom whose why will with won would wouldn you your yours",
);

/// Question words and formal nouns.
static KANJI: WordList = WordList::new("事 何 何故 誰");

/// Particles, auxiliaries, demonstratives, question words and formal nouns of two
/// characters and more, and pieces of endings that the dictionary takes for words
/// (`てい` in `している`); a single Hiragana is never a term.
static HIRAGANA: WordList = WordList::new(
    "あっ あなた あの あり ありま ある あるいは あれ いう いえ いく いくつ いくら いた いつ いと
     いま いる いるか うち うに えて おいて おける および おり かって かつ かの かも から がま きた
     くだ くださ ください くらい けど けれど こう ここ こちら こと ことに この このように これ
     これら これらの ころ ござい ごと さい さえ させる さま さらに される さん しか しかし しく した
     したがって して してき しな しない しま しまう しょう しよう すか すなわち する すると すれば
     ずに せず せた せて せます せる せん そう そこ そこで そして その そのため それ それぞれ それで
     それに それら それらの たい たか ただ ただし たち たび ため たら たり だから だが だけ だった
     だれ ちゃん った ったか ったこ ったと ったの ったり って つい つつ つまり づい てい てか てき
     てく である でき できます できる でし でした でしょう です ですが でなければ では でも とい
     という といった とき ところ として とそ とともに となり とも どう どうか どこ どこか どちら
     どの どのよう どれ どんな ない なお なか ながら なく なけれ なし なぜ など なに なので なら
     ならび なり なる なん なんと において における にかけて にし について にて にとって によって
     により による のす のち ので のに のみ のよう はい はず はだれ はで ばかり びます へと べき
     ほか ほど まし ました ます ません また または まだ まっ まで まま まれ みたい もう もし もの
     ものの もらう やら よう ように よって より よる らしい られ られる れず れた れて れな れば
     れま れる わけ わたし わっ わな われ われる んで",
);

/// Bigrams, and single syllables, of endings, particles and question words.
static HANGUL: WordList = WordList::new(
    "가 가요 가지 같은 것 것은 것을 것이 고 과 그 그것 그리 까 나요 네 누가 누구 느 는 는가 니까
     니다 대한 대해 도 되 되나 되는 된다 될 됩니 들 들은 들을 들의 들이 디에 때 떤 떻게 라고 라는 란
     런 려면 로 를 리고 만 면 무슨 무엇 및 부터 서 수 습니 어느 어디 어떤 어떻 언제 얼마 엇이 엇인
     엇입 에 에게 에는 에서 와 왜 으로 은 을 의 이 이나 이다 이란 이런 인가 인지 입니 있나 있는 있다
     있습 저 제 지 하게 하고 하기 하나 하는 하다 하려 하며 하면 하여 한 한다 할 합니 해 해서 했다
     했습",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_free_of_repeats() {
        for list in [&ENGLISH, &KANJI, &HIRAGANA, &HANGUL] {
            for pair in list.words().windows(2) {
                assert!(pair[0] < pair[1], "{pair:?}");
            }
        }
    }
}
