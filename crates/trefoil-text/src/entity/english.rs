//! English words that are not nouns, or say nothing as one.

use std::{collections::HashMap, sync::LazyLock};

use crate::{script::Script, stop::is_stop, word_list::WordList};

/// What a word is known as; several at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Class(u8);

impl Class {
    /// A function word.
    pub(crate) const STOP: Self = Self(1);
    /// A form of a verb that is rarely a noun, an adverb, a preposition, a conjunction:
    /// sentences start with it, phrases end at it.
    const VERB_OR_ADVERB: Self = Self(2);
    /// Any of these: what is said, not named, where it stands alone in quotation marks.
    pub(crate) const NOT_NOUN: Self = Self(Self::STOP.0 | Self::VERB_OR_ADVERB.0);
    /// An adjective or numeral that distinguishes nothing: no noun phrase starts or ends
    /// with it.
    pub(crate) const MODIFIER: Self = Self(8);
    /// A word that labels a paragraph: capitalised, but no name.
    pub(crate) const LABEL: Self = Self(16);
    /// A word in `-ing` that is a noun.
    pub(crate) const GERUND: Self = Self(32);
    /// A month or a day of the week.
    pub(crate) const DATE: Self = Self(64);
    /// A word that may stand between the capitalised words of a name.
    pub(crate) const CONNECTOR: Self = Self(128);

    /// The classes of a word in small letters.
    pub(crate) fn of(lower: &str) -> Self {
        let stop = if is_stop(Script::Spaced, lower) { Self::STOP.0 } else { 0 };
        Self(stop | CLASSES.get(lower).copied().unwrap_or_default())
    }

    /// True if the word is of any of these classes.
    pub(crate) const fn is(self, classes: Self) -> bool {
        self.0 & classes.0 != 0
    }
}

static CLASSES: LazyLock<HashMap<&str, u8>> = LazyLock::new(|| {
    let lists = [
        (&VERBS, Class::VERB_OR_ADVERB),
        (&ADVERBS, Class::VERB_OR_ADVERB),
        (&MODIFIERS, Class::MODIFIER),
        (&LABELS, Class::LABEL),
        (&GERUNDS, Class::GERUND),
        (&DATES, Class::DATE),
        (&CONNECTORS, Class::CONNECTOR),
    ];
    let mut classes = HashMap::new();
    for (words, class) in lists {
        for &word in words.words() {
            *classes.entry(word).or_default() |= class.0;
        }
    }
    classes
});

static VERBS: WordList = WordList::new(
    "accept accepted accepts achieve achieved achieves acted add added adding adds affect affected
     affects agree agreed agrees aim aims allow allowed allowing allows alter altered alters
     announce announced announces appear appeared appears applied applies apply argue argued argues
     arise arises arose arrive arrived arrives ask asked asking asks assume assumed assumes ate
     attempt attempted attend attended avoid avoids awoke became become becomes becoming began begin
     begins begun believe believed believes belong belongs bent bled blew born bred bring brings
     broke brought broughts build builds built buy buys call called calling calls came cannot
     carried carries carry caught caused causing changed check choose chooses chose chosen claimed
     clung come comes coming compare compared compares completed compose composed composes comprise
     comprises concerned conclude concluded concludes conduct conducted conducts confirm confirmed
     confirms consider considered considers consist consists contain contained containing contains
     continue continued continues contribute contributes convert converts covered create created
     creates creating crept dealt decide decided decides declare declared declares decrease
     decreased decreases define defined defines delete deletes demonstrate demonstrated demonstrates
     depend depends derive derived derives describe described describes designed detect detects
     determine determined determines develop developed developing develops die died dies differ
     differs discover discovered discovers discuss displays drank draw drawn draws drew driven drove
     dug earn earned earns echoed elected embrace embraced embraces emerged enable enables encourage
     encourages ended enjoy enjoys ensure ensures enter entered enters establish established
     establishes evaluate evaluated evaluates examine examined examines exist exists expect expected
     expects explain explained explains explore explores extend extends fail failed fails featured
     fed feel feels fell felt fill fills find finds finish finishes fled flew flung follow followed
     following follows forbade forgave forgot formed fought found founded froze gain gains gave
     gazed get gets getting give given gives giving glanced go goes going gone gos got grew grinned
     grow grown grows happen happened happens hear heard hears held help helped helping helps hid
     holds hosted hung identified identifies identify imagine imagines implement implemented
     implements import improve improved improves include included includes including increase
     increased increases indicate indicated indicates inform informs instead intended introduce
     introduced introduces investigate investigated investigates invite invites involve involved
     involves join joined joins keep keeps kept kill killed kills knelt knew know known knows laid
     leads leapt learn learns leave leaves leaving led lent let lets lie lies like lingered listened
     lit live lived locate located locates look looked looking looks loomed lose loses lost made
     maintain maintains make makes making manage manages marked married marries marry mean means
     meant measured meet meets mentioned met modifies modify move moved moves murmured named need
     needed needs nodded noted notice notices observe observed observes obtain obtained obtains
     occur occurred occurs offer offered offers opened operate operated operates organize organizes
     overcame own owned owns paid participate participates passed paused perform performed performs
     pick picks placed played playing portray portrays produce produced produces promote promotes
     propose proposed proposes prove proved proves provide provided provides publish published
     publishes pulsed put puts raise raised raises ran rang reach reached reaches read receive
     received receives recommend recommends recorded reduce reduced reduces refer referred refers
     reflect reflects regard regards released relies rely remain remained remains remember remembers
     remove removed removes render renders replace replaced replaces replied reported represent
     represents require required requires resulted return returned returns reveal revealed reveals
     rode rose run runs said sang sank saw say says scored see seek seeks seem seemed seems seen
     sees sell sells send sends sent serve served serves set sets shared shone shook show
     showed showing shown shows shrank sighed signed sing sit sits slept slid slung smiled sold
     solve solves sought spat sped spend spends spent spoke sprang stank stared starred starring
     start started starts stated stay stayed stays stole stood stop stopped stops stored strode
     strove struck stuck studied suggest suggested suggests supported supports swam swept swore
     swung take taken takens takes taking talk taught tell tells tested think thinks thought threw
     took tore treat treated treats tried tries trod try trying turn turned turns understand
     understood undertook updated use used uses using visited waited want wanted wants warn warns
     watched wear wears went wept whispered win withdrew withheld withstand withstands withstood
     woke wore worked working wove wrap wraps write writes written wrote wrung",
);

