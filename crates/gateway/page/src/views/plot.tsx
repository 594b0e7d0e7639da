/** A plot of the last five minutes. */

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { POINTS_MAX, type Point, type Series } from "../data/history.js";
import { compact } from "../data/format.js";

const HEIGHT = 84;
const FONT = "11px system-ui, sans-serif";

/** A plot that has just begun shows this many seconds, and more as they come. */
const SECONDS_MIN = 60;
/** Half the widths of the first and the last label, which lie within the plot. */
const LABELS = [24, 14] as const;

/** Seconds between two pictures where the system asks for little motion, and elsewhere. */
const stepOf = (): number => (matchMedia("(prefers-reduced-motion: reduce)").matches ? 5 : 1);

interface Properties {
  points: Point[];
  series: Series;
  label: string;
  /** The point under the pointer. */
  onHover: (point: Point | undefined) => void;
}

export function Plot({ points, series, label, onHover }: Properties) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const shown = useRef<Point[]>([]);

  useEffect(() => {
    const element = place.current!;
    const created = new uPlot(optionsOf(element, shown, onHover), [[], []], element);
    plot.current = created;
    const resized = new ResizeObserver(() => created.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const redraw = () => created.redraw();
    scheme.addEventListener("change", redraw);
    return () => {
      scheme.removeEventListener("change", redraw);
      resized.disconnect();
      created.destroy();
    };
  }, []);

  useEffect(() => {
    const [before, after] = [shown.current.at(-1), points.at(-1)];
    if (before !== undefined && after !== undefined && after.at > before.at && after.at - before.at < stepOf() - 0.5) return;
    shown.current = points;
    plot.current?.setData([points.map((point) => point.at), points.map((point) => point[series])]);
  }, [points]);

  return <div class={`plot ${series}`} ref={place} role="img" aria-label={label} />;
}

function optionsOf(
  element: HTMLElement,
  shown: { current: Point[] },
  onHover: (point: Point | undefined) => void,
): uPlot.Options {
  // Read at each drawing, so that they follow the scheme.
  const color = (name: string) => () => getComputedStyle(element).getPropertyValue(name);
  const end = () => shown.current.at(-1)?.at ?? 0;
  const seconds = () => Math.min(POINTS_MAX, Math.max(SECONDS_MIN, end() - (shown.current[0]?.at ?? 0)));
  const quiet = { stroke: color("--muted"), font: FONT, ticks: { show: false } };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    padding: [6, 14, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    scales: {
      x: { range: () => [end() - seconds(), end()] },
      // A rate of nothing lies at the bottom, and little of it is not blown up.
      y: { range: (_, __, most) => [0, Math.max(1, (most ?? 0) * 1.1)] },
    },
    axes: [
      {
        ...quiet,
        size: 20,
        gap: 4,
        grid: { show: false },
        splits: ({ bbox }, _, first, last) => {
          const pixel = (last - first) / Math.max(1, bbox.width / devicePixelRatio);
          return [first + LABELS[0] * pixel, last - LABELS[1] * pixel];
        },
        values: () => [seconds() >= POINTS_MAX ? "−5 min" : `−${Math.round(seconds())} s`, "now"],
      },
      {
        ...quiet,
        size: 40,
        gap: 6,
        space: 26,
        grid: { stroke: color("--line"), width: 1 },
        values: (_, splits) => splits.map((value) => compact(value)),
      },
    ],
    series: [{}, { stroke: color("--series"), fill: color("--series-fill"), width: 1.75, points: { show: false } }],
    hooks: {
      setCursor: [({ cursor: { idx } }) => onHover(idx === null || idx === undefined ? undefined : shown.current[idx])],
    },
  };
}
