"""Grounding: the parts that take a reply and its passages apart, before anything is compared.

`splitter` cuts a reply into atomic claims, `currency` says which passages may support one, and
`quantities` reads numbers with what they govern. The check that decides with them is not built yet.
"""
