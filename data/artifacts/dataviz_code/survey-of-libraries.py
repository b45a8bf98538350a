"""A Likert survey about opening hours as diverging bars, one row for each library."""

import matplotlib.pyplot as plt
import numpy as np

libraries = ["Central", "North", "Harbour", "Mill"]
shares = np.array([[8, 21, 40, 31], [14, 30, 36, 20], [5, 11, 44, 40], [22, 33, 30, 15]])
labels = ["strongly disagree", "disagree", "agree", "strongly agree"]
colours = plt.get_cmap("RdBu")([0.1, 0.35, 0.65, 0.9])

fig, ax = plt.subplots(figsize=(16, 9))
left = -shares[:, :2].sum(axis=1)
for column, (label, colour) in enumerate(zip(labels, colours, strict=True)):
    ax.barh(libraries, shares[:, column], left=left, color=colour, label=label)
    left = left + shares[:, column]
ax.set_title("Harbour is content; Mill is not (the finding of the year)")
ax.legend(ncols=4, loc="upper center")
ax.set_xlabel("per cent")
fig.savefig("libraries.pdf")
