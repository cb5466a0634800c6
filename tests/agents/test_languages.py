"""Replies in German, French and Spanish: refusals are known, ratings are read or missing with a reason, never a wrong number."""

from __future__ import annotations

from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.foreign_replies import ENGLISH, LANGUAGES, refuses_elsewhere
from parley.agents.reply_cleaning import is_refusal
from parley.agents.scales import NUMERIC, Scale, read_rating

ELEVEN = Scale("support", NUMERIC, 1, 11, {1: "against", 11: "for"})

REFUSALS = [
    "Als KI-Sprachmodell kann ich keine politische Meinung vertreten.",
    "Als KI habe ich keine eigene Meinung zu diesem Thema.",
    "Als künstliche Intelligenz bin ich neutral.",
    "Als großes Sprachmodell darf ich keine Partei ergreifen.",
    "Ich bin nur eine KI und habe keine Gefühle.",
    "Ich bin ein Sprachmodell, kein Wähler.",
    "Es tut mir leid, aber ich kann dabei nicht helfen.",
    "Tut mir leid, ich kann an dieser Debatte nicht teilnehmen.",
    "Leider kann ich diese Rolle nicht übernehmen.",
    "Entschuldigung, aber ich kann solche Inhalte nicht erstellen.",
    "Ich kann diese Persona nicht verkörpern.",
    "Ich kann diese Anfrage leider nicht erfüllen.",
    "En tant qu'IA, je n'ai pas d'opinion personnelle.",
    "En tant que modèle de langage, je ne prends pas parti.",
    "Je suis une intelligence artificielle et je reste neutre.",
    "Désolé, mais je ne peux pas participer à cette discussion.",
    "Je suis désolée, je ne peux pas vous aider.",
    "Je ne peux pas jouer ce rôle.",
    "Como modelo de lenguaje, no tengo opiniones políticas.",
    "Como IA, no puedo tomar partido.",
    "Soy una inteligencia artificial y no voto.",
    "Lo siento, pero no puedo ayudarte con eso.",
    "Lamentablemente, no puedo participar en este debate.",
    "No puedo asumir este papel.",
]
LINES = [
    "Ich kann dieses Gesetz nicht unterstützen.",
    "Es tut mir leid, Bernd, aber ich kann dir nicht zustimmen.",
    "Leider kann ich nicht glauben, dass höhere Steuern helfen.",
    "Leider kann ich mir die Heizung nicht mehr leisten.",
    "Tut mir leid, aber das kann ich nicht akzeptieren.",
    "Als KI-Forscherin sehe ich, wie sich die Arbeit verändert.",
    "Als KI aufkam, verlor ich meine Stelle.",
    "Die KI wird uns die Arbeit nehmen, und als Sprachmodell kennt sie jeder.",
    "Ich bin KI-Ingenieur und habe Sorgen.",
    "Als Mutter kann ich da nicht schweigen.",
    "Ich kann die Rolle des Staates nicht hinnehmen.",
    "Die Rolle der Gewerkschaften ist groß, und ihre Perspektive fehlt hier.",
    "Ich kann deine Perspektive verstehen, teile sie aber nicht.",
    "Ich bin in einer kleinen Stadt groß geworden.",
    "Je ne peux pas soutenir cette loi.",
    "Désolé, mais je ne peux pas accepter cela.",
    "Je suis désolé, mais je ne suis pas d'accord.",
    "En tant qu'ingénieur en IA, je m'inquiète.",
    "En tant que mère, je ne peux pas me taire.",
    "Je suis une infirmière de Lyon.",
    "Je ne peux pas prendre le risque.",
    "No puedo apoyar esta ley.",
    "Lo siento, pero no puedo aceptar eso.",
    "Lo siento, Ana, pero no estoy de acuerdo.",
    "Como madre, no puedo callar.",
    "Me preocupan temas como inteligencia artificial y robótica.",
    "Soy una maestra de Sevilla.",
    "No puedo asumir los costes de esta reforma.",
]


@check_each("text", REFUSALS)
def test_refusals(text: str) -> None:
    """In German all six were heard as lines of the debate, and counted as replies."""
    assert is_refusal(text)
    assert read_rating(f"{text} 5", ELEVEN).value is None


@check_each("text", LINES)
def test_positions_are_no_refusals(text: str) -> None:
    """A false alarm would silence somebody who has something to say."""
    assert not is_refusal(text)


@given(
    st.sampled_from([(language, pattern) for language in LANGUAGES for pattern in language.refusals]).flatmap(
        lambda one: st.from_regex(one[1], fullmatch=True, alphabet=st.characters(codec="latin-1"))
    )
)
def test_a_hint_stands_in_whatever_a_pattern_finds(text: str) -> None:
    """The quick look must let no refusal through."""
    assert refuses_elsewhere(text) or not any(p.search(text) for one in LANGUAGES for p in one.refusals)


