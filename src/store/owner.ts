/** Whose a run is: its thread and its resource, each left out where there is none. */
export interface Owner {
  readonly threadId?: string;
  readonly resourceId?: string;
}

/** Of something that has them, or may say that it has none. */
export function ownerOf({
  threadId,
  resourceId,
}: {
  readonly threadId?: string | undefined;
  readonly resourceId?: string | undefined;
}): Owner {
  return {
    ...(threadId === undefined ? {} : { threadId }),
    ...(resourceId === undefined ? {} : { resourceId }),
  };
}
