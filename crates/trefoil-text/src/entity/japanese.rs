//! Nouns of Japanese without a dictionary: runs of Kanji and Katakana, cut where an
//! ending begins.

use trefoil_core::MentionKind;

use super::found::{Entry, Found};
use crate::{
    script::{Run, Script, runs},
    word_list::WordList,
};

/// Longest noun, in characters: what is longer is a heading or a list without commas.
const LONGEST_NOUN: usize = 16;

/// What stands between the parts of a foreign name.
pub(crate) const NAME_DOTS: [char; 4] = ['・', '･', '＝', '゠'];

/// Confidence of a name that says what it is: 東京都, ジョン・スミス.
const NAME: f32 = 0.75;
/// Of a compound of Kanji and Katakana.
const COMPOUND: f32 = 0.65;
/// Of a Katakana word or three Kanji and more.
const NOUN: f32 = 0.6;
/// Of two Kanji.
const SHORT_NOUN: f32 = 0.5;

/// Pushes the nouns of `part`, which starts at `offset` of the text.
pub(crate) fn extract(part: &str, offset: usize, found: &mut Found<'_>) {
    let all: Vec<Run<'_>> = runs(part).collect();
    let mut at = 0;
    while let Some(run) = all.get(at) {
        if !is_noun(run.script) {
            at += 1;
            continue;
        }
        let mut end = at + 1;
        while all.get(end).is_some_and(|run| is_noun(run.script))
            || joins_names(all.get(end - 1), all.get(end), all.get(end + 1))
        {
            end += 1;
        }
        let last = all.get(end - 1).unwrap_or(run);
        let stop = last.start + last.text.len();
        let before = part.get(..run.start).and_then(|head| head.chars().next_back());
        let after = part.get(stop..).unwrap_or_default();
        if let Some(noun) = part.get(run.start..stop) {
            push_noun(noun, offset + run.start, before, after, found);
            let head = part.get(..run.start).unwrap_or_default();
            push_joined(head, trim_end(noun, after), offset, found);
        }
        at = end;
    }
}

const fn is_noun(script: Script) -> bool {
    matches!(script, Script::Han | Script::Katakana)
}

/// True for the `・` or `＝` between the parts of a foreign name.
fn joins_names(before: Option<&Run<'_>>, run: Option<&Run<'_>>, after: Option<&Run<'_>>) -> bool {
    let is_katakana = |run: Option<&Run<'_>>| run.is_some_and(|run| run.script == Script::Katakana);
    let is_dot = run.is_some_and(|run| is_name_dot(run.text));
    is_dot && is_katakana(before) && is_katakana(after)
}

pub(crate) fn is_name_dot(text: &str) -> bool {
    text.strip_prefix(NAME_DOTS) == Some("")
}

fn push_noun(noun: &str, start: usize, before: Option<char>, after: &str, found: &mut Found<'_>) {
    let (start, noun) = trim_start(noun, start, before);
    push(trim_end(noun, after), start, MentionKind::NounPhrase, found);
}

/// Pushes a noun that stands at `start`, unless it is too short, too long or says
/// nothing; a name by its form is one whatever `kind` says.
pub(crate) fn push<'f>(
    noun: &str,
    start: usize,
    kind: MentionKind,
    found: &'f mut Found<'_>,
) -> Option<&'f mut Entry> {
    let length = noun.chars().count();
    if !(2..=LONGEST_NOUN).contains(&length) || is_common(noun) {
        return None;
    }
    let has = |script| runs(noun).any(|run| run.script == script);
    let is_name = kind == MentionKind::ProperNoun
        || noun.contains(NAME_DOTS)
        || length >= 3 && has(Script::Han) && ends_name(noun);
    let (kind, confidence) = if is_name {
        (MentionKind::ProperNoun, NAME)
    } else if has(Script::Han) && has(Script::Katakana) {
        (MentionKind::NounPhrase, COMPOUND)
    } else if length > 2 {
        (MentionKind::NounPhrase, NOUN)
    } else {
        (MentionKind::NounPhrase, SHORT_NOUN)
    };
    found.push(noun, start, kind, confidence)
}

/// True for a noun that says nothing without a context.
pub(crate) fn is_common(noun: &str) -> bool {
    COMMON.contains(noun)
}

