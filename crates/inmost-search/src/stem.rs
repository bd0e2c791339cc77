//! Light stemmers of seven languages, and the guess of the language of a text.
//!
//! They strip inflections and the commonest derivations from *folded* words: `configuracao`, as people type it, has the stem of
//! `configurações`. The Snowball stemmers need the accents, and would keep copies of words that nobody could wipe. A stem is not
//! a word, and need not be right: the forms of one word should have one stem, and different words different ones.

use std::collections::HashMap;

/// A language with a stemmer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    English,
    German,
    Spanish,
    Portuguese,
    Italian,
    Indonesian,
    Russian,
}

/// The languages of the Latin alphabet, most likely first. Words of the Cyrillic alphabet are taken for Russian.
pub(crate) const LATIN: [Language; 6] = [
    Language::English,
    Language::German,
    Language::Spanish,
    Language::Portuguese,
    Language::Italian,
    Language::Indonesian,
];

/// The tables of all stemmers, made once.
pub(crate) struct Stemmers {
    steps: Vec<(Language, Vec<Step>)>,
    common: HashMap<&'static str, [bool; LATIN.len()]>,
}

/// Replaces the longest of some endings, or beginnings. They are found by the byte that they end, or begin, with.
struct Step {
    is_prefix: bool,
    affixes: Vec<Vec<Affix>>,
}

struct Affix {
    text: &'static str,
    by: &'static str,
    /// The least length of what is left, in bytes.
    left: usize,
}

impl Stemmers {
    pub(crate) fn new() -> Self {
        let mut common: HashMap<_, [bool; LATIN.len()]> = HashMap::new();
        for (at, language) in LATIN.into_iter().enumerate() {
            for word in common_words(language).split_whitespace() {
                if let Some(is_common) = common.entry(word).or_default().get_mut(at) {
                    *is_common = true;
                }
            }
        }
        let all = LATIN.into_iter().chain([Language::Russian]);
        let steps = all.map(|it| (it, steps(it).iter().map(Step::parse).collect()));
        Self { steps: steps.collect(), common }
    }

    /// The language of the Latin alphabet to which most of the words belong; English if no word tells.
    pub(crate) fn guess(count: &Counts) -> Language {
        let mut best = (0, Language::English);
        for (count, language) in count.0.into_iter().zip(LATIN) {
            if count > best.0 {
                best = (count, language);
            }
        }
        best.1
    }

    /// Counts a folded word for the guess.
    pub(crate) fn count(&self, word: &str, counts: &mut Counts) {
        let languages = self.common.get(word).into_iter().flatten();
        for (count, is_common) in counts.0.iter_mut().zip(languages) {
            *count += u32::from(*is_common);
        }
    }

    /// Replaces a folded word by its stem. `language` is that of words of the Latin alphabet.
    pub(crate) fn stem(&self, word: &mut String, language: Language) {
        let Some(language) = language_of(word, language) else {
            return;
        };
        if language == Language::German {
            replace_digraphs(word);
        }
        let steps = self.steps.iter().filter(|(of, _)| *of == language);
        for step in steps.flat_map(|(_, steps)| steps) {
            step.apply(word);
        }
        if language == Language::English {
            undouble(word);
        }
    }
}

/// The language by which a word is stemmed. Identifiers, numbers and words of other scripts are not stemmed.
pub(crate) fn language_of(word: &str, latin: Language) -> Option<Language> {
    if word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Some(latin);
    }
    word.chars().all(|char| matches!(char, 'а'..='я')).then_some(Language::Russian)
}

/// How many of some words are common in each language.
#[derive(Default)]
pub(crate) struct Counts([u32; LATIN.len()]);

