// What a connector can be told, as the plugin says that it names, and those that these options name: the fields of a form. Pure.
import type { Schemas } from "../api/client.ts";

export type Plugin = Schemas["connector.Plugin"];
export type Option = Schemas["connector.Option"];
export type Config = Readonly<Record<string, string>>;

export const CLASS = "connector.class";
/** Whose options they are: its own, those of every source, sink, plugin with converters, connector; those of plugins that it names. */
export const WHOSE = ["own", "source", "sink", "converters", "common", "used"] as const;
export type Whose = (typeof WHOSE)[number];
export const CONNECTORS = ["SOURCE", "SINK", "DIRECT"] as const;

export interface Field {
  /** As it stands in the configuration. */
  key: string;
  /** Other keys that are taken for it. */
  aliases: string[];
  option: Option;
  /** All values that it may have; empty: any. */
  choices: string[];
}

export interface Section {
  /** Unique in the form. */
  id: string;
  whose: Whose;
  /** The plugin whose options they are. */
  plugin: string;
  fields: Field[];
}

const CONVERTERS: readonly string[] = ["key.converter", "value.converter"];
const STEPS = { transforms: "TRANSFORM", predicates: "PREDICATE" } as const;
const HALVES = { source: "SOURCE", sink: "SINK" } as const;
const NAME = ".NAME.";
export const REFERENCE = /\$\{\w+:[^}]+\}/;

/** The plugin of a kind that a name or an alias means. */
export function pluginOf(plugins: readonly Plugin[], kinds: readonly string[], name: string): Plugin | undefined {
  const fitting = plugins.filter((each) => kinds.includes(kindOfPlugin(each)));
  return fitting.find((each) => each.name === name) ?? fitting.find((each) => each.aliases?.includes(name));
}

export function kindOfPlugin(plugin: Plugin): string {
  return (plugin.type ?? "").replace(/^PLUGIN_TYPE_/, "");
}

/** All fields that a configuration can have, those of the converters, transforms and halves that it names among them. */
export function sectionsOf(plugins: readonly Plugin[], config: Config): Section[] {
  const plugin = pluginOf(plugins, CONNECTORS, config[CLASS] ?? "");
  if (!plugin) return [];
  const name = plugin.name ?? "";
  const options = (plugin.options ?? []).filter((each) => each.key !== CLASS);
  return WHOSE.flatMap((whose) => {
    const fitting = options.filter((each) => (each.group || "own") === whose);
    const fields = fieldsOf(fitting, "", config, plugins);
    return fields.length ? [{ id: whose, whose, plugin: name, fields }, ...usedBy(fields, plugins, config)] : [];
  });
}

/** The sections of the plugins that the values of fields name. */
function usedBy(fields: readonly Field[], plugins: readonly Plugin[], config: Config): Section[] {
  return fields.flatMap((field): Section[] => {
    const value = valueOf(config, field) || field.option.defaultValue || "";
    if (CONVERTERS.includes(field.key)) {
      const converter = pluginOf(plugins, ["CONVERTER"], value);
      const found = fieldsOf(converter?.options ?? [], `${field.key}.`, config, plugins);
      return found.length ? [{ id: `${field.key}.`, whose: "used", plugin: value, fields: found }] : [];
    }
    for (const [half, kind] of Object.entries(HALVES)) {
      if (field.key !== `${half}.${CLASS}`) continue;
      const options = pluginOf(plugins, [kind], value)?.options?.filter((each) => !each.group && each.key !== CLASS) ?? [];
      return options.length
        ? [{ id: `${half}.`, whose: "used", plugin: value, fields: fieldsOf(options, `${half}.`, config, plugins) }]
        : [];
    }
    if (Object.hasOwn(STEPS, field.key)) {
      const kind = STEPS[field.key as keyof typeof STEPS];
      return listed(value).map((step) => stepOf(`${field.key}.${step}.`, kind, plugins, config));
    }
    return [];
  });
}

