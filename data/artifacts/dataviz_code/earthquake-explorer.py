"""Every earthquake of a year on one map of depth and magnitude, with tooltips."""

import pandas as pd
import plotly.express as px

quakes = pd.read_csv("quakes.csv")
figure = px.scatter(
    quakes,
    x="magnitude",
    y="depth",
    color="depth",
    color_continuous_scale="Viridis",
    hover_data=["place", "time"],
    marginal_x="histogram",
    template="plotly_dark",
)
figure.update_yaxes(autorange="reversed")  # depth axis: the surface is at the top
figure.add_annotation(text="the deepest: 677 km", x=6.1, y=677, showarrow=True)
figure.write_html("quakes.html", include_plotlyjs=True)
