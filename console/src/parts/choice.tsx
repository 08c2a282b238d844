// A choice among a few, with its label.
export interface Choosing<Value extends string> {
  label: string;
  value: Value;
  /** What can be chosen, and what it is called. */
  of: readonly (readonly [value: Value, name: string])[];
  choose: (value: Value) => void;
}

export function Choice<Value extends string>({ label, value, of, choose }: Choosing<Value>) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => choose(event.currentTarget.value as Value)}>
        {of.map(([each, name]) => (
          <option key={each} value={each}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
