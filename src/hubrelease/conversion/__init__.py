"""Conversion at file level: shard by shard, tensor by tensor, name for name, with flat memory.

rules.py says which modules are quantised, plan.py lays out every output shard before the first byte, amax.py reads what
siblings share, engine.py streams, rows.py writes down what became of every tensor, configs.py makes the config. The
arithmetic is formats/'s.
"""
