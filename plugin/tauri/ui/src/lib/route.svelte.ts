// Which page is shown. The address is the fragment alone, so that Back works and nothing is ever navigated to.

export const PAGES = ['servers', 'approvals', 'rules', 'audit', 'general'] as const;
export type Page = (typeof PAGES)[number];
export const TABS = ['overview', 'tools', 'log'] as const;
export type Tab = (typeof TABS)[number];

export type Route = {
  page: Page;
  /** Of `servers`: one server. */
  server?: string;
  tab?: Tab;
  /** Of `audit`: one call's story. */
  call?: string;
};

export function parse(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [page, server, tab] = path.split('/').map(decode);
  const call = new URLSearchParams(query).get('call') ?? undefined;
  const known = PAGES.find((one) => one === page);
  if (!known) return { page: 'servers' };
  if (known === 'servers' && server) return { page: known, server, tab: TABS.find((one) => one === tab) ?? 'overview' };
  if (known === 'audit' && call) return { page: known, call };
  return { page: known };
}

export function href(route: Route): string {
  const parts: string[] = [route.page];
  if (route.server) parts.push(encodeURIComponent(route.server), route.tab ?? 'overview');
  return `#/${parts.join('/')}${route.call ? `?call=${encodeURIComponent(route.call)}` : ''}`;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

class Router {
  route = $state<Route>({ page: 'servers' });

  start(): void {
    this.route = parse(location.hash);
    addEventListener('hashchange', () => {
      this.route = parse(location.hash);
    });
  }

  go(route: Route): void {
    location.hash = href(route);
  }
}

export const router = new Router();
