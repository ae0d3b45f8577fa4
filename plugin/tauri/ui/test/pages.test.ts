// Every page in both schemes and both languages: it fits, a screen reader can use it, its text can be read.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { answers, finish, open, shoot, startBrowser } from './window';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

const PAGES: [string, string][] = [
  ['servers', ''],
  ['server', '#/servers/demo/overview'],
  ['server-failed', '#/servers/search/overview'],
  ['server-changed', '#/servers/calendar/overview'],
  ['tools', '#/servers/demo/tools'],
  ['log', '#/servers/demo/log'],
  ['approvals', '#/approvals'],
  ['rules', '#/rules'],
  ['audit', '#/audit'],
  ['story', '#/audit?call=call3'],
  ['general', '#/general'],
];

async function faults(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }> };
    };
    const { violations } = await axe.run();
    return violations.flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html} ${node.failureSummary}`));
  });
}

/** Each scheme and each language; all four combinations only for the eye (SCREENSHOTS=1). */
const LOOKS = (['light', 'dark'] as const)
  .flatMap((colorScheme) => (['en', 'zh-CN'] as const).map((language) => ({ colorScheme, language })))
  .filter(({ colorScheme, language }) => process.env.SCREENSHOTS || (colorScheme === 'light') === (language === 'en'));

for (const { colorScheme, language } of LOOKS) {
  it.each(PAGES)(`%s, ${colorScheme}, ${language}`, async (name, hash) => {
    const host = { ...answers(), admin_get_environment: () => ({ language, version: '0.1.0' }) };
    const opened = await open(browser, hash, host, { colorScheme });
    const { page } = opened;
    if (name === 'tools') await page.getByRole('button', { name: 'write_note' }).click();
    await page.waitForFunction((lang) => document.documentElement.lang === lang, language);
    await page.waitForLoadState('networkidle');
    await shoot(page, `${name}-${colorScheme}-${language}`);
    expect(await faults(page)).toEqual([]);
    const wide = await page.evaluate(() => document.querySelector('main')?.scrollWidth ?? 0);
    expect(wide).toBeLessThanOrEqual(await page.evaluate(() => document.querySelector('main')?.clientWidth ?? 0));
    await finish(opened);
  });
}
