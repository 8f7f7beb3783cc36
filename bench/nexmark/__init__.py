"""NEXMark in ksqlDB's language: events of an auction site, queries over them, and answers computed without ksqlpy.

Three queries are left out. q6, the mean price of a seller's last ten auctions, needs the moment at which an auction
ends as an event; the language has no timers. q12 counts in windows of processing time; windows are of event time. q23
is younger than the specification.
"""
