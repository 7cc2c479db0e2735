// Buttons. One that shows an icon only has its label as a name and a tooltip.
import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import { Icon, type IconName } from "./Icon";

type Native = Omit<ButtonHTMLAttributes<HTMLButtonElement>, "className" | "type">;

interface ButtonProps extends Native {
  look?: "plain" | "primary" | "quiet" | "danger";
  small?: boolean;
  icon?: IconName;
  children: ReactNode;
  submit?: boolean;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({ look = "plain", small = false, icon, children, submit = false, ...rest }: ButtonProps) {
  return (
    <button type={submit ? "submit" : "button"} className={`button ${look}${small ? " small" : ""}`} {...rest}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}

interface IconButtonProps extends Native {
  icon: IconName;
  label: string;
  /** The key that does the same, for the tooltip. */
  keys?: string;
  small?: boolean;
  ref?: Ref<HTMLButtonElement>;
}

export function IconButton({ icon, label, keys, small = false, ...rest }: IconButtonProps) {
  const title = keys === undefined ? label : `${label} (${keys})`;
  return (
    <button
      type="button"
      className={`button quiet icon-only${small ? " small" : ""}`}
      aria-label={label}
      title={title}
      {...rest}
    >
      <Icon name={icon} />
    </button>
  );
}
