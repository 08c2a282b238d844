"""The position service owns positions, keyed by (connector uid, partition), and the fences of tasks.

It promises: after OpenTask every commit of an older owner is refused; a commit that is acknowledged is on disk, all of it or none;
nothing moves on its own. It never looks into what a position means.
"""
