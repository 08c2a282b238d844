// How a connector has been in the last hour: small pictures, each with a text that says the same.
import { LINES, lineOf, type Of, type Sample } from "../model/samples.ts";
import { moment, number, t } from "../words/words.ts";

const [WIDTH, HEIGHT] = [240, 48];

export function Charts({ samples }: { samples: readonly Sample[] }) {
  const first = samples[0];
  if (!first) return <></>;
  return (
    <section class="charts" aria-label={t("chart.title")}>
      {LINES.map((each) => (
        <Chart key={each} of={each} samples={samples} />
      ))}
      <p class="quiet">{t("chart.since", { time: moment(first.time) })}</p>
    </section>
  );
}

function Chart({ of, samples }: { of: Of; samples: readonly Sample[] }) {
  const now = Math.max(Date.now(), samples.at(-1)?.time ?? 0);
  const line = lineOf(samples, of, WIDTH, HEIGHT, now);
  const title = t(`chart.${of}`);
  if (!line) return <></>;
  const text = t("chart.text", {
    title,
    now: line.now === null ? "–" : number(line.now),
    least: number(line.least),
    most: number(line.most),
  });
  return (
    <figure class={`chart ${of}`}>
      <figcaption>
        {title} <b>{line.now === null ? "–" : number(line.now)}</b>{" "}
        <span class="quiet">{t("chart.most", { most: number(line.most) })}</span>
      </figcaption>
      <svg viewBox={`0 -2 ${WIDTH} ${HEIGHT + 4}`} preserveAspectRatio="none" role="img" aria-label={text}>
        {line.points.map((each) => (
          <polyline key={each} points={each} fill="none" vector-effect="non-scaling-stroke" />
        ))}
      </svg>
    </figure>
  );
}
