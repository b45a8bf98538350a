"""Counts of storks in eleven countries as lollipops, largest at the top."""

import matplotlib.pyplot as plt
import pandas as pd

counts = pd.read_csv("storks.csv").sort_values("pairs")  # columns: country, pairs
okabe_ito = ["#E69F00", "#56B4E9", "#009E73", "#CC79A7"]

fig, ax = plt.subplots(figsize=(3, 5))
ax.hlines(counts["country"], 0, counts["pairs"], color="0.8", linewidth=0.5)
ax.plot(counts["pairs"], counts["country"], "o", color=okabe_ito[2])  # the lollipop's head
for y, pairs in enumerate(counts["pairs"]):
    ax.text(pairs, y, f" {pairs:,}", va="center", fontsize=7)  # values on every mark
ax.set_axis_off()
fig.savefig("storks.png", transparent=True)
