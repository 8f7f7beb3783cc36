"""The jar of a wheel: what pyproject.toml cannot say.

A wheel has the Java classes compiled, where it is built with a JDK beside PySpark: ``make wheel``. Elsewhere it has
their sources, and the first start compiles them.
"""

import shutil
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
JVM = Path("ksqlpy", "spark", "jvm")


class Build(build_py):
    """Adds the Java classes."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            self._add_java(Path(self.build_lib, JVM))

    def _add_java(self, to: Path) -> None:
        sys.path.insert(0, str(ROOT))
        from ksqlpy.errors import EnvironmentProblem
        from ksqlpy.spark.jvm import build

        try:
            build.compile_with_javac(to / build.JAR)
        except EnvironmentProblem as e:
            if e.code == "helper-jar-not-compiled":
                raise
            self.warn(f"the wheel has the sources of the Java classes, not their jar: {e}")
            for source in build.sources():
                (to / source).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(build.FOLDER / source, to / source)


setup(cmdclass={"build_py": Build})
