"""Couples: their statistics, the leader and its neighbours, indices, round robins."""
