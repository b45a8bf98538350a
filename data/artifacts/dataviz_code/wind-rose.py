"""A polar wind rose, a panel for each month, side by side."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

wind = pd.read_csv("wind.csv", parse_dates=["time"])
sectors = np.deg2rad(np.arange(0, 360, 30))
shades = plt.get_cmap("Blues")(np.linspace(0.3, 1, 3))

fig, axes = plt.subplots(1, 3, subplot_kw={"projection": "polar"})
monthly = wind.groupby(wind["time"].dt.month)
for ax, shade, (month, rows) in zip(axes, shades, monthly, strict=False):
    counts = np.histogram(rows["degrees"], bins=12, range=(0, 360))[0]
    ax.bar(sectors, counts, width=0.5, color=shade)
    ax.set_title(f"month {month}")
fig.text(0.5, 0.02, "Source: airfield tower, readings every ten minutes", ha="center")
fig.savefig("rose.png", dpi=300)
