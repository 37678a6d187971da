import { isIPv4, isIPv6 } from "node:net";
import { subdomainErrors } from "@tmc/kube/selector.ts";

const uuid = (version: string, variant: string): RegExp =>
  new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`, "i");
const matches =
  (pattern: RegExp) =>
  (text: string): boolean =>
    pattern.test(text);

const dateTime =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})([Tt]|\s)([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?([zZ]|([+-])([0-9]{2}):([0-9]{2}))$/;

function isDate(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

function isDateTime(text: string): boolean {
  const match = dateTime.exec(text);
  if (match === null) return false;
  const [year = 0, month = 0, day = 0] = match.slice(1, 4).map(Number);
  const [hour = 24, minute = 60, second = 60] = match.slice(5, 8).map(Number);
  return isDate(year, month, day) && hour < 24 && minute < 60 && second < 60;
}

function isCidr(text: string): boolean {
  const [address = "", bits = "", ...rest] = text.split("/");
  if (rest.length > 0 || !/^[0-9]{1,3}$/.test(bits)) return false;
  return (isIPv4(address) && Number(bits) <= 32) || (isIPv6(address) && Number(bits) <= 128);
}

function isUri(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\S*$/i.test(text) ? URL.canParse(text) : /^\/\S*$/.test(text);
}

const goDuration = /^[+-]?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$/;
const looseDuration =
  /\d+\s*(ns|nano[a-z]*|us|µs|micro[a-z]*|ms|milli[a-z]*|s|sec[a-z]*|m|min[a-z]*|h|hr|hour[a-z]*|d|day[a-z]*|w|wk|week[a-z]*)(?![a-zµ])/i;

/** String formats that the server validates, by name without dashes. All other formats are ignored. */
const checks: Readonly<Record<string, (text: string) => boolean>> = {
  byte: matches(/^(?:[A-Za-z0-9+\\/]{4})*(?:[A-Za-z0-9+\\/]{2}==|[A-Za-z0-9+\\/]{3}=|[A-Za-z0-9+\\/]{4})$/),
  cidr: isCidr,
  date: (text) => {
    const match = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text);
    return match !== null && isDate(Number(match[1]), Number(match[2]), Number(match[3]));
  },
  datetime: isDateTime,
  duration: (text) => goDuration.test(text) || looseDuration.test(text),
  email: matches(/^(?:[^<>@]*<)?[^\s<>@,;:()[\]"]+@[^\s<>@,;:()"]+>?$/),
  hexcolor: matches(/^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/),
  hostname: (text) =>
    text.length <= 255 &&
    text.split(".").every((label) => label.length <= 63) &&
    /^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$/u.test(
      text,
    ),
  ipv4: isIPv4,
  ipv6: isIPv6,
  k8sshortname: matches(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/),
  k8slongname: (text) => subdomainErrors(text).length === 0,
  mac: matches(/^([0-9a-f]{2}([:-][0-9a-f]{2}){5}|[0-9a-f]{2}([:-][0-9a-f]{2}){7}|[0-9a-f]{4}(\.[0-9a-f]{4}){2,3})$/i),
  uri: isUri,
  uuid: matches(uuid("[0-9a-f]", "[0-9a-f]")),
  uuid3: matches(uuid("3", "[0-9a-f]")),
  uuid4: matches(uuid("4", "[89ab]")),
  uuid5: matches(uuid("5", "[89ab]")),
};

/** Whether a string has the format that its schema requires; unknown formats always match. */
export function hasFormat(format: string, text: string): boolean {
  const name = format.replaceAll("-", "");
  const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
  return check === undefined || check(text);
}

/** Whether the server validates a string format. If not, it does not check the type of the value either. */
export const isCheckedFormat = (format: string): boolean => Object.hasOwn(checks, format.replaceAll("-", ""));
