import { getRouteApi, Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { useClient } from "../../api/client-context.ts";
import { publishNew } from "../../api/systems.ts";
import { useSession } from "../../session/session-context.ts";
import { useDraft } from "../../session/use-draft.ts";
import { systemWords } from "../../strings/systems.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { Page } from "../../ui/page.tsx";
import { PublishDialog } from "./publish-dialog.tsx";
import { RestoredNotice } from "./restored-notice.tsx";
import { draftShape, emptyDraft, template } from "./system-draft.ts";
import { useSay } from "./said.tsx";
import { SystemEditor } from "./system-editor.tsx";
import type { Tried } from "./try-report.tsx";

const route = getRouteApi("/systems/new");

/** A system written by hand, from a small example on. */
export const NewSystemPage = (): ReactElement => {
  const client = useClient();
  const say = useSay();
  const navigate = route.useNavigate();
  const { subject, tenant } = useSession();
  const draft = useDraft("system.new", emptyDraft, draftShape);
  const [tried, setTried] = useState<Tried>();
  const [isPublishing, setPublishing] = useState(false);
  const text = draft.value.text ?? template(subject.id, tenant);
  const isFit = tried !== undefined && tried.text === text && tried.written.valid === true;
  return (
    <Page
      title={systemWords.fresh.title}
      lead={systemWords.fresh.lead}
      actions={
        <>
          <Link className="sp-link" to="/systems">
            {systemWords.toList}
          </Link>
          <ActButton isBusy={false} disabled={!isFit} onClick={() => setPublishing(true)}>
            {systemWords.one.publish}
          </ActButton>
        </>
      }
    >
      <div className="sp-stack">
        {draft.wasRestored && draft.value.text !== undefined ? <RestoredNotice onDiscard={draft.forget} /> : null}
        <SystemEditor
          label={systemWords.fresh.editor}
          text={text}
          isDraft
          tried={tried}
          onTried={setTried}
          onChange={(changed) => draft.change({ text: changed })}
        />
      </div>
      {isPublishing && isFit ? (
        <PublishDialog
          tried={tried}
          publish={async (document, reason) => await publishNew(client, document, reason)}
          onDone={({ name, version, warnings }) => {
            draft.forget();
            say(name, { sentence: systemWords.one.published(name, version), warnings });
            void navigate({ to: "/systems/$name", params: { name }, search: {} });
          }}
          onClose={() => setPublishing(false)}
        />
      ) : null}
    </Page>
  );
};
