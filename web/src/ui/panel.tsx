import { Component, useId, type ReactElement, type ReactNode } from "react";
import { Button } from "@mantine/core";
import { words } from "../strings/en.ts";

/** A part of the page that cannot be shown, and the way to try again where there is one. */
export const Crashed = ({ onRetry }: { readonly onRetry: (() => void) | undefined }): ReactElement => (
  <div className="sp-state sp-failure" role="alert">
    <strong>{words.failure.crashedTitle}</strong>
    {onRetry && (
      <Button variant="default" onClick={onRetry}>
        {words.common.retry}
      </Button>
    )}
  </div>
);

/** An issue while drawing stays inside its panel: the rest of the page goes on. */
export class Boundary extends Component<{ readonly children: ReactNode }, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false };
  static getDerivedStateFromError(): { readonly hasFailed: boolean } {
    return { hasFailed: true };
  }
  override render(): ReactNode {
    return this.state.hasFailed ? <Crashed onRetry={() => this.setState({ hasFailed: false })} /> : this.props.children;
  }
}

/** A titled part of a page. */
export const Panel = ({
  title,
  aside,
  children,
}: {
  readonly title: string;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
}): ReactElement => {
  const id = useId();
  return (
    <section className="sp-panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      <Boundary>{children}</Boundary>
    </section>
  );
};
