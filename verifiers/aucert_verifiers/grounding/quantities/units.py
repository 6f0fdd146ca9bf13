"""Units as numbers are compared in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aucert_verifiers.grounding.quantities.quantity import Dimension


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit, and how many of the unit that its kind is compared in it is."""

    dimension: Dimension
    name: str
    factor: float = 1.0


AGE: Final = "age"
"""The unit of an age, in months. No age is a period of time in which something can be done."""
MINUTE: Final = 60.0
HOUR: Final = 3_600.0
DAY: Final = 86_400.0
WEEK: Final = 7 * DAY


def _units(dimension: Dimension, table: str) -> dict[str, Unit]:
    """One line for each unit: its name, the factor, and how it is written."""
    found: dict[str, Unit] = {}
    for line in table.strip().splitlines():
        name, factor, *written = line.split()
        for word in written:
            found[word] = Unit(dimension, name, float(factor))
    return found


_DURATIONS = _units(
    Dimension.DURATION,
    f"""
    seconds 0.001 millisecond milliseconds ms msec
    seconds 1 second seconds sec secs s
    seconds {MINUTE} minute minutes min mins
    seconds {HOUR} hour hours hr hrs h hourly
    seconds {DAY} day days night nights
    seconds {WEEK} week weeks wk wks
    seconds {2 * WEEK} fortnight fortnights
    months 1 month months mo mos
    months 3 quarter-year quarters
    months 12 year years yr yrs
    months 120 decade decades
    """,
)
_MONEY = _units(
    Dimension.MONEY,
    """
    usd 1 dollar dollars usd buck bucks us$
    usd 0.01 cent cents
    eur 1 euro euros eur
    gbp 1 pound pounds gbp quid
    gbp 0.01 penny pence
    jpy 1 yen jpy
    cny 1 yuan cny rmb renminbi
    chf 1 franc francs chf
    inr 1 rupee rupees inr
    cad 1 cad
    aud 1 aud
    sek 1 sek kronor krona
    nok 1 nok kroner
    dkk 1 dkk
    pln 1 pln zloty
    krw 1 krw won
    brl 1 brl reais
    mxn 1 mxn pesos
    """,
)
_MEASURES = _units(
    Dimension.MEASURE,
    """
    gram 0.001 mg milligram milligrams
    gram 1 g gram grams gramme grammes
    gram 1000 kg kgs kilo kilos kilogram kilograms
    gram 1000000 tonne tonnes
    gram 453.59237 lb lbs
    gram 28.349523125 oz ounce ounces
    metre 0.001 mm millimetre millimetres millimeter millimeters
    metre 0.01 cm centimetre centimetres centimeter centimeters
    metre 1 m metre metres meter meters
    metre 1000 km kilometre kilometres kilometer kilometers
    metre 1609.344 mile miles mi
    metre 0.3048 ft foot feet
    metre 0.0254 inch inches
    metre 0.9144 yard yards
    litre 0.001 ml millilitre millilitres milliliter milliliters
    litre 0.01 cl centilitre centilitres
    litre 1 l litre litres liter liters
    litre 3.785411784 gallon gallons
    byte 1 byte bytes
    byte 1000 kb kilobyte kilobytes
    byte 1000000 mb megabyte megabytes
    byte 1000000000 gb gigabyte gigabytes gig gigs
    byte 1000000000000 tb terabyte terabytes
    bit/s 1000 kbps
    bit/s 1000000 mbps mbit/s
    bit/s 1000000000 gbps
    celsius 1 celsius
    fahrenheit 1 fahrenheit
    km/h 1 kmh kph km/h
    km/h 1.609344 mph
    watt 1 watt watts
    watt 1000 kw kilowatt kilowatts
    watt-hour 1000 kwh
    watt-hour 1 wh
    volt 1 volt volts
    ampere 1 amp amps ampere amperes
    bar 1 bar bars
    decibel 1 decibel decibels db
    calorie 1 calorie calories kcal
    pixel 1 pixel pixels px
    square-metre 1 sqm
    """,
)
UNITS: Final = {**_MEASURES, **_MONEY, **_DURATIONS}

SYMBOLS: Final = {
    "$": Unit(Dimension.MONEY, "usd"),
    "\u20ac": Unit(Dimension.MONEY, "eur"),
    "\u00a3": Unit(Dimension.MONEY, "gbp"),
    "\u00a5": Unit(Dimension.MONEY, "jpy"),
    "\uffe5": Unit(Dimension.MONEY, "jpy"),
    "\u20b9": Unit(Dimension.MONEY, "inr"),
    "\u20a9": Unit(Dimension.MONEY, "krw"),
}

# Without spaces the unit opens a longer run of letters: 48時間以内, 30日間.
_CJK: Final = (
    ("\u6642\u9593", Unit(Dimension.DURATION, "seconds", HOUR)),
    ("\u5c0f\u65f6", Unit(Dimension.DURATION, "seconds", HOUR)),
    ("\u5c0f\u6642", Unit(Dimension.DURATION, "seconds", HOUR)),
    ("\u55b6\u696d\u65e5", Unit(Dimension.DURATION, "business-day", DAY)),
    ("\u5de5\u4f5c\u65e5", Unit(Dimension.DURATION, "business-day", DAY)),
    ("\u65e5", Unit(Dimension.DURATION, "seconds", DAY)),
    ("\u5929", Unit(Dimension.DURATION, "seconds", DAY)),
    ("\u9031\u9593", Unit(Dimension.DURATION, "seconds", WEEK)),
    ("\u5468", Unit(Dimension.DURATION, "seconds", WEEK)),
    ("\u5206", Unit(Dimension.DURATION, "seconds", MINUTE)),
    ("\u304b\u6708", Unit(Dimension.DURATION, "months", 1)),
    ("\u30f6\u6708", Unit(Dimension.DURATION, "months", 1)),
    ("\u4e2a\u6708", Unit(Dimension.DURATION, "months", 1)),
    ("\u5e74", Unit(Dimension.DURATION, "months", 12)),
    ("\u5186", Unit(Dimension.MONEY, "jpy")),
    ("\u5143", Unit(Dimension.MONEY, "cny")),
    ("\uc2dc\uac04", Unit(Dimension.DURATION, "seconds", HOUR)),
    ("\uc77c", Unit(Dimension.DURATION, "seconds", DAY)),
    ("\uc6d0", Unit(Dimension.MONEY, "krw")),
)


def unit_of(word: str) -> Unit | None:
    """The unit a lower-case word names."""
    found = UNITS.get(word)
    if found is None and word and not word.isascii():
        return next((unit for prefix, unit in _CJK if word.startswith(prefix)), None)
    return found
