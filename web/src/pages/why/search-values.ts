/** What may stand in the address of the list of decisions; apart from its page, which is loaded when it is opened. */

export const spans = ["hour", "day", "week", "month"] as const;

/** A moment as a field for day and time writes it, without seconds, where the person is. */
export const momentText = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$/;