impl Step {
    fn parse(step: &(bool, usize, &'static str)) -> Self {
        let (is_prefix, left, words) = *step;
        let mut affixes: Vec<Vec<Affix>> = (0..=255).map(|_| Vec::new()).collect();
        for word in words.split_whitespace() {
            let (text, by) = word.split_once(':').unwrap_or((word, ""));
            let key = if is_prefix { text.bytes().next() } else { text.bytes().last() };
            if let Some(row) = key.and_then(|key| affixes.get_mut(usize::from(key))) {
                row.push(Affix { text, by, left });
            }
        }
        for row in &mut affixes {
            row.sort_by_key(|affix| std::cmp::Reverse(affix.text.len()));
        }
        Self { is_prefix, affixes }
    }

    fn apply(&self, word: &mut String) {
        let key = if self.is_prefix { word.bytes().next() } else { word.bytes().last() };
        let row = key.and_then(|key| self.affixes.get(usize::from(key)));
        for Affix { text, by, left } in row.into_iter().flatten() {
            let rest =
                if self.is_prefix { word.strip_prefix(text) } else { word.strip_suffix(text) };
            let Some(rest) = rest else { continue };
            if rest.len() + by.len() < *left || !rest.bytes().chain(by.bytes()).any(is_vowel) {
                continue;
            }
            // In place, so that no copy of the word is made.
            if self.is_prefix {
                word.replace_range(..text.len(), by);
            } else {
                word.truncate(rest.len());
                word.push_str(by);
            }
            return;
        }
    }
}

/// `stopp`, of `stopped`, becomes `stop`.
fn undouble(word: &mut String) {
    let mut ends = word.bytes().rev();
    if let (Some(last), Some(before)) = (ends.next(), ends.next())
        && last == before
        && !is_vowel(last)
        && word.len() > 3
    {
        word.pop();
    }
}

/// `ae`, `oe` and `ue` are how people type umlauts without a German keyboard; folding leaves the bare vowel. `neue` and `quelle` have
/// no umlaut. (The variant "German2" of the Snowball stemmer does this.)
fn replace_digraphs(word: &mut String) {
    let mut before = 0;
    word.retain(|char| {
        let byte = u8::try_from(char).unwrap_or(0);
        let is_end = byte == b'e' && matches!(before & 0xff, 0x61 | 0x6f | 0x75);
        let is_word = before & 0xff == 0x75 && matches!(before >> 8, 0x61 | 0x65 | 0x71);
        before = before << 8 | u32::from(byte);
        before &= 0xffff;
        !is_end || is_word
    });
}

/// A vowel of the Latin alphabet, or any byte of another letter.
fn is_vowel(byte: u8) -> bool {
    matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y' | 128..)
}

/// Folded words by which texts of a language are recognised.
fn common_words(language: Language) -> &'static str {
    match language {
        Language::English => {
            "the of and to is in that for with was this are it be on not from have you by or an as"
        }
        Language::German => {
            "der die das und ist nicht ein eine mit fur auf den dem des zu von im sich auch wird bei aus nach am wie oder"
        }
        Language::Spanish => {
            "el los las del de la en que un una con para por es y se lo su al como pero esta este no"
        }
        Language::Portuguese => {
            "o os as do da dos das de em um uma que com para por e nao no na ao se mais seu sua voce"
        }
        Language::Italian => {
            "il lo gli di e che del della dei per con un una sono in nel nella non le al si come la i"
        }
        Language::Indonesian => {
            "yang dan di untuk dengan ini itu dari pada tidak adalah dalam akan ke anda atau oleh saat"
        }
        Language::Russian => "",
    }
}