/** A step that somebody has named: what it is, and the options of that. */
function stepOf(prefix: string, kind: string, plugins: readonly Plugin[], config: Config): Section {
  const fitting = plugins.filter((each) => kindOfPlugin(each) === kind);
  const type = fitting
    .flatMap((each) => each.options ?? [])
    .filter((each) => each.key === "type")
    .slice(0, 1);
  const names = fitting.map((each) => each.name ?? "").sort();
  const which = fieldsOf(type, prefix, config, plugins).map((each) => ({ ...each, choices: names }));
  const plugin = pluginOf(plugins, [kind], which[0] ? valueOf(config, which[0]) : "");
  const options = plugin?.options?.filter((each) => each.key !== "type") ?? [];
  return {
    id: prefix,
    whose: "used",
    plugin: plugin?.name ?? "",
    fields: [...which, ...fieldsOf(options, prefix, config, plugins)],
  };
}

function fieldsOf(options: readonly Option[], prefix: string, config: Config, plugins: readonly Plugin[]): Field[] {
  return options.flatMap((option) => {
    const key = prefix + (option.key ?? "");
    const [list = "", rest] = key.split(NAME, 2);
    // One that there is for each of some names: targets.NAME.url.
    const keys = rest === undefined ? [key] : listed(config[list] ?? "").map((each) => `${list}.${each}.${rest}`);
    return keys.map((each) => ({
      key: each,
      aliases: rest === undefined ? (option.aliases ?? []).map((alias) => prefix + alias) : [],
      option,
      choices: choicesOf(option, key, plugins),
    }));
  });
}

function choicesOf(option: Option, key: string, plugins: readonly Plugin[]): string[] {
  if (CONVERTERS.includes(key))
    return plugins.filter((each) => kindOfPlugin(each) === "CONVERTER").map((each) => each.name ?? "");
  if (option.type === "bool") return ["true", "false"];
  return (option.choices ?? []).filter(Boolean);
}

export function listed(text: string): string[] {
  return [
    ...new Set(
      text
        .split(",")
        .map((each) => each.trim())
        .filter(Boolean),
    ),
  ];
}

/** Under which key a configuration has a field; undefined: it does not. */
export function keyIn(config: Config, field: Field): string | undefined {
  return [field.key, ...field.aliases].find((each) => Object.hasOwn(config, each));
}

export function valueOf(config: Config, field: Field): string {
  return config[keyIn(config, field) ?? ""] ?? "";
}

/** The configuration with another value of one field; empty: it is not given. All else stays as it is, and where it is. */
export function withValue(config: Config, field: Field, value: string): Config {
  const key = keyIn(config, field) ?? field.key;
  if (value) return { ...config, [key]: value };
  return Object.fromEntries(Object.entries(config).filter(([each]) => each !== key));
}

/** Whether a field stands at the beginning of a form: it is needed, a first configuration rather has it, or `base` has it. */
export function isFirst(field: Field, base: Config): boolean {
  return Boolean(field.option.required || field.option.example || keyIn(base, field) !== undefined);
}

/** The keys of a configuration that no field has. */
export function otherKeys(config: Config, sections: readonly Section[]): string[] {
  const known = new Set([CLASS, ...sections.flatMap((each) => each.fields).flatMap((each) => [each.key, ...each.aliases])]);
  return Object.keys(config).filter((each) => !known.has(each));
}

/** Fields that shall be references to secrets, and are the secrets themselves: those are told to nobody. */
export function literals(config: Config, sections: readonly Section[]): string[] {
  const secrets = sections.flatMap((each) => each.fields).filter((each) => each.option.secret);
  return secrets.filter((each) => valueOf(config, each) && !REFERENCE.test(valueOf(config, each))).map((each) => each.key);
}

/** Whether a field has to do with what somebody looks for. */
export function fits(field: Field, search: string): boolean {
  const text = [field.key, ...field.aliases, field.option.documentation ?? ""].join("\n").toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((each) => text.includes(each));
}

/** The plugins that a connector can have, by name, that have to do with what somebody looks for. */
export function choosable(plugins: readonly Plugin[], kind: string, search: string): Plugin[] {
  const words = search.toLowerCase().split(/\s+/);
  const text = (each: Plugin) => [each.name, ...(each.aliases ?? []), each.summary].join("\n").toLowerCase();
  return plugins
    .filter(
      (each) => (CONNECTORS as readonly string[]).includes(kindOfPlugin(each)) && (!kind || kindOfPlugin(each) === kind),
    )
    .filter((each) => words.every((word) => text(each).includes(word)))
    .sort((a, b) => ((a.name ?? "") < (b.name ?? "") ? -1 : 1));
}