static ADVERBS: WordList = WordList::new(
    "aboard above according across actually additionally afterwards again against ago ahead albeit
     almost alone along alongside already although altogether always amid amidst among amongst
     another anyway apart around aside away back basically behind below beneath beside besides
     beyond briefly certainly clearly collectively consequently conversely currently
     despite directly earlier easily either else elsewhere enough especially essentially etc
     eventually ever every everyone everything everywhere exactly except finally firstly forever
     formerly fortunately forward frequently furthermore generally hello hence
     hereafter herself hi himself historically however ideally immediately indeed initially inside
     interestingly itself lastly lately later latter likewise many maybe meanwhile moreover
     mostly much myself namely near nearly neither never nevertheless nobody none nonetheless
     normally notably nothing now nowadays obviously occasionally off often ok okay once oneself
     onto opposite originally otherwise ourselves outside over overall partly past per perhaps
     please possibly presumably previously primarily probably quite rather really recently regarding
     regardless secondly several shortly similar similarly simply since somehow sometimes somewhat
     soon specifically still subsequently surely surprisingly thanks themselves thereafter thereby
     therefore third thirdly though throughout thus today together tomorrow toward towards
     traditionally typically ultimately under underneath unfortunately unless unlike until unto upon
     usually various versus via vs well whatever whenever whereas whereby wherever whether whichever
     whoever whole widely within without yes yesterday yet yourself yourselves",
);

static MODIFIERS: WordList = WordList::new(
    "able additional alive alone alternative amazing annual available average awkward bad basic
     beautiful best better big bigger biggest brief broad careful cautious central certain clear
     closer common complete complex correct crucial current daily dead deep delicate different
     difficult double dozen eager earlier early easier eastern easy eerie eight empty enough entire
     equal essential everyday exact exciting existing expensive extra extreme faint fair false
     famous fast favorite female few fewer fierce final fine first five fixed former four free fresh
     full fundamental future general good great greater greatest grim half hard harsh heavy high
     higher highest huge hundred ideal important impossible incredible independent individual
     initial inner intense interesting internal joint key large larger largest last late later
     latest leading least less likely little local long longer longest lot low lower main major male
     many maximum mere million minimum minor modern more most multiple narrow native natural
     necessary new newer newest next nice nine normal northern notable old older oldest one only
     open opposite ordinary original other outer overall own palpable particular past perfect
     permanent poor popular possible potential present previous primary prime prior private profound
     prominent proper public pure quick random rare raw ready real recent regular related relative
     relevant responsible rich right rough safe same second secondary senior separate serious seven
     several severe sharp sheer short shorter significant similar simple single six slight slow
     small smaller smallest smart soft sole solemn solid southern special specific stable standard
     stark strict strong stronger stunning subtle successful such sudden suitable sure tall ten
     terrible third thousand three tiny top total traditional true two typical unique unknown unseen
     unspoken unusual upper useful usual utter vague valid variable various vast very visible vital
     vivid warm weak weary western whole wide wider wild wonderful worse worst worth wrong young
     younger youngest zero",
);

static LABELS: WordList = WordList::new(
    "abstract acknowledgements aim aims background case conclusion conclusions contents context
     description design discussion example figure findings illustration interpretation intervention
     interventions introduction main measurements method methods note objective objectives outcome
     outcomes overview participants patients purpose question references result results section
     setting settings step study summary table tip usage warning",
);

static GERUNDS: WordList = WordList::new(
    "aging beginning blessing boxing briefing building ceiling clothing computing cooking drawing
     dressing earring ending engineering evening farming feeling fishing funding gaming gathering
     hearing housing king learning lighting lightning listing manufacturing marketing meaning
     meeting mining morning offspring opening painting parking planning pricing printing processing
     programming publishing racing rating reading recording rendering ring sailing sampling
     schooling screening sequencing shipping shopping sibling signaling signalling skiing spelling
     spring sterling sting streaming string swimming swing teaching testing thing timing tracing
     tracking trading training understanding warning wedding wing wording writing",
);

static DATES: WordList = WordList::new(
    "april august december february friday january july june march may monday november october
     saturday september sunday thursday tuesday wednesday",
);

static CONNECTORS: WordList = WordList::new(
    "al bin da das de del den der des di dos du e el for ibn la le of ter the van von y zu",
);
