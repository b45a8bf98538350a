"""Sea level at one tide gauge, day by day, with the flood threshold drawn in."""

import matplotlib.pyplot as plt
import pandas as pd

levels = pd.read_csv("gauge.csv", parse_dates=["time"]).set_index("time")
daily = levels["cm"].resample("D").max()

fig, ax = plt.subplots(figsize=(10, 2))
ax.fill_between(daily.index, daily, alpha=0.3)
ax.axhline(140, linestyle="--", color="black")
ax.annotate(
    "storm of 14 January",
    xy=(daily.idxmax(), daily.max()),
    arrowprops={"arrowstyle": "-"},
)
ax.set_ylim(bottom=0)
ax.spines[["top", "right"]].set_visible(False)
fig.savefig("tide.svg")
