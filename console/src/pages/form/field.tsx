// One option: its name, its value, what it is for, and what is wrong with it.
import type { ComponentChildren, TextareaHTMLAttributes } from "preact";

import type { Field } from "../../model/form.ts";
import { sentence, type Told } from "../../model/problems.ts";
import { t } from "../../words/words.ts";

/** The references to secrets that there are, offered where one is asked for. */
export const SECRETS = "known-secrets";
const NUMBERS: readonly string[] = ["int", "float"];

export interface Of {
  field: Field;
  value: string;
  problems: readonly Told[];
  warnings: readonly Told[];
  change: (value: string) => void;
}

export function Entry({ field, value, problems, warnings, change }: Of) {
  const { option, key, choices } = field;
  const id = idOf(key);
  // What is only not there yet is no mistake.
  const wrong = problems.length > 0 && value !== "";
  const common = {
    id,
    name: key,
    autoComplete: "off",
    spellcheck: false,
    "aria-required": option.required || undefined,
    "aria-invalid": wrong ? ("true" as const) : undefined,
    "aria-describedby": `${id}-for ${id}-said`,
  };
  const hint = hintOf(field);
  let control: ComponentChildren;
  if (choices.length) {
    control = (
      <select {...common} value={value} onChange={(event) => change(event.currentTarget.value)}>
        <option value="">{hint || t("form.notGiven")}</option>
        {[...new Set([...choices, ...(value ? [value] : [])])].map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    );
  } else if (option.secret || NUMBERS.includes(option.type ?? "")) {
    control = (
      <input
        {...common}
        {...(option.secret ? { list: SECRETS } : { inputMode: option.type === "int" ? "numeric" : "decimal" })}
        placeholder={hint}
        value={value}
        onInput={(event) => change(event.currentTarget.value)}
      />
    );
  } else {
    control = <Text {...common} placeholder={hint} value={value} change={change} />;
  }
  return (
    <div class="field">
      <label for={id}>
        <code>{key}</code> {option.required && <span class="needed">{t("form.required")}</span>}{" "}
        <span class="quiet">{t(`form.type.${option.secret ? "secret" : known(option.type)}`)}</span>
      </label>
      {control}
      <small id={`${id}-for`}>
        <span lang="en">{option.documentation}</span> {limits(field)}
      </small>
      <div id={`${id}-said`} role={wrong ? "alert" : undefined}>
        <Said problems={problems} wrong={wrong} brief={!wrong && option.required} />
        <Said problems={warnings} wrong={false} warned />
      </div>
    </div>
  );
}

interface TextOf extends Omit<TextareaHTMLAttributes, "onInput"> {
  value: string;
  change: (value: string) => void;
}

/** A text of any number of lines: what is pasted stays as it is. Enter saves, as elsewhere; with Shift it is a new line. */
export function Text({ value, change, ...others }: TextOf) {
  return (
    <textarea
      {...others}
      rows={1}
      value={value}
      onInput={(event) => change(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || event.shiftKey || event.isComposing || value.includes("\n")) return;
        event.preventDefault();
        event.currentTarget.form?.requestSubmit();
      }}
    />
  );
}

interface SaidOf {
  problems: readonly Told[];
  wrong: boolean;
  warned?: boolean;
  /** What the option is for stands beside it: that is all there is to do. */
  brief?: boolean | undefined;
}

export function Said({ problems, wrong, warned, brief }: SaidOf) {
  return (
    <>
      {problems.map((each) => (
        <p key={each.reason} class={wrong ? "why" : warned ? "why warned" : "why unset"}>
          {sentence(brief ? { reason: each.reason } : each)}
        </p>
      ))}
    </>
  );
}

export function idOf(key: string): string {
  return `option-${encodeURIComponent(key)}`;
}

function hintOf({ option }: Field): string {
  if (option.secret) return "${keystore:…}";
  if (option.defaultValue) return t("form.default", { value: option.defaultValue });
  return option.example ? t("form.example", { value: option.example }) : "";
}

function limits({ option, aliases }: Field): string {
  const { minimum, maximum } = option;
  return [
    minimum && maximum ? t("form.between", { minimum, maximum }) : "",
    minimum && !maximum ? t("form.atLeast", { minimum }) : "",
    maximum && !minimum ? t("form.atMost", { maximum }) : "",
    option.secret ? t("form.secret") : "",
    aliases.length ? t("form.aliases", { aliases: aliases.join(", ") }) : "",
  ]
    .filter(Boolean)
    .join(" ");
}

const TYPES = ["string", "int", "float", "bool", "bytes", "duration", "list"] as const;

function known(type: string | undefined): (typeof TYPES)[number] {
  return TYPES.find((each) => each === type) ?? "string";
}
