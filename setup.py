"""Which packages there are, the one thing that pyproject.toml cannot say: it can look for packages or move them.

``server/`` and ``grammar/`` are top-level folders of the repository and are installed as ``ksqlpy.server`` and
``ksqlpy.grammar``; packages that are added below any of the three folders are found by themselves.
"""

from setuptools import find_namespace_packages, find_packages, setup

MOVED = ["server", "grammar"]
moved = find_namespace_packages(include=[p for name in MOVED for p in (name, f"{name}.*")], exclude=["*.__pycache__"])

setup(
    packages=[*find_packages(include=["ksqlpy", "ksqlpy.*"]), *(f"ksqlpy.{name}" for name in moved)],
    package_dir={f"ksqlpy.{name}": name for name in MOVED},
)
