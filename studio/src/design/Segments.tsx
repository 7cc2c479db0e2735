// A choice of a few ways to show the same.
import { OneOf, type Choice } from "./OneOf";

interface SegmentsProps<T extends string> {
  label: string;
  segments: readonly Choice<T>[];
  current: T;
  onChange: (segment: T) => void;
}

export function Segments<T extends string>({ segments, ...rest }: SegmentsProps<T>) {
  return <OneOf look="segments" choices={segments} {...rest} />;
}