/// The steps of a stemmer: whether it strips beginnings, how many bytes must be left, and the affixes, with a colon before what
/// takes their place.
fn steps(language: Language) -> &'static [(bool, usize, &'static str)] {
    match language {
        Language::English => &[
            (false, 3, "ies:y sses:ss xes:x ches:ch shes:sh zes:z us:us ss:ss is:is s"),
            (false, 2, "eed:eed ied:y ing ed"),
            (
                false,
                5,
                "ation ational ization:iz izer:iz ator iveness fulness ousness ment ness ful less able ible ive al ly er or ate at",
            ),
            (false, 3, "tion:t sion:s"),
            (false, 2, "e"),
        ],
        Language::German => &[
            (false, 4, "ern em en er es e st:st s n"),
            (false, 4, "ung heit keit schaft isch lich ig bar los sam end"),
            (false, 4, "st t en er"),
            (true, 5, "ge"),
        ],
        Language::Spanish => &[
            (
                false,
                3,
                "amientos amiento imientos imiento aciones acion adores ador adoras adora idades idad mente ancia ancias
                 ando iendo yendo ados adas ado ada idos idas ido ida ar er ir aba aban aron ieron aran ara amos emos imos
                 ciones:c cion:c siones:s sion:s es os as an en o a e s",
            ),
        ],
        Language::Portuguese => &[
            (
                false,
                3,
                "amentos amento imentos imento acoes acao adores ador adoras adora idades idade mente ancia ancias ando endo
                 indo ados adas ado ada idos idas ido ida ar er ir avam ava aram eram iram ara amos emos imos coes:c cao:c
                 soes:s sao:s oes ao ais:al eis:el ens em ns am es os as o a e s",
            ),
        ],
        Language::Italian => &[
            (
                false,
                3,
                "amenti amento imenti imento azioni azione atori atore mente ita ando endo ati ate ato ata iti ite ito uti
                 ute uto uta are ere ire ano ono ava avano zioni:z zione:z sioni:s sione:s chi:c che:c ghi:g ghe:g ie ii io
                 ia i e a o",
            ),
        ],
        Language::Indonesian => &[
            (false, 4, "lah kah pun nya ku mu"),
            (false, 4, "kan an i"),
            // Again, because many a word ends so by itself: `simpan`, `penyimpanan`.
            (false, 4, "kan an i"),
            (
                true,
                4,
                "memper diper meny:s peny:s mengk:k meng peng mema:pa meme:pe memi:pi memo:po memu:mu mem pem mena:ta mene:te
                 meni:ti meno:to menu:tu men pena:ta pene:te peni:ti penu:tu pen me di ter ber per pe se ke",
            ),
        ],
        Language::Russian => &[
            (false, 6, "ся сь"),
            (
                false,
                6,
                "ениями ениях ением ение ения ении ению аниями аниях анием ание ания ании анию остями остях остью ость ости
                 остеи иями ями ами ием ием иях ях ах иеи еи ои ии ем ам ом ям ее ие ые ое ими ыми им ым его ого ему ому
                 их ых ую юю ая яя ою ею ала али ало ать ает ают аете аем ал ан ана ано аны анныи анная анное анные
                 ила или ило ить ит ят ите иш ил ен ена ено еныи ены енныи енная енное енные енных енного
                 ыть ует уют овать ует ете ет ют ут еть ела ели ело ел ять яет яют ял яла яли ла ли ло ев ов ью ию ия ья
                 ть а е и о у ы ь ю я",
            ),
            (false, 6, "нн:н ь и"),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stem(word: &str, language: Language) -> String {
        let mut word = word.to_owned();
        Stemmers::new().stem(&mut word, language);
        word
    }

    #[test]
    fn the_forms_of_a_word_have_one_stem() {
        for (language, expected, forms) in [
            (Language::English, "query", "query queries queried"),
            (Language::English, "us", "use used using uses"),
            (Language::English, "stop", "stop stops stopped stopping"),
            (
                Language::English,
                "configur",
                "configure configured configures configuration configurations",
            ),
            (Language::English, "encrypt", "encrypt encrypted encryption encrypts"),
            (Language::English, "deploy", "deploy deployed deployment deployments deploying"),
            (Language::English, "month", "month months monthly"),
            (Language::German, "rechn", "rechnung rechnungen rechnen"),
            (Language::German, "haus", "haus haeuser hauses hausern"),
            (Language::German, "bestell", "bestellen bestellt bestellung bestellungen bestellte"),
            (Language::German, "sageblat", "sageblatt saegeblatt sageblatter"),
            (Language::German, "quell", "quelle quellen"),
            (
                Language::Spanish,
                "configur",
                "configurar configuracion configuraciones configurado configuradas",
            ),
            (Language::Spanish, "archiv", "archivo archivos"),
            (Language::Spanish, "servidor", "servidor servidores"),
            (
                Language::Portuguese,
                "configur",
                "configurar configuracao configuracoes configurando configurada",
            ),
            (Language::Portuguese, "mensag", "mensagem mensagens"),
            (Language::Portuguese, "vers", "versao versoes"),
            (
                Language::Italian,
                "configur",
                "configurare configurazione configurazioni configurato",
            ),
            (Language::Italian, "archiv", "archivio archivi"),
            (Language::Italian, "strument", "strumento strumenti"),
            (Language::Indonesian, "simp", "simpan menyimpan disimpan penyimpanan tersimpan"),
            (Language::Indonesian, "baca", "baca membaca dibaca bacakan"),
            (Language::Indonesian, "memor", "memori memorinya"),
            (Language::Russian, "хран", "хранить хранит хранится хранение хранения хранят"),
            (Language::Russian, "фаил", "фаил фаилы фаилов фаилами"),
            (Language::Russian, "директор", "директория директории директорию"),
        ] {
            for form in forms.split(' ') {
                assert_eq!(stem(form, language), expected, "{form}");
            }
        }
    }

    #[test]
    fn short_words_and_identifiers_are_left_alone() {
        for word in [
            "status",
            "class",
            "string",
            "red",
            "need",
            "bus",
            "read_files",
            "3s",
            "utf8s",
            "東京",
            "λογος",
        ] {
            assert!(
                stem(word, Language::English).starts_with(word.trim_end_matches('s')),
                "{word}"
            );
        }
        assert_eq!(stem("read_files", Language::English), "read_files");
    }
}