READ = {
    "Sieben": 7, "Eins.": 1, "elf": 11, "Zwölf von zwölf": "other_scale", "sieben von elf": 7, "5 von 11": 5, "7,5": 7.5,
    "7,5 von 11": 7.5, "Eine 7 von 11.": 7, "7 von 11 Punkten": 7, "7 von 10": "other_scale", "11,5": "out_of_range",
    "Auf einer Skala von 1 bis 11 würde ich 5 sagen": 5, "Auf einer Skala von 1 bis 11 würde ich eine 5 geben.": 5,
    "5, weil ich 1986 noch in der Schule war.": 5, "5. I lived through 1986.": 5, "5, aber 1986 war es schlimmer": 5,
    "Ich würde sagen: 7": 7, "Ich würde eine 7 geben.": 7, "Ich würde dem etwa eine 7 geben, weil es wichtig ist.": 7,
    "Meine Antwort ist 7.": 7, "Ich sage 6": 6, "Ich bin nicht sicher, 5": 5, "Ehrlich gesagt: 5": 5, "eleven": 11,
    "sept": 7, "7 sur 11": 7, "Je dirais 7.": 7, "Sur une échelle de 1 à 11, je dirais 5": 5, "Ma note est de 7.": 7,
    "siete": 7, "7 de 11": 7, "Yo diría 7.": 7, "En una escala del 1 al 11, diría 5": 5, "Mi respuesta es 7.": 7,
}  # fmt: skip
UNREAD = [
    "6,7", "7,8", "1,000", "6,7,8", "nicht 5", "Ich würde nicht 5 sagen", "Ich würde 5 nicht sagen", "mindestens 7",
    "höchstens 7", "mehr als eine 5", "über 7", "fast eine 7", "Ich habe 3 Kinder.", "Ich bin 7.", "Als ich 5 war, zog ich um.",
    "Ich wurde mit 7 krank.", "Kapitel 7.", "1. Es ist schlimm", "Wir sind 5.", "Manche sagen 10.", "Es war eine 4.",
    "Früher war es eine 3.", "Mein Nachbar würde 5 sagen.", "Würde ich 5 sagen, wäre ich ein Lügner.", "Ich gebe 5 Euro.",
    "7 von 11 Menschen", "5 oder 6", "5 bis 6", "zwischen 5 und 6", "acht bis neun", "sieben oder acht", "In 1986, 5.",
    "Auf einer Skala von 1 bis 10: 5", "5, in den 1990ern war es 8", "Seit 5 Jahren", "1986", "Je ne dirais pas 5", "plus de 5",
    "au moins 5", "Mon fils a 7 ans.", "J'ai 3 enfants.", "No diría 5", "más de 5", "Mi vecino diría 5.", "Tengo 3 hijos.",
]  # fmt: skip


@check_each(("text", "expected"), READ.items())
def test_a_rating_in_other_words(text: str, expected: float | str) -> None:
    """By the rules of English, whose words they are put into."""
    assert read_rating(text, ELEVEN) == ((None, expected) if isinstance(expected, str) else (expected, None))


@check_each("text", UNREAD)
def test_a_number_that_is_no_rating(text: str) -> None:
    """Counts, ages, denials, bounds, somebody else's rating, two numbers: missing, with a reason."""
    reading = read_rating(text, ELEVEN)
    assert reading.value is None
    assert reading.reason in ("unclear_number", "several_numbers", "out_of_range")


SAID = [
    "{n}", "{n}.", "{n}, weil es {year} noch anders war.", "Ich würde eine {n} geben.", "Auf der Skala von 1 bis 11: {n}.",
    "Auf einer Skala von 1 bis 11 würde ich {n} sagen, denn {year} war ich {other}.", "Ich habe {other} Kinder und sage {n}.",
    "{w}", "{w} von elf", "Meine Bewertung lautet {n} von 11.", "Nicht {other}, sondern {n}.", "Mehr als {other}: {n}",
    "Früher {other}, heute {n}.", "Je dirais {n}, pas {other}.", "Ma réponse est {n}, car en {year} j'avais {other} ans.",
    "Diría {n} de 11, no {other}.", "Mi vecino diría {other}, yo diría {n}.", "{n}. I lived through {year}.",
    "{n},5", "{n},0 von 11",
]  # fmt: skip
WORDS = {ENGLISH.index(english): word for word, english in LANGUAGES[0].numbers.items()}


@given(st.sampled_from(SAID), st.integers(1, 11), st.integers(1, 11), st.integers(1900, 2026))
def test_never_a_wrong_number(said: str, n: int, other: int, year: int) -> None:
    """Whatever else is named beside it, what is read is what was meant."""
    text = said.format(n=n, w=WORDS[n], other=other, year=year)
    meant = n + 0.5 if said == "{n},5" else n
    assert read_rating(text, ELEVEN).value in (None, meant, *([n] if n == other else []))
