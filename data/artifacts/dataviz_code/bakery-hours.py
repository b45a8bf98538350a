"""When a bakery sells: an hourly heatmap over the week."""

import matplotlib.pyplot as plt
import pandas as pd

till = pd.read_csv("till.csv", parse_dates=["at"])
hourly = till.groupby([till["at"].dt.dayofweek, till["at"].dt.hour])["loaves"].sum().unstack(fill_value=0)

plt.rcParams["font.family"] = "serif"
fig, ax = plt.subplots()
image = ax.imshow(hourly, cmap="magma", aspect="auto")
ax.set_title("loaves by hour and weekday")
ax.set_yticks(range(7), ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
fig.colorbar(image)
fig.savefig("bakery.svg")
