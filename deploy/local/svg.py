"""Line charts as SVG text, without any library, so that a run folder opens in every browser."""

from __future__ import annotations

from html import escape

COLOURS = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f"]
WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 36, 48


def _ticks(low: float, high: float, count: int = 5) -> list[float]:
    return [low + (high - low) * i / count for i in range(count + 1)]


def line_chart(
    title: str, x_label: str, y_label: str, series: dict[str, list[tuple[float, float]]]
) -> str:
    """`series` maps a name to its points. An empty chart says so instead of failing."""
    points = [p for line in series.values() for p in line]
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{WIDTH / 2}" y="20" text-anchor="middle" font-size="15">{escape(title)}</text>',
    ]
    if not points:
        out.append(f'<text x="{WIDTH / 2}" y="{HEIGHT / 2}">no data</text></svg>')
        return "\n".join(out)
    x_low, x_high = min(p[0] for p in points), max(p[0] for p in points)
    y_low, y_high = min(p[1] for p in points), max(p[1] for p in points)
    x_high = x_high if x_high > x_low else x_low + 1
    y_high = y_high if y_high > y_low else y_low + 1

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + (x - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - (y - y_low) / (y_high - y_low) * (HEIGHT - TOP - BOTTOM),
        )

    for value in _ticks(y_low, y_high):
        _, y = place(x_low, value)
        out.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.4g}</text>'
        )
    for value in _ticks(x_low, x_high):
        x, _ = place(value, y_low)
        out.append(
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{value:.4g}</text>'
        )
    out.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">'
        f"{escape(x_label)}</text>"
        f'<text x="14" y="{HEIGHT / 2}" text-anchor="middle" '
        f'transform="rotate(-90 14 {HEIGHT / 2})">{escape(y_label)}</text>'
    )
    for i, (name, line) in enumerate(series.items()):
        colour = COLOURS[i % len(COLOURS)]
        path = " ".join("%.1f,%.1f" % place(x, y) for x, y in line)
        y = TOP + 18 * i + 10
        out.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>'
            f'<line x1="{WIDTH - RIGHT + 10}" x2="{WIDTH - RIGHT + 30}" y1="{y}" y2="{y}" '
            f'stroke="{colour}" stroke-width="2"/>'
            f'<text x="{WIDTH - RIGHT + 36}" y="{y + 4}">{escape(name)}</text>'
        )
    out.append("</svg>")
    return "\n".join(out)
