"""Recipes: what people often ask of a stream, as queries over events of their own, and answers without ksqlpy.

Four sets, each with its generator: visits to a site, payments, an inventory, and readings of machines.
"""
