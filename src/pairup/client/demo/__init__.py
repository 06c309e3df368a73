"""Simulated players of a service: they join, answer, leave, are late and contradict themselves."""

from pairup.client.demo.crowd import Crowd, expected_games
from pairup.client.demo.habits import Habits, Pace
from pairup.client.demo.simulation import PlayedRound, Simulation

__all__ = [
    "Crowd",
    "Habits",
    "Pace",
    "PlayedRound",
    "Simulation",
    "expected_games",
]
