"""The functions that all contenders call: ksqlpy gets this file's text, programs import it."""


def rule(amount):
    """What is due for an amount such as '37.25 EUR', and which rule gives it; null for null."""
    if amount is None:
        return None
    number, _, currency = amount.partition(" ")
    cents = round(float(number) * 100)
    if cents >= 5000:
        return f"large {cents * 3 // 100} {currency}"
    return f"small {max(5, cents // 50)} {currency}"


def checked(amount):
    """Whether an amount is as large as to be looked at."""
    return amount is not None and float(amount.partition(" ")[0]) >= 25
