"""The schema registry: what is asked of it over HTTP.

It is the REST API that the registries of Confluent, Apicurio and Karapace share. Confluent's client is not used: it
cannot be imported without an OAuth library, two libraries of cryptography and a second HTTP client, for what are four
requests here.
"""

from __future__ import annotations

from ksqlpy.registry.client import PLAIN, Registered, SchemaRegistry

__all__ = ["PLAIN", "Registered", "SchemaRegistry"]
