"""Which packages there are, the one thing that pyproject.toml cannot say: it can look for packages or move them.

``server/``, ``grammar/`` and ``examples/`` are top-level folders of the repository and are installed as
``ksqlpy.server``, ``ksqlpy.grammar`` and ``ksqlpy.examples``; packages that are added below these folders are found by
themselves.
"""

from setuptools import find_namespace_packages, find_packages, setup

MOVED = ["server", "grammar", "examples"]
drawings = "grammar.railroad"  # for who reads the repository
moved = find_namespace_packages(
    include=[p for name in MOVED for p in (name, f"{name}.*")], exclude=["*.__pycache__", drawings]
)

setup(
    packages=[*find_packages(include=["ksqlpy", "ksqlpy.*"]), *(f"ksqlpy.{name}" for name in moved)],
    package_dir={f"ksqlpy.{name}": name for name in MOVED},
)
