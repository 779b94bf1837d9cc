/** Documents of other programs are read as they come: what is missing or odd is nothing, never an error. */

export type Loose = Record<string, unknown>;

export function object(value: unknown): Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Loose) : {};
}

export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}

export function number(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

export function texts(value: unknown): string[] {
  return list(value).map(text).filter(Boolean);
}
