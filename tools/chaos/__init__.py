"""Runs that are killed, told to end, left without room and set upon each other; and what becomes of their folders.

A parent process imports everything once and forks a child for each run of a command, so that a trial costs little
more than its work. What is asked of every trial is the same: that the folder can be gone on with, and that in the end
it holds what a run that was left alone holds, but for times.
"""
