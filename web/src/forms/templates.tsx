import { ActionIcon, Button } from "@mantine/core";
import type {
  ArrayFieldItemTemplateProps,
  ArrayFieldTemplateProps,
  FieldTemplateProps,
  MultiSchemaFieldTemplateProps,
  ObjectFieldTemplateProps,
  TemplatesType,
} from "@rjsf/utils";
import type { ReactElement, ReactNode } from "react";
import { visibleText } from "../strings/format.ts";
import { formWords } from "../strings/forms.ts";
import { Icon } from "../ui/icon.tsx";
import { elementId, numbered, pathOf } from "./form-context.ts";
import { areLines } from "./text-fields.tsx";

const Group = ({
  id,
  title,
  isRequired = false,
  description,
  children,
}: {
  readonly id: string;
  readonly title: string;
  readonly isRequired?: boolean | undefined;
  readonly description: ReactNode;
  readonly children: ReactNode;
}): ReactElement => (
  <fieldset className="sp-fieldset" id={id} tabIndex={-1}>
    {title === "" ? null : (
      <legend>
        {visibleText(title)}
        {isRequired ? " *" : ""}
      </legend>
    )}
    {typeof description === "string" && description !== "" ? <p className="sp-small sp-dim">{visibleText(description)}</p> : null}
    {children}
  </fieldset>
);

const ObjectFieldTemplate = ({
  fieldPathId,
  registry,
  title,
  required,
  schema,
  properties,
}: ObjectFieldTemplateProps): ReactElement | null => {
  const parts = properties.map(({ content }) => content);
  if (fieldPathId.path.length === 0) return <>{parts}</>;
  // Of alternatives alone: they draw themselves.
  if (properties.length === 0) return null;
  const path = pathOf({ htmlName: fieldPathId.name });
  const name = numbered(title, path);
  return (
    <Group
      id={elementId(registry.globalFormOptions.idPrefix, path)}
      title={name}
      isRequired={required === true && name === title}
      description={schema.description}
    >
      {parts}
    </Group>
  );
};

const ArrayFieldTemplate = ({
  fieldPathId,
  registry,
  title,
  required,
  schema,
  items,
  canAdd,
  onAddClick,
}: ArrayFieldTemplateProps): ReactElement => {
  const id = elementId(registry.globalFormOptions.idPrefix, pathOf({ htmlName: fieldPathId.name }));
  return (
    <Group id={id} title={title} isRequired={required} description={schema.description}>
      {items}
      {canAdd ? (
        <div>
          <Button
            variant="default"
            size="compact-xs"
            leftSection={<Icon name="plus" size={12} />}
            aria-label={formWords.addTo(title)}
            onClick={onAddClick}
          >
            {formWords.add}
          </Button>
        </div>
      ) : null}
    </Group>
  );
};

const ArrayFieldItemTemplate = ({ children, buttonsProps }: ArrayFieldItemTemplateProps): ReactElement => {
  const { index, fieldPathId, hasMoveUp, hasRemove, onMoveUpItem, onRemoveItem } = buttonsProps;
  const list = String(fieldPathId.path.at(-2) ?? "");
  return (
    <div className="sp-form-item">
      {children}
      <div className="sp-actions">
        {hasMoveUp ? (
          <ActionIcon variant="subtle" aria-label={formWords.moveUp(index + 1, list)} onClick={onMoveUpItem}>
            <Icon name="up" />
          </ActionIcon>
        ) : null}
        {hasRemove ? (
          <ActionIcon variant="subtle" aria-label={formWords.remove(index + 1, list)} onClick={onRemoveItem}>
            <Icon name="cross" />
          </ActionIcon>
        ) : null}
      </div>
    </div>
  );
};

/** Fields name themselves; a group also shows what is wrong with it as a whole. */
const FieldTemplate = ({ children, hidden, schema, rawErrors = [], fieldPathId }: FieldTemplateProps): ReactElement => {
  const isGroup = schema.type === "object" || (schema.type === "array" && !areLines(schema.items));
  if (hidden === true) return <div hidden>{children}</div>;
  if (!isGroup || rawErrors.length === 0 || fieldPathId.path.length === 0) return <>{children}</>;
  return (
    <div>
      {children}
      <p className="sp-field-error">{visibleText(rawErrors.join(", "))}</p>
    </div>
  );
};

const MultiSchemaFieldTemplate = ({ selector, optionSchemaField }: MultiSchemaFieldTemplateProps): ReactElement => (
  <div className="sp-stack">
    {selector}
    {optionSchemaField}
  </div>
);

const Nothing = (): null => null;

export const templates: Partial<Omit<TemplatesType, "ButtonTemplates">> = {
  ObjectFieldTemplate,
  ArrayFieldTemplate,
  ArrayFieldItemTemplate,
  FieldTemplate,
  MultiSchemaFieldTemplate,
  DescriptionFieldTemplate: Nothing,
  FieldErrorTemplate: Nothing,
  FieldHelpTemplate: Nothing,
  UnsupportedFieldTemplate: Nothing,
};
