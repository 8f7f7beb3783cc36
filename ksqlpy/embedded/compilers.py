"""Options for the compilers of a JVM that runs queries: what is called for each record is optimized first.

A new JVM has all to compile. Its quick compiler (C1) makes code run some times faster at once; the optimizing one (C2)
takes twice the CPU for what pays only later. By Java's own thresholds code of the start, which is called some thousand
times and then never again, is in its queue ahead of the code that works on records, and on two cores it takes a
third of the CPU from it for half a minute.
"""

from __future__ import annotations

__all__ = ["OPTIMIZED_LATER", "PROFILES_UNUSED"]

OPTIMIZED_LATER = (
    # While the optimizing compiler has anything to do, methods get less of a profile: their code is a third quicker.
    "-XX:Tier3DelayOn=0",
    # Ten times Java's own: code that works on records reaches them within a second of a backlog.
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
    # Three times Java's own: most of what a query that starts calls some hundred times is never called again.
    "-XX:Tier3InvocationThreshold=600",
    "-XX:Tier3MinInvocationThreshold=300",
    "-XX:Tier3CompileThreshold=6000",
)
"""Options of a JVM whose compilers wait until code is hot."""

PROFILES_UNUSED = ("-XX:+UnlockDiagnosticVMOptions", "-XX:-AOTReplayTraining")
"""Options of a JVM with an ahead-of-time cache (Java 25): its profiles would have much optimized at the start."""