/// Pushes a noun with the Latin word that it is written together with: `DOMノード`.
/// `before` is the part of the text before the noun.
pub(crate) fn push_joined(before: &str, noun: &str, offset: usize, found: &mut Found<'_>) {
    if noun.is_empty() || !before.ends_with(|c: char| c.is_ascii_alphabetic()) {
        return;
    }
    let start = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric()).len();
    let word = before.get(start..).unwrap_or_default();
    let length = word.len() + noun.chars().count();
    // 37cm程度
    let is_number = word.starts_with(|c: char| c.is_ascii_digit());
    if !is_number && length <= LONGEST_NOUN {
        let joined = format!("{word}{noun}");
        found.push(&joined, offset + start, MentionKind::NounPhrase, COMPOUND);
    }
}

/// Leaves out what counts or points: 10人, 各社, 十二月. Of 17世紀オランダ, オランダ is left.
fn trim_start(noun: &str, start: usize, before: Option<char>) -> (usize, &str) {
    let mut chars = noun.chars();
    let Some(first) = chars.next() else { return (start, noun) };
    let rest = if before.is_some_and(char::is_numeric)
        || "一二三四五六七八九十百千万第何数".contains(first)
            && chars.clone().next().is_some_and(is_counter)
    {
        noun.trim_start_matches(|c| Script::of(c) == Script::Han)
    } else if "各毎諸約".contains(first) {
        chars.as_str()
    } else {
        noun
    };
    (start + noun.len() - rest.len(), rest)
}

fn is_counter(c: char) -> bool {
    "年月日時分秒人個回度番目本枚台件位歳階章節部行列通種類世代点倍円".contains(c)
}

/// Leaves out suffixes, and a last Kanji that the Hiragana after it makes a verb.
fn trim_end<'t>(noun: &'t str, after: &str) -> &'t str {
    let mut noun = noun;
    // 美味しい: an adjective, as a whole.
    if ["しい", "しく", "しか", "しさ", "らか", "やか"]
        .iter()
        .any(|ending| after.starts_with(ending))
    {
        return "";
    }
    if noun.chars().next_back().is_some_and(|c| Script::of(c) == Script::Han) && is_okurigana(after)
    {
        noun = without_last(noun);
    }
    while noun.chars().count() > 2
        && noun.chars().next_back().is_some_and(|c| "的等達様氏君中時後前間内上下用毎".contains(c))
        && !KEPT_ENDINGS.ends(noun)
    {
        noun = without_last(noun);
    }
    noun
}

/// True if the text goes on with the ending of a verb or an adjective: 走る, 新しい.
fn is_okurigana(after: &str) -> bool {
    static OTHERWISE: WordList = WordList::new(
        "いた いて いな いま いる いずれ いう いく ください くらい けど けれど って つき つつ
         らし わけ きっと きちんと ちょうど りん え、 え。",
    );
    // 見直す, but 参加する.
    let is_su = after.strip_prefix('す').is_some_and(|rest| !rest.starts_with(['る', 'れ', 'べ']));
    is_su
        || after
            .starts_with(|c| "いきくけえげぎぐごみめむびぶべちつっらりるれろわじずぜう".contains(c))
            && !OTHERWISE.begins(after)
}

fn without_last(noun: &str) -> &str {
    let mut chars = noun.chars();
    chars.next_back();
    chars.as_str()
}

/// True if the last Kanji says that the word is the name of a place or a body.
fn ends_name(noun: &str) -> bool {
    static ENDINGS: WordList = WordList::new(
        "大学 大陸 高校 公園 銀行 空港 財団 戦争 条約 革命 事件 時代 王朝 法 都 道 府 県 市 区 町 村
         郡 州 国 島 川 山 湖 海 駅 線 寺 城 省 庁 局 党 賞 社 会",
    );
    ENDINGS.ends(noun)
}

/// Words whose last Kanji looks like a suffix.
static KEPT_ENDINGS: WordList = WordList::new(
    "目的 時間 空間 人間 期間 年間 仲間 以上 以下 以内 案内 国内 多様 仕様 同様 模様 平等 高等 採用
     使用 利用 適用 費用 応用 運用 引用 作用 通用 専用 共用 信用 活用 雇用 食用 向上 地上 地下 廊下
     直前 直後 午前 午後 前後 名前 途中 集中 夢中 空中 水中 臨時 当時 同時 一時 瞬間 手間 世間 中間
     民間 都内 屋内 体内 最後 最前 建前 部下 陛下 低下 落下 上下 史上 海上",
);

