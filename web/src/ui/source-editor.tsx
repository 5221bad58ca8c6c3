import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { EditorState, StateEffect, StateField, type Extension } from "@codemirror/state";
import { Decoration, EditorView, highlightActiveLine, keymap, lineNumbers, type DecorationSet } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { useEffect, useRef, type ReactElement } from "react";
import { styleNonce } from "../model/harden.ts";
import { languageOf } from "./cedar-language.ts";

export interface Mark {
  /** From 1. */
  readonly line: number;
  readonly column?: number | undefined;
}

export interface SourceEditorProps {
  readonly label: string;
  /** File name; says which language. Another path needs another `key`. */
  readonly path: string;
  readonly text: string;
  /** Number of the first line. */
  readonly firstLine?: number;
  readonly marks?: readonly Mark[];
  /** Absent: for reading only. */
  readonly onChange?: (text: string) => void;
  /** Puts the cursor there and takes the focus; a new object each time. */
  readonly jumpTo?: Mark | undefined;
}

const setMarks = StateEffect.define<readonly Mark[]>();
const faulty = Decoration.mark({ class: "sp-issue-mark" });
const faultyLine = Decoration.line({ class: "sp-issue-line" });

const positionOf = (state: EditorState, mark: Mark): number => {
  const line = state.doc.line(Math.min(Math.max(mark.line, 1), state.doc.lines));
  return Math.min(line.from + (mark.column ?? 1) - 1, line.to);
};

/** The faulty word of each mark underlined, its line tinted. */
const drawMarks = (state: EditorState, marks: readonly Mark[]): DecorationSet =>
  Decoration.set(
    marks.flatMap((mark) => {
      const at = positionOf(state, mark);
      const line = state.doc.lineAt(at);
      const word = /^\w+|^\S/.exec(state.doc.sliceString(at, line.to))?.[0].length ?? 0;
      return [faultyLine.range(line.from), ...(word === 0 ? [] : [faulty.range(at, at + word)])];
    }),
    true,
  );

const marked = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (shown, transaction) => {
    const sent = transaction.effects.find((effect) => effect.is(setMarks));
    return sent === undefined ? shown.map(transaction.changes) : drawMarks(transaction.state, sent.value as readonly Mark[]);
  },
  provide: (field) => EditorView.decorations.from(field),
});

/**
 * Text typed over a selection is put in here: the browser's own way joins the lines by writing a style attribute, which
 * the page's policy refuses.
 */
const typedOver = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const { data, inputType, isComposing } = event;
    if (inputType !== "insertText" || data === null || isComposing || view.state.readOnly) return false;
    if (view.state.selection.main.empty && !data.includes("\n")) return false;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

/** The same of a text for reading only, which nothing typed may reach. */
const typedNowhere = EditorView.domEventHandlers({
  beforeinput: (event) => {
    event.preventDefault();
    return true;
  },
});

/** Sends the form, as everywhere on the page, instead of opening a line. */
const keys = defaultKeymap.filter((binding) => binding.key !== "Mod-Enter");

const extensionsOf = ({ label, path, firstLine = 1, onChange }: SourceEditorProps, changed: (text: string) => void): Extension => [
  EditorView.cspNonce.of(styleNonce()),
  lineNumbers({ formatNumber: (line) => String(line + firstLine - 1) }),
  languageOf(path),
  syntaxHighlighting(classHighlighter),
  bracketMatching(),
  marked,
  keymap.of([...keys, ...historyKeymap]),
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({ "aria-label": label, "aria-multiline": "true", tabindex: "0" }),
  onChange === undefined
    ? [EditorState.readOnly.of(true), typedNowhere, EditorView.contentAttributes.of({ "aria-readonly": "true" })]
    : [
        history(),
        typedOver,
        highlightActiveLine(),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed(update.state.doc.toString());
        }),
      ],
];

/** Source text with its language's colours; styles carry the nonce of the page. */
export const SourceEditor = (props: SourceEditorProps): ReactElement => {
  const { text, marks, jumpTo } = props;
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    if (host.current === null) return undefined;
    const made = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: latest.current.text,
        extensions: extensionsOf(latest.current, (changed) => latest.current.onChange?.(changed)),
      }),
    });
    view.current = made;
    return () => {
      made.destroy();
      view.current = undefined;
    };
  }, []);

  useEffect(() => {
    const shown = view.current;
    if (shown === undefined || shown.state.doc.toString() === text) return;
    shown.dispatch({ changes: { from: 0, to: shown.state.doc.length, insert: text } });
  }, [text]);

  useEffect(() => view.current?.dispatch({ effects: setMarks.of(marks ?? []) }), [marks]);

  useEffect(() => {
    const shown = view.current;
    if (shown === undefined || jumpTo === undefined) return;
    const at = positionOf(shown.state, jumpTo);
    shown.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
    shown.focus();
  }, [jumpTo]);

  return <div ref={host} className="sp-source" />;
};
