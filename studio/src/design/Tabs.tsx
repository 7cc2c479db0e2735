// Views that take turns.
import { OneOf, type Choice } from "./OneOf";

interface TabsProps<T extends string> {
  label: string;
  tabs: readonly Choice<T>[];
  current: T;
  onChange: (tab: T) => void;
}

export function Tabs<T extends string>({ tabs, ...rest }: TabsProps<T>) {
  return <OneOf look="tabs" choices={tabs} {...rest} />;
}
