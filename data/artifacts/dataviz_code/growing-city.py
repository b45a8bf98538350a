"""A city's built-up area over time as a looping animation."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter

years = np.arange(1850, 2021, 10)
area = 4 * np.exp(0.02 * (years - 1850))

fig, ax = plt.subplots(figsize=(6, 6))
fig.set_facecolor("#0b1021")
ax.set_yscale("log")
ax.set_xlim(1850, 2020)
ax.set_ylim(1, 200)
(line,) = ax.step([], [], where="post", color="gold")


def draw(frame):
    line.set_data(years[: frame + 1], area[: frame + 1])
    ax.set_title(f"{years[frame]}: {area[frame]:.0f} km², the takeaway being the slope")
    return (line,)


FuncAnimation(fig, draw, frames=len(years)).save("city.gif", writer=PillowWriter(fps=4))
