// What the page says, in three languages.

const WORDS = {
  en: {
    skip: "Skip to the content", search: "Search", graph: "Graph", memory: "Memory", compare: "Compare", admin: "Admin", index: "Index",
    language: "Language", dark: "Dark", light: "Light", ask: "What do you want to know?", go: "Search", searching: "Searching…",
    found: (n, ms) => `${n} found in ${ms} ms`, provisional: "First results; reading on…", nothing: "Nothing was found. Other words, or fewer filters, may help.",
    more: "More results", why: "Why here?", whyNot: "Why is something missing?", path: "Path of a document", find: "Find out", lostAt: "Lost at", rank: "Rank",
    score: "Score", retriever: "Retriever", stage: "Stage", time: "Time", in: "In", out: "Out", stages: "Stages of the search", by: "By", lacks: "Lacks the words",
    supported: "The documents answer this.", unsupported: "The documents may not answer this.", partial: "The documents may answer this in part.",
    degraded: "Not everything ran", languages: "Language", tags: "Tag", folders: "Folder", years: "Year", entities: "Names", clear: "Remove filters",
    grade: "Grade the evidence", passages: "passages", related: "related to", chunks: "Passages", name: "Name", type: "Type",
    around: "Around a name", draw: "Draw", drawingHelp: "Arrow keys move, + and − zoom.", importance: "Importance", communities: "Communities",
    recall: "Recall", remembered: "What do you want to recall?", status: "Status", forget: "Forget",
    helpful: "Helpful", wrong: "Out of date", thanks: "Stored.", forgetWhat: "Subject to forget", typeAgain: "Type it again to confirm", receipt: "Receipt", policy: "Policy",
    left: "Left", right: "Right", rerank: "Rerank", strategies: "Retrievers", run: "Compare", same: "same place", onlyHere: "only here",
    indexes: "Indexes", open: "open", closed: "not open", jobs: "Jobs", begin: "Begin", cancel: "Cancel", kind: "Kind", state: "State", progress: "Progress", result: "Result",
    connect: "Connect", numbers: "Numbers", files: "Documents", token: "Token", tokenHelp: "Paste a token. `trefoil token show` prints that of a server on this machine. It stays in this tab.",
    enter: "Enter", failed: "That did not work", loading: "Loading…", back: "Back", empty: "Nothing here yet.", copy: "Copy", copied: "Copied",
    semantic: "Meaning", keyword: "Words", kept: "It is a result",
    evidence: "Evidence", observation: "Observation", note: "Note", nearer: "Zoom in", farther: "Zoom out", tokens: "Tokens", tokensHelp: "Tokens are made and ended by the owner of the index, in a terminal.",
    about: (files, passages) => `${files.toLocaleString()} documents, ${passages.toLocaleString()} passages. Ask in your own words, or begin with a name:`, entity: "name", community: "group",
    cases: "A file of questions", casesHelp: "A text file with a question a line; after a tab, the path of the document that answers it.", question: "Question",
  },
  ja: {
    skip: "本文へ", search: "検索", graph: "グラフ", memory: "記憶", compare: "比較", admin: "管理", index: "索引",
    language: "言語", dark: "暗い", light: "明るい", ask: "何を知りたいですか", go: "検索", searching: "検索中…",
    found: (n, ms) => `${n} 件（${ms} ミリ秒）`, provisional: "最初の結果です。続けて読んでいます…", nothing: "見つかりませんでした。言葉を変えるか、絞り込みを減らしてみてください。",
    more: "さらに表示", why: "なぜここに？", whyNot: "見つからないのはなぜ？", path: "文書のパス", find: "調べる", lostAt: "失われた段階", rank: "順位",
    score: "点数", retriever: "検索器", stage: "段階", time: "時間", in: "入", out: "出", stages: "検索の段階", by: "手がかり", lacks: "含まれない言葉",
    supported: "文書はこの質問に答えています。", unsupported: "文書には答えがないかもしれません。", partial: "文書は質問の一部に答えているかもしれません。",
    degraded: "一部は動きませんでした", languages: "言語", tags: "タグ", folders: "フォルダー", years: "年", entities: "名前", clear: "絞り込みを解除",
    grade: "根拠を評価する", passages: "個の段落", related: "関連", chunks: "段落", name: "名前", type: "種類",
    around: "名前のまわり", draw: "描く", drawingHelp: "矢印キーで移動、＋と−で拡大・縮小。", importance: "重要度", communities: "まとまり",
    recall: "思い出す", remembered: "何を思い出しますか", status: "状態", forget: "忘れる",
    helpful: "役に立った", wrong: "もう古い", thanks: "保存しました。", forgetWhat: "忘れる対象", typeAgain: "確認のためもう一度入力", receipt: "証明", policy: "方針",
    left: "左", right: "右", rerank: "再順位付け", strategies: "検索器", run: "比較する", same: "同じ順位", onlyHere: "こちらのみ",
    indexes: "索引", open: "使用中", closed: "開いていません", jobs: "作業", begin: "始める", cancel: "中止", kind: "種類", state: "状態", progress: "進み具合", result: "結果",
    connect: "接続", numbers: "数値", files: "文書", token: "トークン", tokenHelp: "トークンを貼り付けてください。この機械のサーバーのものは `trefoil token show` で表示されます。このタブにだけ残ります。",
    enter: "入る", failed: "うまくいきませんでした", loading: "読み込み中…", back: "戻る", empty: "まだ何もありません。", copy: "コピー", copied: "コピーしました",
    semantic: "意味", keyword: "言葉", kept: "結果に含まれています",
    evidence: "根拠", observation: "観察", note: "メモ", nearer: "拡大", farther: "縮小", tokens: "トークン", tokensHelp: "トークンは索引の持ち主が端末で作り、取り消します。",
    about: (files, passages) => `文書 ${files.toLocaleString()} 件、段落 ${passages.toLocaleString()} 個。普段の言葉で聞くか、名前から始めてください：`, entity: "名前", community: "まとまり",
    cases: "質問のファイル", casesHelp: "1行に1つの質問を書いたテキストファイル。タブのあとに、答えのある文書のパス。", question: "質問",
  },
  ko: {
    skip: "본문으로", search: "검색", graph: "그래프", memory: "기억", compare: "비교", admin: "관리", index: "색인",
    language: "언어", dark: "어둡게", light: "밝게", ask: "무엇을 알고 싶으세요?", go: "검색", searching: "검색 중…",
    found: (n, ms) => `${n}건 (${ms}밀리초)`, provisional: "첫 결과입니다. 계속 읽는 중…", nothing: "찾지 못했습니다. 다른 말로 묻거나 조건을 줄여 보세요.",
    more: "더 보기", why: "왜 여기에?", whyNot: "왜 없을까요?", path: "문서 경로", find: "알아보기", lostAt: "사라진 단계", rank: "순위",
    score: "점수", retriever: "검색기", stage: "단계", time: "시간", in: "입력", out: "출력", stages: "검색 단계", by: "근거", lacks: "없는 단어",
    supported: "문서가 이 질문에 답합니다.", unsupported: "문서에 답이 없을 수 있습니다.", partial: "문서가 질문의 일부에 답할 수 있습니다.",
    degraded: "일부는 실행되지 않았습니다", languages: "언어", tags: "태그", folders: "폴더", years: "연도", entities: "이름", clear: "조건 지우기",
    grade: "근거 평가", passages: "개 단락", related: "관련", chunks: "단락", name: "이름", type: "종류",
    around: "이름 주변", draw: "그리기", drawingHelp: "화살표 키로 이동, +와 −로 확대·축소.", importance: "중요도", communities: "묶음",
    recall: "떠올리기", remembered: "무엇을 떠올릴까요?", status: "상태", forget: "잊기",
    helpful: "도움이 됨", wrong: "지난 내용", thanks: "저장했습니다.", forgetWhat: "잊을 대상", typeAgain: "확인을 위해 다시 입력", receipt: "증명", policy: "정책",
    left: "왼쪽", right: "오른쪽", rerank: "재순위", strategies: "검색기", run: "비교", same: "같은 순위", onlyHere: "여기에만",
    indexes: "색인", open: "열림", closed: "열리지 않음", jobs: "작업", begin: "시작", cancel: "취소", kind: "종류", state: "상태", progress: "진행", result: "결과",
    connect: "연결", numbers: "수치", files: "문서", token: "토큰", tokenHelp: "토큰을 붙여 넣으세요. 이 컴퓨터의 서버 토큰은 `trefoil token show`로 볼 수 있습니다. 이 탭에만 남습니다.",
    enter: "들어가기", failed: "되지 않았습니다", loading: "불러오는 중…", back: "뒤로", empty: "아직 없습니다.", copy: "복사", copied: "복사했습니다",
    semantic: "의미", keyword: "단어", kept: "결과에 있습니다",
    evidence: "근거", observation: "관찰", note: "메모", nearer: "확대", farther: "축소", tokens: "토큰", tokensHelp: "토큰은 색인 주인이 터미널에서 만들고 취소합니다.",
    about: (files, passages) => `문서 ${files.toLocaleString()}건, 단락 ${passages.toLocaleString()}개. 편한 말로 묻거나 이름에서 시작하세요:`, entity: "이름", community: "묶음",
    cases: "질문 파일", casesHelp: "한 줄에 질문 하나씩 적은 텍스트 파일. 탭 뒤에는 답이 있는 문서의 경로.", question: "질문",
  },
};

const KEY = "trefoil.language";
const spoken = () => navigator.languages.map((one) => one.slice(0, 2)).find((one) => one in WORDS) ?? "en";
let language = localStorage.getItem(KEY) ?? spoken();

export const current = () => language;
/** @param {string} code */
export function speak(code) {
  language = code in WORDS ? code : "en";
  localStorage.setItem(KEY, language);
  document.documentElement.lang = language;
}

/** @param {string} key @param {...any} values @returns {string} */
export function say(key, ...values) {
  const word = WORDS[language][key] ?? WORDS.en[key] ?? key;
  return typeof word === "function" ? word(...values) : word;
}