/// Nouns that say nothing without a context.
static COMMON: WordList = WordList::new(
    "あいだ いろいろ うち おかげ すべて そのもの その他 つもり どこか ひとつ ふたつ ほか ほとんど
     まま みなさん みんな もと やり方 一つ 一人 一例 一切 一層 一度 一応 一方 一旦 一時 一時的 一気
     一番 一種 一緒 一致 一般 一般的 一見 一覧 一連 一部 三つ 三人 上昇 上記 下記 不明 不要 不足
     世紀 両方 両者 中央 中心 中止 主張 主要 予定 二つ 二人 交換 人々 人物 人間 今回 今年 今度 今後
     今日 仕事 仕方 仕組 他人 他方 付近 代わり 代表 代表的 令和 以上 以下 以内 以前 以外 以後 以来
     以降 仲間 伝統的 位置 低下 体験 何か 何度 何故 何時 何者 作成 使い方 使用 使途 例外 依頼 価値
     促進 保存 保持 保証 保護 個々 個人 個別 個所 停止 偶然 元々 元来 入力 全て 全体 全員 全域 全然
     全般 全部 全面 公開 共同 共通 具体 具体的 典型 内容 内部 再度 再生 再開 処理 出力 出発 出身
     分割 分離 分類 初め 判断 別々 別名 別途 利点 利用 到着 制作 削除 前半 前回 前者 前述 効果 効率
     区別 十分 午前 午後 半分 単位 単数 単独 単純 原因 参加 参照 友人 双方 反対 反応 反映 取得 可能
     可能性 各国 各地 各社 各種 合意 同一 同国 同地 同士 同年 同意 同日 同時 同書 同月 同様 同氏
     同社 同等 名前 名称 向上 周辺 問題 回答 回避 地域 地方 基本 基本的 場合 場所 増加 変化 変換
     変数値 変更 外部 多分 多少 多数 多様 大切 大半 大型 大変 大幅 大抵 大正 大部分 大量 失敗 女性
     始め 子供 存在 完了 完全 完成 定義 実施 実現 実行 実際 家族 対処 対応 対策 対象 将来 導入 小型
     少々 少女 少年 少数 少量 展開 差異 希望 平成 年代 年間 建設 強化 強調 当初 当時 当然 当該 形成
     影響 役割 役目 後半 後者 後述 必然 必要 応答 性格 性能 性質 意味 意見 意識 成功 成立 我々 所属
     所有 手伝い 手元 手段 手法 手順 承認 抽象 担当 拒否 拒絶 拡大 拡張 指定 指摘 接続 推進 措置
     提供 操作 改善 改良 数値 数多 数字 新規 方法 既存 既知 明日 明治 昨年 昨日 昭和 時期 時点 時間
     更新 書き方 最中 最低 最初 最大 最小 最後 最新 最終 最終的 最良 最近 最適 最高 有効 有名 有無
     期待 期待通り 期間 未来 未知 本人 本当 本文 本書 本来 本格的 本章 本節 条件 来年 検討 概要 構成
     様々 機会 機能 欠点 次回 次第 正常 正式 正確 歴史的 死去 残り 残念 毎回 毎年 毎日 毎月 毎週
     比較 決定 沢山 注意 活動 活躍 減少 準備 無効 無理 片方 特別 特定 特徴 状態 状況 独立 独自 獲得
     現在 理由 理解 生活 用意 男性 異常 異様 発売 発生 発表 発見 登録 皆さん 皆様 皆無 目次 目的
     直前 直後 直接 相手 短所 確認 禁止 移動 移行 程度 種々 種類 積極的 突然 箇所 管理 範囲 簡単
     紹介 終わり 終了 経由 経過 経験 結合 結婚 結局 結果 統一 統合 継承 継続 維持 練習 縮小 繰返
     置換 老人 考え方 考慮 能力 自体 自分 自然 自身 色々 若者 表示 製作 複数 複雑 要因 要求 要素
     要請 見出 見方 規定 視点 観点 解決 解消 言及 言葉 計画 記事 記載 記述 設定 設立 設置 設計 許可
     評価 試行 試験 詳細 誕生 説明 誰か 賛成 質問 転換 近年 追加 通り 通常 通知 通過 連携 連絡 過去
     達成 違い 適切 適用 選択 部分 重要 長所 開始 開発 間接 間違い 関係 関連 防止 際 非常 順序 順番",
);
