//! How English questions ask for an overview and for relations.

use std::sync::LazyLock;

use regex::Regex;
use trefoil_core::ByteSpan;

use super::grammar::{Source, between, when};

/// The patterns; see [`Source`] for how they are written.
pub(super) const SOURCE: Source = Source {
    // Politeness and connectives in front of the question proper.
    lead: r"^(?:(?:so|ok|okay|hi|hello|hey|and|but|well|now|also|please|kindly|just|quickly|briefly|actually|then|sorry|(?:can|could|would|will) you|i(?:['’]d| would)? (?:like|love|want|need) (?:you )?to(?: know| understand| see| learn| hear)?|help (?:me|us)(?: to)?(?: understand)?|let['’]s|(?:tell|teach|remind) (?:me|us)|explain(?: to (?:me|us))?|do you know|any idea|i wonder|i['’]m (?:wondering|curious)(?: about)?|we need to)\b[\s,:!.]*)*",
    // Before a side of a pair: articles, possessives, and what introduces a comparison.
    before: r"^(?:.*\b(?:pros and cons|advantages|benefits|merits|performance|comparison|differences?|trade-?offs?|speed|costs?|prices?) of |(?:when (?:to|should i|should we) use|(?:should i|should we) (?:use|choose|pick)|(?:which|what) is better|what['’]s better|choosing|choose|using|comparing|compare|comparison|difference|between)[,:]? )?(?:(?:the|an?|my|our|your|their|its|this|that|these|those|both|either|using) )*",
    // After a side of a pair: another clause, a place or a circumstance.
    after: r"(?:[,;:?!]|\.(?:\s|$)| (?:in|for|when|where|if|under|regarding|concerning|according|within|during|that|which|who|because|with regard|please|though|and (?:why|how|when|which|what|where)|on average|respectively|anyway|at all)\b).*$",
    // Pronouns, and what begins like a clause or holds its verb.
    nameless: r"^(?:it|they|them|this|that|these|those|each other|one another|one|i|you|we|he|she|there|not|both|\w+ly)$|^(?:what|how|which|who|when|where|why|have|has|had|is|are|was|were|do|does|did|can|could|to|with|i['’]m) |\b(?:be|been)\b",
    of: None,
    split,
    pairs: &[
        when(r"\b(?:relationships?|relations?|connections?|links?|correlations?|interactions?|interplay|differences?|distinctions?|similarit(?:y|ies)|comparisons?|contrasts?|trade-?offs?|dependenc(?:y|ies)|associations?|overlap|parallels?) between {ab}$").unless(r"\b(?:train|bus|rail|railway|ferry|flight|tram|metro|transport|wi-?fi|bluetooth|network|internet|tcp|database|time|price|age|height|temperature|altitude|phone|video) (?:connections?|links?|differences?)\b"),
        when(r"\b(?:differences?|distinctions?|comparison|relationship) of {a} (?:and|with|to|from|vs\.?|versus) {b}$"),
        when(r"^{a} (?:and|or|vs\.?|versus) {b} (?:differences?|comparison|compared|relationship){end}").unless(r"^(?:how|where|when|who|can|do|does|is|are)\b"),
        when(r"\b(?:compare|contrast|compare and contrast|comparing) {a} (?:with|to|and|against|vs\.?|versus) {b}$").unless(r"\bhow (?:to|(?:do|does|did|can|could|should|would|must) (?:i|you|we|one)) |\bcompare (?:function|method|operator)\b"),
        when(r"^{a} (?:compared|in comparison|as opposed) (?:to|with) {b}$"),
        when(r"\bhow (?:do|does|did|would|will|might) {a} (?:relate|compare|differ|correspond|stack up) (?:to|with|from|against) {b}$").unless(r"\bhow \w+ (?:i|you|we|one|users?|people)\b"),
        when(r"\bhow (?:do|does|did|would|will) (?P<ab>.+? (?:and|or|&|vs\.?|versus) .+?) (?:differ|compare|relate|interact|influence each other|affect each other|depend on each other|fit together|play together)\b"),
        when(r"\bhow (?:is|are|was|were) {a} (?:\w+ly )?(?:related|connected|linked|tied|different|similar|comparable|distinct|distinguished) (?:to|with|from) {b}$"),
        when(r"\bhow (?:is|are|was|were) (?P<ab>.+? (?:and|or|&|vs\.?|versus) .+?) (?:\w+ly )?(?:related|connected|linked|different|similar|alike)\b"),
        when(r"^(?:is|are|was|were) {a} (?:\w+ly )?(?:related|linked|similar|equivalent|identical|comparable|different|inferior|superior) (?:to|from) {b}$"),
        when(r"^(?:is|are|was|were) (?P<ab>.+? (?:and|or|&|vs\.?|versus) .+?) (?:\w+ly )?(?:related|the same(?: thing)?|different|similar|interchangeable|identical){end}"),
        when(r"(?:^| |,)(?:do|does|did|can|could|will|would|might|may) {a} (?:\w+ly )?(?:affect|influence|impact|alter|shape) {b}$").unless(r"\b(?:can|could|may|might|do|will|would) (?:i|you|we|one)\b|\b(?:do|does|did|can|will|may) not\b"),
        when(r"\b(?:effects?|impacts?|influences?|consequences|bearing) (?:of|that) {a} (?:on|upon|has on|have on|had on) {b}$"),
        when(r"\bwhat (?:\w+ )?(?:effects?|impacts?|influence|consequences|bearing) (?:do|does|did|has|have|had|can|could|will|would) {a} (?:(?:have|had) )?(?:on|upon) {b}$"),
        when(r"^(?:what is |what was |what['’]s )?{a}['’]s? (?:effects?|impacts?|influence) (?:on|upon) {b}$"),
        when(r"\b(?:is|are|was|were|does|do|did) {a} (?:\w+ )?(?:better|worse|faster|slower|cheaper|safer|healthier|bigger|smaller|larger|longer|shorter|easier|harder|older|newer|stronger|weaker|simpler|quicker|warmer|colder|hotter|higher|lower|heavier|lighter|tastier|(?:more|less) \w+) than {b}$").unless(r" than (?:\d|an? (?:second|minute|hour|day|week|month|year)|one|two|three|four|five|six|seven|eight|nine|ten)\b"),
        when(r"\b(?:which|what|who)(?: \w+)? (?:is|are) (?:the )?(?:better|best|worse|faster|slower|cheaper|safer|healthier|bigger|smaller|larger|longer|shorter|easier|harder|older|newer|stronger|simpler|quicker|warmer|colder|higher|lower|heavier|lighter|(?:more|less) \w+)(?: \w+)?\s*[,:-] *{a},? or {b}$"),
        when(r"\bwhat (?:do|does|did) (?P<ab>.+? and .+?) (?:both )?(?:have in common|share){end}"),
        when(r"\bhow (?:is|are|was|were) {b} (?:\w+ly )?(?:affected|influenced|impacted|shaped) by {a}$"),
        when(r"\b(?:should|shall) (?:i|we|you|one) (?:use|choose|pick|prefer|go (?:for|with)|buy|get|take) {a} or {b}$"),
        when(r"\bwhat (?:sets|distinguishes|separates|differentiates) {a} (?:apart )?from {b}$"),
        when(r"\b(?:distinguish|differentiate) (?:between )?{a} (?:from|and) {b}$").unless(r"\bhow (?:to|do i|can i)\b"),
        when(r"^{a} (?:vs\.?|versus) {b}$").unless(r"(?:^|[^s.] )vs\.? (?:code|studio)\b(?:[^v]|v[^s])*$"),
    ],
    global: &[
        when(r"^(?:(?:give|show|get|write|send|offer|provide|make|create|prepare|draft|produce|generate|need|want|i need|i want|i['’]m looking for|looking for|do you have|is there|have you got|what is|what['’]s|what would be|(?:can|could|may) (?:i|we) (?:get|have|see)|where (?:is|can i find)) (?:(?:me|us) )?)?(?:(?:an?|the|some|any|your) )?(?:(?:brief|short|quick|general|high-level|concise|rough|executive|overall|complete|full|one-page|detailed|simple|basic|broad|good) )*(?:overview|summary|synopsis|gist|recap|rundown|tl;?dr|big picture|(?:general|basic|main) idea|outline|bird['’]?s[- ]eye view|(?:high-level|overall|general|broad) (?:description|picture|view|explanation))(?: (?:of|on|about|for|over|covering|across)\b|[,:]|{end})").unless(r"\bsummary of (?:benefits|charges|changes)\b.* (?:form|page|button)\b"),
        when(r"^(?:[\w.'’-]+ ){1,6}(?:overview|summary|synopsis|recap|tl;?dr|in a nutshell|at a glance){end}").unless(r"^(?:how|where|when|which|who|whose|whom|can|could|does|do|did|is|are|was|were|should|will|may|must|has|have|add|create|enable|disable|cancel|edit|delete|remove|send|turn|open|close|find|print|write|change|set|make|use|weekly|daily|monthly)\b"),
        when(r"^(?:to )?(?:summari[sz]e|sum up|recap)\b").unless(r"^summari[sz]e (?:function|command|method|button|option|column|api|verb|in (?:r|dplyr|pandas|sql)\b)"),
        when(r"^outline (?:the|how|what|our|main|key|this|these)\b"),
        when(r"^(?:describe |sketch )?(?:the |our |your )?(?:overall|general|high-level|overarching) (?:structure|architecture|design|approach|picture|organi[sz]ation|flow|retriever|layout|contents?|message)\b"),
        when(r"^(?:describe |give me |show me )?(?:everything|all there is) (?:about|in|on|to know about) "),
        when(r"\b(?:main|key|central|major|overall|overarching|core|primary|principal|dominant|recurring|common|underlying) (?:themes?|topics?|ideas?|points?|takeaways?|messages?|arguments?|findings?|insights?|subjects?|trends?|conclusions?|lessons?)\b").unless(r"\b(?:theme|topic|message|trend|point|subject)s? (?:colou?rs?|settings?|font|file|css|queue|partition|id|name|broker|line|body|of (?:contact|entry|failure|sale))\b|\b(?:set|change|switch|install|edit|enable|disable|configure|subscribe|publish)\b"),
        when(r"\b(?:what|which) (?:\w+ ){0,2}(?:themes|topics|subjects)\b").unless(r"\b(?:subscribe|publish|consume|install|download)\b"),
        when(r"^(?:the )?(?:themes|topics) (?:of|in|across|from|covered|discussed)\b"),
        when(r"\bwhat(?: is| are| was| were|['’]s|['’]re) (?:[^,;?]{1,60} )?(?:all )?about{end}").unless(r"\b(?:special|new|good|bad|great|wrong|different|unusual|interesting|important|unique|fuss|\w+ing) (?:all )?about{end}"),
        when(r"\bwhat (?:do|does|did|is|are) (?:(?:this|these|those|the|that|our|your|all|both|my) )*(?:[\w'’-]+ ){0,3}{doc} (?:cover(?:ed)?|contain|deal with|discuss|talk about|describe|address|include|treat|have in common|say)(?: overall| in general| as a whole| on the whole)?{end}"),
        when(r"\bwhat (?:do|did) (?:these|those|they|all|the|our|my)(?: [\w'’-]+){0,4} have in common\b"),
        when(r"\b(?:in a nutshell|in broad(?:est)? (?:terms|strokes)|in general terms|broadly speaking|(?:the )?big picture|high[- ]level (?:view|overview|summary|picture|description)|bird['’]?s[- ]eye view|the gist|as a whole|tl;?dr)\b"),
        when(r"\b(?:across|throughout|in) (?:all(?: of)?|the (?:whole|entire)) (?:(?:the|these|those|our|my) )?(?:[\w'’-]+ )?{doc}\b"),
        when(r"\b(?:an?|a (?:brief|short|quick|general|concise|rough|broad)) (?:overview|summary|synopsis|recap) of\b").unless(r"^how\b|\bwrite\b"),
    ],
    related: &[
        when(r"^why\b"),
        when(r"\bwhy (?:is|are|was|were|do|does|did|has|have|had|can|could|should|would|will|must|am|might|may|isn['’]t|aren['’]t|don['’]t|doesn['’]t|didn['’]t|can['’]t|won['’]t|wouldn['’]t|wasn['’]t|weren['’]t|haven['’]t|hasn['’]t|hadn['’]t|shouldn['’]t|couldn['’]t)\b"),
        when(r"\b(?:explain|understand|know|knows|wonder|wondering|tell (?:me|us)|see|clear|unclear|sure|idea|ask|asked|find out|learn|learned|remember|describe|show|figure out|reasons?|confused|curious)(?: about)?(?: to me)?(?: exactly)? why\b"),
        when(r"(?:[,.;:!?–—-]\s*|\b(?:and|but|or) )(?:but |and |so )?why{end}"),
        when(r"\bhow come\b"),
        when(r"\bwhat (?:causes|caused|is causing|led to|leads to)\b").unless(r"\bwhat causes (?:do|does|did|has|have|is|are|was|were|can|could|should|will|would)\b"),
        when(r"\bwhat (?:is|was|are|were) [^,?]{1,40}['’]s? (?:\w+ )?(?:reasons?|motivation) (?:for|behind)\b"),
        when(r"\b(?:what (?:is|are|was|were)|what['’]s) (?:the )?(?:\w+ )?(?:reasons?|causes?|rationale|motivation) (?:for|behind|of|that)\b"),
        when(r"^(?:the )?(?:reasons?|causes?|rationale) (?:for|behind|of)\b"),
        when(r"^(?:what (?:is|are|was|were) )?(?:the )?(?:effects?|impacts?|influence) of ").unless(r"\b(?:side|sound|special|visual) effects?\b"),
        when(r"^(?:compare|contrast) (?:the|both|these|those|all|different|our|my)\b"),
        when(r"\bwhat(?: is| are|['’]s) (?:the )?(?:main |key |real |exact |biggest )?(?:differences?|distinctions?)\b"),
        when(r" (?:differences?|comparison){end}").unless(r"^(?:how|where|when|who|can|do|does|is|are)\b|\b(?:time|price|age|height|temperature|set) (?:differences?|comparison)\b"),
    ],
};

/// `A and B`, `A, B and C`, `A vs B`.
fn split(both: &str) -> Vec<ByteSpan> {
    static SEPARATOR: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i),?\s+(?:and|or|&|vs\.?|versus)\s+|,\s").ok());
    let separators = SEPARATOR.iter().flat_map(|separator| separator.find_iter(both));
    between(both, separators.map(|found| found.range()))
}
