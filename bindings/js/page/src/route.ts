// Routes in the fragment of the URL, so that every screen can be linked to:
// `#/tx/<hash>/<signer>`, `#/config`, `#/config/<block>`, `#/config/<block>/<block>`.

export type Route =
  | { page: 'home' }
  | { page: 'transaction'; hash: string; signer: string | null }
  | { page: 'config'; block: string; other: string | null };

/** The route of a fragment; `home` if it is not valid */
export function routeOf(fragment: string): Route {
  const parts = fragment.replace(/^#\/?/, '').split('/').map(decode);
  const [page, first, second] = parts;
  if (page === 'tx' && first) return { page: 'transaction', hash: first, signer: second || null };
  if (page === 'config') return { page: 'config', block: first || 'final', other: second || null };
  return { page: 'home' };
}

export function transactionFragment(hash: string, signer: string | null): string {
  return signer ? `#/tx/${encodeURIComponent(hash)}/${encodeURIComponent(signer)}` : `#/tx/${encodeURIComponent(hash)}`;
}

export function configFragment(block: string, other: string | null): string {
  const blocks = other === null ? [block] : [block, other];
  return ['#/config', ...blocks.map(encodeURIComponent)].join('/');
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
